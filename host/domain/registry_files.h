// The registry folder as texts, for its history.
#pragma once

#include <map>
#include <string>

namespace waybill {

// Contents by path below the folder, such as "forms/contact.yaml".
using RegistryFiles = std::map<std::string, std::string>;

// Of targets, between two of them.
struct TargetCounts {
  int added = 0, changed = 0, removed = 0;
};

}  // namespace waybill
