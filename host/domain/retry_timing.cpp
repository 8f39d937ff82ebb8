// The arithmetic of waits between attempts.
#include "domain/retry_timing.h"

#include <algorithm>
#include <cmath>

namespace waybill {

namespace {
constexpr char kMailPrefix[] = "email_";
constexpr char kMail[] = "email_*";  // this and the next are keys that no action type can have as its name
constexpr char kChannels[] = "channel:*";
}  // namespace

std::map<std::string, RetryTiming> default_timings() {
  const RetryTiming mail{.kind = RetryTiming::Kind::exponential,
                         .delay = std::chrono::minutes(1),
                         .factor = 4.0,
                         .max_delay = std::chrono::minutes(60),
                         .jitter_low = 0.9,
                         .jitter_high = 1.1};
  const RetryTiming channels{.kind = RetryTiming::Kind::exponential,
                             .delay = std::chrono::minutes(1),
                             .factor = 2.0,
                             .max_delay = std::chrono::minutes(60),
                             .jitter_low = 0.5,
                             .jitter_high = 1.5};
  return {{"default", {}}, {kMail, mail}, {kChannels, channels}};
}

const RetryTiming& timing_for(const std::map<std::string, RetryTiming>& timings, const std::string& action_type) {
  if (const auto own = timings.find(action_type); own != timings.end()) return own->second;
  if (const auto mail = timings.find(kMail); mail != timings.end() && action_type.starts_with(kMailPrefix)) return mail->second;
  return timings.at("default");
}

const RetryTiming& channel_timing_for(const std::map<std::string, RetryTiming>& timings, const std::string& action_type) {
  if (const auto own = timings.find(action_type); own != timings.end()) return own->second;
  const auto channels = timings.find(kChannels);
  return channels != timings.end() ? channels->second : timings.at("default");
}

Millis wait_after(const RetryTiming& timing, std::uint32_t attempts, std::optional<Millis> retry_after, double random) {
  double wait = static_cast<double>(timing.delay.count());
  if (timing.kind == RetryTiming::Kind::exponential && attempts > 1) wait *= std::pow(timing.factor, attempts - 1);
  if (std::isnan(wait)) wait = 0;                                        // no delay, times an infinite power
  wait = std::min(wait, static_cast<double>(timing.max_delay.count()));  // also tames an infinite power
  wait *= timing.jitter_low + (timing.jitter_high - timing.jitter_low) * random;
  const Millis own{std::llround(std::clamp(wait, 0.0, static_cast<double>(timing.max_delay.count())))};
  return retry_after ? std::max(own, std::min(*retry_after, kMaxRetryAfter)) : own;
}

}  // namespace waybill
