// Settings, destination, payload, context and answers that the plugin under check accepts: from a file, or made up.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "answer.h"

namespace waybill::conformance {

struct Sample {
  std::string settings = "{}";
  std::string destination;  // "": what the destination schema offers, else a URL
  std::string payload = "{}";
  std::vector<std::string> payloads{};  // further ones that it accepts
  std::string context = R"({"org":"default","kind":"intent","reference":"key-1"})";
  // What means "accepted": one answer for each request of a send, the last one again for more. And the answers to the other
  // kinds of call.
  std::map<std::string, std::vector<Answer>> answers;  // by "accepted", "status", "probe", "failures"
};

using Samples = std::map<std::string, Sample>;  // by action type

// An error names file and field.
tl::expected<Samples, std::string> read_samples(const std::filesystem::path& file);

// The sample of this action type; what it leaves open is taken from the schema.
Sample sample_for(const Samples& samples, const std::string& action_type, std::string_view destination_schema);

}  // namespace waybill::conformance
