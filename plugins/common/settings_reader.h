// Reads the operator's settings field by field, and tells of each that is wrong.
#pragma once

#include <functional>
#include <stdexcept>

#include "common/json.h"
#include "waybill/plugin.hpp"

namespace waybill::plugins {

// Takes one problem: a JSON pointer to where it is, and a sentence.
using Wrong = std::function<void(const std::string& path, const std::string& message)>;

// For a check that tells of everything, and for a reading that throws what the host is to report.
inline Wrong telling(plugin::Report& report) {
  return [&report](const std::string& path, const std::string& message) { report(path, message); };
}
inline void throw_wrong(const std::string& /*path*/, const std::string& message) { throw std::runtime_error(message); }

// What is wrong is told, and read as if it were not there.
class SettingsReader {
 public:
  SettingsReader(std::string_view settings, const Wrong& wrong) : wrong_(wrong) {
    std::string problem;
    if (auto json = parse_object(settings, problem))
      json_ = std::move(*json);
    else
      wrong_("", "the settings object " + problem);
  }

  bool usable() const { return json_.is_object(); }
  const Json* any(const char* name) const { return field(json_, name); }
  std::string text(const std::string& name, std::string fallback = {}) const {
    const auto* value = any(name.c_str());
    if (!value) return fallback;
    if (value->is_string()) return value->get<std::string>();
    wrong_('/' + name, name + " must be text");
    return fallback;
  }
  std::int64_t number(const std::string& name, std::int64_t most, std::int64_t fallback) const {
    const auto* value = any(name.c_str());
    if (!value) return fallback;
    if (value->is_number_integer() && *value >= 1 && *value <= most) return value->get<std::int64_t>();
    wrong_('/' + name, name + " must be a whole number from 1 to " + std::to_string(most));
    return fallback;
  }

 private:
  const Wrong& wrong_;
  Json json_;
};

}  // namespace waybill::plugins
