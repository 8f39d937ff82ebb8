// The one parser of the plugins, and who reads with it: json.h, exact_numbers.h, job_payload.h and settings_reader.h.
#include "common/json.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "common/exact_numbers.h"
#include "common/job_payload.h"
#include "common/settings_reader.h"
#include "common/surrogates.h"

namespace waybill::plugins {

bool nests_too_deep(std::string_view bytes) {
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const char c = bytes[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      if (++depth > kMaxJsonDepth) return true;
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return false;
}

Json read_json(std::string_view bytes) {
  if (bytes.find('\0') != std::string_view::npos) return Json(Json::value_t::discarded);
  return Json::parse(bytes.begin(), bytes.end(), nullptr, false);
}

std::optional<Json> parse_object(std::string_view bytes, std::string& problem) {
  if (nests_too_deep(bytes)) {
    problem = "nests deeper than " + std::to_string(kMaxJsonDepth) + " levels";
    return std::nullopt;
  }
  auto json = read_json(bytes);
  if (json.is_discarded()) {
    problem = bytes.empty() ? "is empty" : "is not JSON";
    return std::nullopt;
  }
  if (!json.is_object()) {
    problem = "is not a JSON object";
    return std::nullopt;
  }
  return json;
}

std::shared_ptr<const Json> parse_shared_object(std::string_view bytes, std::string& problem) {
  auto json = parse_object(bytes, problem);
  return json ? std::make_shared<const Json>(std::move(*json)) : nullptr;
}

const Json* field(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

namespace {

// Whether a number comes out of the parser as it went in. What is no number is left to the parser.
bool is_kept_exactly(std::string_view number) {
  const bool is_short = number.size() <= 18 && number != "-0";  // a whole one that surely fits into 64 bits
  if (is_short && number.find_first_of(".eE") == std::string_view::npos) return true;
  const auto value = read_json(number);
  return !value.is_number() || value.dump() == number;
}

}  // namespace

std::string with_exact_numbers(std::string_view json) {
  constexpr std::string_view kOfNumbers = "+-.0123456789eE";
  std::string out;
  out.reserve(json.size());
  while (!json.empty()) {
    std::size_t length = 1;
    if (json.front() == '"') {
      while (length < json.size() && json[length] != '"') length += json[length] == '\\' ? 2 : 1;
      ++length;
    } else if (json.front() == '-' || (json.front() >= '0' && json.front() <= '9')) {
      length = json.find_first_not_of(kOfNumbers);
      const auto number = json.substr(0, length);
      if (!is_kept_exactly(number)) {
        out.append(1, '"').append(number).append(1, '"');
        json.remove_prefix(number.size());
        continue;
      }
    }
    out += json.substr(0, length);
    json.remove_prefix(std::min(length, json.size()));
  }
  return out;
}

std::string text_of(const Json& object, std::initializer_list<const char*> names, std::string& problem) {
  for (const auto* name : names) {
    const auto* value = field(object, name);
    if (!value) continue;
    if (value->is_string()) return value->get<std::string>();
    problem = std::string("has a field ") + name + " that is not text";
  }
  return {};
}

std::string reference_of(const Json& job, std::string_view context, std::string& problem) {
  auto reference = text_of(job, {"reference"}, problem);
  const auto* metadata = field(job, "metadata");
  if (reference.empty() && metadata && metadata->is_object()) reference = text_of(*metadata, {"reference"}, problem);
  if (!reference.empty()) return reference;
  std::string ignored;
  const auto known = parse_object(without_lone_surrogates(context), ignored);
  return known ? text_of(*known, {"reference"}, ignored) : reference;
}

Wrong telling(plugin::Report& report) {
  return [&report](const std::string& path, const std::string& message) { report(path, message); };
}

void throw_wrong(const std::string& /*path*/, const std::string& message) { throw std::runtime_error(message); }

SettingsReader::SettingsReader(std::string_view settings, Wrong wrong) : wrong_(std::move(wrong)) {
  std::string problem;
  json_ = parse_shared_object(settings, problem);
  if (!json_) wrong_("", "the settings object " + problem);
}

bool SettingsReader::usable() const { return json_ != nullptr; }

const Json* SettingsReader::any(const char* name) const { return json_ ? field(*json_, name) : nullptr; }

std::string SettingsReader::text(const std::string& name, std::string fallback) const {
  const auto* value = any(name.c_str());
  if (!value) return fallback;
  if (value->is_string()) return value->get<std::string>();
  wrong_('/' + name, name + " must be text");
  return fallback;
}

std::int64_t SettingsReader::number(const std::string& name, std::int64_t most, std::int64_t fallback) const {
  const auto* value = any(name.c_str());
  if (!value) return fallback;
  if (value->is_number_integer() && *value >= 1 && *value <= most) return value->get<std::int64_t>();
  wrong_('/' + name, name + " must be a whole number from 1 to " + std::to_string(most));
  return fallback;
}

}  // namespace waybill::plugins
