// Reads the operator's settings field by field, and tells of each that is wrong.
#pragma once

#include <functional>
#include <memory>

#include "common/json.h"
#include "waybill/plugin.hpp"

namespace waybill::plugins {

// Takes one problem: a JSON pointer to where it is, and a sentence.
using Wrong = std::function<void(const std::string& path, const std::string& message)>;

// For a check that tells of everything, and for a reading that throws what the host is to report.
Wrong telling(plugin::Report& report);
void throw_wrong(const std::string& path, const std::string& message);

// What is wrong is told, and read as if it were not there.
class SettingsReader {
 public:
  SettingsReader(std::string_view settings, Wrong wrong);

  bool usable() const;
  const Json* any(const char* name) const;
  std::string text(const std::string& name, std::string fallback = {}) const;
  std::int64_t number(const std::string& name, std::int64_t most, std::int64_t fallback) const;

 private:
  Wrong wrong_;
  std::shared_ptr<const Json> json_;  // null: the settings are no JSON object
};

}  // namespace waybill::plugins
