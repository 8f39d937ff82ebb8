// Counters of a plugin's own, with the limits of a real host.
#include "counters.h"

#include <algorithm>

#include "host.h"
#include "text.h"

namespace waybill::fake_host {
namespace {

constexpr std::size_t kMaxName = 64;

std::int32_t add_to(const wb_host* host, wb_str name, std::uint64_t by) { return Host::of(host).count(name, by); }

bool is_counter_name(std::string_view name) {
  return !name.empty() && name.size() <= kMaxName && name.front() >= 'a' && name.front() <= 'z' &&
         std::all_of(name.begin(), name.end(),
                     [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; });
}

}  // namespace

const wb_counter_service kCounters = {&add_to};

std::int32_t Counters::add(wb_str name, std::uint64_t by) {
  const auto word = view(name);
  if (!is_counter_name(word)) return WB_COUNTER_BAD_NAME;
  const std::lock_guard lock(mutex_);
  const auto found = counts_.find(std::string(word));
  if (found == counts_.end() && counts_.size() >= WB_MOST_COUNTERS) return WB_COUNTER_TOO_MANY;
  counts_[std::string(word)] += by;
  return WB_COUNTER_OK;
}

std::map<std::string, std::uint64_t> Counters::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

std::int32_t Host::count(wb_str name, std::uint64_t by) {
  const auto result = counters_.add(name, by);
  if (result == WB_COUNTER_BAD_NAME) malformed("counter.add was given a name that is not [a-z][a-z0-9_]* of at most 64 bytes");
  if (result == WB_COUNTER_TOO_MANY)
    malformed("counter.add was given more than " + std::to_string(WB_MOST_COUNTERS) +
              " names: is a text from outside among them?");
  return result;
}

}  // namespace waybill::fake_host
