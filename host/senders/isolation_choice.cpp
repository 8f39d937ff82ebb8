// The operator's word counts, then whose plugin it is.
#include "senders/isolation_choice.h"

#include <algorithm>
#include <array>

namespace waybill {
namespace {

// A test compares with the plugins that are built.
constexpr std::array<std::string_view, 8> kShipped{
    "email_raw.so", "email_template.so", "govuk_notify.so", "happyfox_template.so", "push.so", "ses.so", "sms.so", "webhook.so"};

}  // namespace

bool comes_with_waybill(std::string_view file) { return std::find(kShipped.begin(), kShipped.end(), file) != kShipped.end(); }

IsolationChoice choose_isolation(const Isolations& isolations, std::string_view file, const std::vector<std::string>& types) {
  const std::string* said = nullptr;
  for (const auto& type : types) {
    const auto found = isolations.by_type.find(type);
    if (found == isolations.by_type.end()) continue;
    said = &type;
    if (found->second.mode == IsolationMode::process) break;  // all of a plugin's code is in one place
  }
  if (said != nullptr) return {isolations.by_type.find(*said)->second.mode, "senders." + *said + ".isolation"};
  if (comes_with_waybill(file)) return {IsolationMode::in_process, "it comes with Waybill"};
  if (isolations.says_others) return {isolations.others, "plugin_isolation"};
  return {isolations.others, "it does not come with Waybill", true};
}

bool may_choose_process(const Isolations& isolations, std::string_view file) {
  const bool any = std::any_of(isolations.by_type.begin(), isolations.by_type.end(),
                               [](const auto& one) { return one.second.mode == IsolationMode::process; });
  return any || (isolations.others == IsolationMode::process && !comes_with_waybill(file));
}

}  // namespace waybill
