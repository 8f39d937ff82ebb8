// The samples file, and what stands in for what it does not say.
#include "samples.h"

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

namespace waybill::conformance {
namespace {

using Json = nlohmann::json;
using Fault = tl::unexpected<std::string>;

// Where a value stands in the file, and how to complain about it.
struct Place {
  std::string file;
  std::string field;

  Place in(const std::string& name) const { return {file, field.empty() ? name : field + '.' + name}; }
  Fault wrong(const std::string& what) const { return Fault(file + ": " + (field.empty() ? "" : field + ": ") + what); }
};

std::string is_one_of(const std::string& name, std::initializer_list<const char*> known) {
  std::string list;
  for (const auto* one : known) {
    if (name == one) return {};
    list += (list.empty() ? "" : ", ") + std::string(one);
  }
  return "unknown field (one of " + list + ")";
}

tl::expected<Answer, std::string> answer_of(const Json& json, const Place& place) {
  if (!json.is_object()) return place.wrong("must be an object such as {\"status\": 200, \"body\": \"...\"}");
  auto answer = http_answer(200, "");
  for (const auto& [name, value] : json.items()) {
    const auto here = place.in(name);
    if (const auto fault = is_one_of(name, {"status", "body", "headers"}); !fault.empty()) return here.wrong(fault);
    if (name == "status") {
      if (!value.is_number_integer() || value < 100 || value > 999) return here.wrong("must be a whole number from 100 to 999");
      answer.status = value.get<std::int32_t>();
    } else if (name == "body") {
      answer.body = value.is_string() ? value.get<std::string>() : value.dump();
    } else {
      if (!value.is_object()) return here.wrong("must be an object of texts");
      for (const auto& [key, text] : value.items()) {
        if (!text.is_string()) return here.in(key).wrong("must be a text");
        answer.headers.emplace_back(key, text.get<std::string>());
      }
    }
  }
  return answer;
}

tl::expected<std::vector<Answer>, std::string> answers_of(const Json& json, const Place& place) {
  std::vector<Answer> answers;
  if (json.is_array() && json.empty()) return place.wrong("must not be empty");
  for (const auto& one : json.is_array() ? json : Json::array({json})) {
    auto answer = answer_of(one, place);
    if (!answer) return tl::unexpected(answer.error());
    answers.push_back(std::move(*answer));
  }
  return answers;
}

tl::expected<Sample, std::string> sample_of(const Json& json, const Place& place) {
  if (!json.is_object()) return place.wrong("must be an object");
  Sample sample;
  for (const auto& [name, value] : json.items()) {
    const auto here = place.in(name);
    if (const auto fault = is_one_of(name, {"settings", "destination", "payload", "payloads", "context", "answers"});
        !fault.empty())
      return here.wrong(fault);
    const auto text_of_payload = [](const Json& one) { return one.is_string() ? one.get<std::string>() : one.dump(); };
    if (name == "payload") {
      sample.payload = text_of_payload(value);
      continue;
    }
    if (name == "payloads") {
      if (!value.is_array()) return here.wrong("must be a list of payloads");
      for (const auto& one : value) sample.payloads.push_back(text_of_payload(one));
      continue;
    }
    if (!value.is_object()) return here.wrong("must be an object");
    if (name == "settings") sample.settings = value.dump();
    if (name == "destination") sample.destination = value.dump();
    if (name == "context") sample.context = value.dump();
    if (name != "answers") continue;
    for (const auto& [kind, list] : value.items()) {
      const auto there = here.in(kind);
      if (const auto fault = is_one_of(kind, {"accepted", "status", "probe", "failures"}); !fault.empty())
        return there.wrong(fault);
      auto answers = answers_of(list, there);
      if (!answers) return tl::unexpected(answers.error());
      sample.answers[kind] = std::move(*answers);
    }
  }
  return sample;
}

std::string destination_from(std::string_view schema) {
  const auto json = Json::parse(schema, nullptr, false);
  if (json.is_object()) {
    const auto examples = json.find("examples");
    if (examples != json.end() && examples->is_array() && !examples->empty()) return examples->front().dump();
    if (const auto given = json.find("default"); given != json.end()) return given->dump();
  }
  return R"({"url":"http://127.0.0.1/"})";
}

}  // namespace

tl::expected<Samples, std::string> read_samples(const std::filesystem::path& file) {
  const Place place{file.string(), ""};
  std::ifstream in(file, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  if (!in) return place.wrong("it cannot be read");
  Samples samples;
  try {
    const auto json = Json::parse(text);
    if (!json.is_object()) return place.wrong("must be an object with the action types as its fields");
    for (const auto& [type, value] : json.items()) {
      auto sample = sample_of(value, place.in(type));
      if (!sample) return tl::unexpected(sample.error());
      samples.emplace(type, std::move(*sample));
    }
  } catch (const Json::exception& error) {
    return place.wrong(error.what());
  }
  return samples;
}

Sample sample_for(const Samples& samples, const std::string& action_type, std::string_view destination_schema) {
  const auto found = samples.find(action_type);
  auto sample = found == samples.end() ? Sample{} : found->second;
  if (sample.destination.empty()) sample.destination = destination_from(destination_schema);
  return sample;
}

}  // namespace waybill::conformance
