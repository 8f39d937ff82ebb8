// The latest trace in each bucket of the histograms, as examples of what the bucket counts.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/trace_context.h"

namespace waybill {

struct Exemplar {
  std::string trace_id;
  double value = 0;      // that was observed
  double timestamp = 0;  // seconds since 1970
};

// Safe from any thread. Holds one for each bucket of each series.
class Exemplars {
 public:
  // Nothing without a trace that is sampled. `label`: the value of the histogram's only label. `bucket`: from 0.
  void note(const std::string& histogram, std::string_view label, std::size_t bucket, double value, const Trace& trace);
  std::optional<Exemplar> find(const std::string& histogram, const std::string& label, std::size_t bucket) const;

 private:
  mutable std::mutex mutex_;
  std::map<std::pair<std::string, std::string>, std::map<std::size_t, Exemplar>> all_;  // guarded by mutex_
};

}  // namespace waybill
