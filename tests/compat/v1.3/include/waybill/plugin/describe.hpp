// The descriptor as constants: one action<...>() per action type, then WAYBILL_PLUGIN for the one exported symbol.
#pragma once

#include "waybill/plugin/sender.hpp"

namespace waybill::plugin {

// The words of an outcome taxonomy.
constexpr wb_reason reason(std::string_view name, std::uint32_t flags = 0) { return {str(name), flags, 0}; }
constexpr wb_reason permanent(std::string_view name) { return reason(name, WB_REASON_PERMANENT); }
constexpr wb_reason duplicate(std::string_view name) { return reason(name, WB_REASON_DUPLICATE); }

// A wb_action under construction. What is passed in must be constant data with static lifetime.
class Action {
 public:
  constexpr explicit Action(const wb_action& table) : table_(table) {}

  constexpr Action settings_schema(std::string_view json) const {
    Action next = *this;
    next.table_.settings_schema = str(json);
    return next;
  }
  constexpr Action destination_schema(std::string_view json) const {
    Action next = *this;
    next.table_.destination_schema = str(json);
    return next;
  }
  template <std::size_t N>
  constexpr Action reasons(const wb_reason (&list)[N]) const {
    Action next = *this;
    next.table_.reasons = list, next.table_.reason_count = static_cast<std::uint32_t>(N);
    return next;
  }
  template <Check check>
  constexpr Action validate_settings() const {
    Action next = *this;
    next.table_.validate_settings = &detail::validate<check>;
    return next;
  }
  template <Check check>
  constexpr Action validate_destination() const {
    Action next = *this;
    next.table_.validate_destination = &detail::validate<check>;
    return next;
  }
  // send may block until the job's deadline; each sender gets a thread of its own.
  constexpr Action blocking() const {
    Action next = *this;
    next.table_.flags |= WB_BLOCKING;
    return next;
  }

  constexpr const wb_action* raw() const { return &table_; }

 private:
  wb_action table_;
};

template <class S>
constexpr Action action(std::string_view type) {
  return Action(wb_action{sizeof(wb_action), 0, 0, str(type), str({}), str({}), nullptr, nullptr, nullptr, &detail::create<S>});
}

namespace detail {

template <const Action&... list>
inline constexpr const wb_action* kActions[] = {list.raw()...};

template <const Action&... list>
constexpr wb_plugin describe(std::string_view id, std::string_view version, std::uint32_t needs_minor = 0) {
  return {sizeof(wb_plugin), WB_ABI_MINOR, needs_minor, str(id), str(version), sizeof...(list), kActions<list...>};
}

}  // namespace detail
}  // namespace waybill::plugin

// At global scope, once in a plugin: its id, its version, then its actions (constexpr variables).
#define WAYBILL_PLUGIN(ID, VERSION, ...) WAYBILL_PLUGIN_NEEDING(0, ID, VERSION, __VA_ARGS__)

// The same for a plugin that makes no sense in a host older than this minor: such a host refuses it by name.
#define WAYBILL_PLUGIN_NEEDING(MINOR, ID, VERSION, ...)                                                           \
  extern "C" WB_EXPORT const wb_plugin* wb_plugin_v1(void) WB_NOEXCEPT {                                          \
    static constexpr wb_plugin descriptor = ::waybill::plugin::detail::describe<__VA_ARGS__>(ID, VERSION, MINOR); \
    return &descriptor;                                                                                           \
  }                                                                                                               \
  static_assert(true, "takes the semicolon")
