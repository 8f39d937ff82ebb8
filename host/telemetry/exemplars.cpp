// Later ones replace earlier ones.
#include "telemetry/exemplars.h"

#include <chrono>

namespace waybill {

void Exemplars::note(const std::string& histogram, std::string_view label, std::size_t bucket, double value, const Trace& trace) {
  if (!trace || !trace->is_sampled) return;
  const auto now = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  const std::lock_guard lock(mutex_);
  all_[{histogram, std::string(label)}][bucket] = {trace->trace_id, value, now};
}

std::optional<Exemplar> Exemplars::find(const std::string& histogram, const std::string& label, std::size_t bucket) const {
  const std::lock_guard lock(mutex_);
  const auto series = all_.find({histogram, label});
  if (series == all_.end()) return std::nullopt;
  const auto found = series->second.find(bucket);
  return found == series->second.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace waybill
