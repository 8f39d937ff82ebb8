// Where each setting was written, for messages that are made when the configuration has long been read.
#pragma once

#include <map>
#include <string>

#include "base/problem.h"

namespace waybill {

// By the path of a setting, such as "senders.email_raw.relay" or "failure_check.targets[1]".
class SettingPlaces {
 public:
  void set(const std::string& path, Problem place);
  void erase_below(const std::string& path);  // and the setting itself
  // What is wrong with a setting, with its file and line, or the variable that set it. A setting that nobody wrote has the place
  // of the nearest one that it is part of; without any, only the file.
  Problem problem(const std::string& path, std::string message, const std::string& file) const;
  bool operator==(const SettingPlaces&) const { return true; }  // two configurations are the same wherever they stand

 private:
  std::map<std::string, Problem> of_;
};

}  // namespace waybill
