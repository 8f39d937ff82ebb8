// Whether a plugin's code runs in the host or in processes of its own.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/isolation.h"

namespace waybill {

bool comes_with_waybill(std::string_view file);  // by the name of its file

struct IsolationChoice {
  IsolationMode mode;
  std::string why;          // "senders.sms.isolation", "it comes with Waybill"
  bool by_default = false;  // nobody chose, and another version of Waybill may choose otherwise
};

// `types`: the action types of the plugin. Of a shared library.
IsolationChoice choose_isolation(const Isolations& isolations, std::string_view file, const std::vector<std::string>& types);

// Whether what the plugin says of itself is asked in a process, since that may be where it will run.
bool may_choose_process(const Isolations& isolations, std::string_view file);

}  // namespace waybill
