// The text form of OpenMetrics 1.0 (https://prometheus.io/docs/specs/om/open_metrics_spec/), which has exemplars.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace prometheus {
struct MetricFamily;
}  // namespace prometheus

namespace waybill {

class Exemplars;

inline constexpr std::string_view kOpenMetricsType = "application/openmetrics-text; version=1.0.0; charset=utf-8";
// Whether an Accept header asks for it, at least as much as for the classic form.
bool prefers_open_metrics(std::string_view accept);

std::string open_metrics_text(const std::vector<prometheus::MetricFamily>& families, const Exemplars& exemplars);

}  // namespace waybill
