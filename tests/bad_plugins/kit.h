// The few lines that every plugin here shares: strings, a descriptor of one action type, one outcome.
#pragma once

#include <waybill/plugin.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace kit {

constexpr wb_str str(std::string_view text) { return {text.data(), text.size()}; }
inline std::string_view view(wb_str text) { return {text.ptr, text.len}; }

inline constexpr wb_reason kReasons[] = {{str("invalid_request"), WB_REASON_PERMANENT, 0},
                                         {str("duplicate_reference"), WB_REASON_DUPLICATE, 0}};

using Create = wb_sender* (*)(const wb_host*, wb_str, const wb_sender_vt**, wb_report, void*);

constexpr wb_action action(std::string_view type, Create create, std::uint32_t flags = 0) {
  return {sizeof(wb_action), flags,   2,       str(type), str("{}"), str(R"({"type":"object"})"),
          kReasons,          nullptr, nullptr, create,    str("")};
}

constexpr wb_plugin plugin(std::string_view id, const wb_action* const* actions, std::size_t count = 1) {
  return {sizeof(wb_plugin), WB_ABI_MINOR, 0, str(id), str("1"), count, actions};
}

inline wb_outcome outcome(wb_verdict verdict, wb_reach reach = WB_ANSWERED, std::string_view reason = {}) {
  wb_outcome made{};
  made.size = sizeof made;
  made.verdict = verdict;
  made.reach = reach;
  made.scope = WB_THIS_JOB;
  made.retry_after_ms = -1;
  made.reason = str(reason);
  return made;
}

// A sender that needs nothing but its host.
struct Sender {
  const wb_host* host;
};
inline Sender& of(wb_sender* self) { return *reinterpret_cast<Sender*>(self); }
inline wb_sender* make(const wb_host* host) { return reinterpret_cast<wb_sender*>(new Sender{host}); }
inline void destroy(wb_sender* self) { delete &of(self); }
inline void no_cancel(wb_sender*, wb_call) {}
inline const void* no_extension(wb_sender*, wb_str) { return nullptr; }

template <class Service>
const Service& service(const wb_host* host, const char* id) {
  return *static_cast<const Service*>(host->get_service(host, str(id)));
}

}  // namespace kit
