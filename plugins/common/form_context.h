// A form's submission as the host hands it to the plugins that write about it.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/json.h"

namespace waybill::plugins {

struct Attachment {
  std::string name;
  std::string content_type;
  std::string object_uri;
  std::int64_t size = 0;
};

struct Form {
  Json data;  // all of the context: what templates see
  std::string reference;
  std::string name;
  std::optional<std::int64_t> kept_until;  // when the submission and its attachments go, in seconds since 1970
  std::vector<Attachment> attachments;
};

// None if it is malformed, and `problem` ends the sentence "the submission ...". `payload` has the fields, if the context has
// none.
std::optional<Form> read_form(std::string_view context, std::string_view payload, std::string& problem);

}  // namespace waybill::plugins
