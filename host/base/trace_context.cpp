// Reading and writing of trace contexts.
#include "base/trace_context.h"

#include <algorithm>
#include <set>

#include "base/hex.h"
#include "base/random.h"

namespace waybill {
namespace {

constexpr std::size_t kTraceDigits = 32, kSpanDigits = 16;
constexpr std::size_t kMaxStateMembers = 32, kMaxStateKey = 256, kMaxStateValue = 256;

bool is_digit(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }
bool are_digits(std::string_view text) { return std::all_of(text.begin(), text.end(), is_digit); }
bool is_id(std::string_view text) { return are_digits(text) && text.find_first_not_of('0') != std::string_view::npos; }
int value_of(char digit) { return digit <= '9' ? digit - '0' : digit - 'a' + 10; }

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

// `key=value` of a list member, as in section 3.3.1.3 of the standard.
bool is_state_member(std::string_view member) {
  const auto equals = member.find('=');
  if (equals == 0 || equals == std::string_view::npos || equals > kMaxStateKey) return false;
  const auto key = member.substr(0, equals), value = member.substr(equals + 1);
  const auto is_key = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '*' || c == '/' || c == '@';
  };
  const auto is_value = [](char c) { return c >= ' ' && c <= '~' && c != ',' && c != '='; };
  return std::all_of(key.begin(), key.end(), is_key) && std::string_view("_-*/@").find(key.front()) == std::string_view::npos &&
         std::count(key.begin(), key.end(), '@') <= 1 && !value.empty() && value.size() <= kMaxStateValue &&
         value.back() != ' ' && std::all_of(value.begin(), value.end(), is_value);
}

bool is_state(std::string_view state) {
  if (state.size() > kMaxTracestateBytes) return false;
  std::set<std::string_view> keys;
  for (std::size_t at = 0; at <= state.size();) {
    const auto end = std::min(state.find(',', at), state.size());
    const auto member = trimmed(state.substr(at, end - at));
    at = end + 1;
    if (member.empty()) continue;
    if (!is_state_member(member) || !keys.insert(member.substr(0, member.find('='))).second) return false;
  }
  return keys.size() <= kMaxStateMembers;
}

std::uint64_t mixed(std::uint64_t value) {  // splitmix64
  value += 0x9e3779b97f4a7c15;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

std::string id_of(std::uint64_t value) {
  std::string bytes;
  for (int shift = 56; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift & 0xff);
  return to_hex(bytes);
}

std::string new_id(std::size_t bytes) {
  for (;;)
    if (auto id = to_hex(random_bytes(bytes)); is_id(id)) return id;
}

}  // namespace

Trace trace_of(std::string_view traceparent, std::string_view tracestate) {
  // version "-" trace-id "-" parent-id "-" flags; later versions may go on behind a "-".
  const std::string_view text = trimmed(traceparent);
  if (text.size() < kTraceparentBytes || text[2] != '-' || text[35] != '-' || text[52] != '-') return nullptr;
  const auto version = text.substr(0, 2), flags = text.substr(53, 2);
  if (!are_digits(version) || version == "ff" || !are_digits(flags)) return nullptr;
  if (text.size() > kTraceparentBytes && (version == "00" || text[kTraceparentBytes] != '-')) return nullptr;
  const auto trace_id = text.substr(3, kTraceDigits), parent_id = text.substr(36, kSpanDigits);
  if (!is_id(trace_id) || !is_id(parent_id)) return nullptr;
  const auto state = trimmed(tracestate);
  return std::make_shared<const TraceContext>(TraceContext{.trace_id = std::string(trace_id),
                                                           .parent_id = std::string(parent_id),
                                                           .is_sampled = (value_of(flags[1]) & 1) != 0,
                                                           .state = std::string(is_state(state) ? state : std::string_view())});
}

std::string traceparent_of(const TraceContext& trace) {
  return "00-" + trace.trace_id + "-" + trace.parent_id + (trace.is_sampled ? "-01" : "-00");
}

std::string stored_trace(const TraceContext& trace) {
  return trace.state.empty() ? traceparent_of(trace) : traceparent_of(trace) + " " + trace.state;
}

Trace trace_from(std::string_view stored) {
  return trace_of(stored.substr(0, kTraceparentBytes),
                  stored.size() > kTraceparentBytes ? stored.substr(kTraceparentBytes) : std::string_view());
}

std::string attempt_span_of(const TraceContext& trace, DeliveryId delivery, std::uint32_t attempt) {
  std::uint64_t value = 0;
  for (const char digit : trace.trace_id) value = mixed(value ^ static_cast<std::uint64_t>(value_of(digit)));
  value = mixed(mixed(value ^ static_cast<std::uint64_t>(delivery.value)) ^ attempt);
  return id_of(value == 0 ? 1 : value);
}

std::string new_trace_id() { return new_id(kTraceDigits / 2); }
std::string new_span_id() { return new_id(kSpanDigits / 2); }

}  // namespace waybill
