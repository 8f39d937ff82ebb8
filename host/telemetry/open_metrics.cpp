// One family after another, as prometheus-cpp collects them.
#include "telemetry/open_metrics.h"

#include <prometheus/metric_family.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "base/ascii.h"
#include "telemetry/exemplars.h"

namespace waybill {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

constexpr std::string_view kTotal = "_total";

// With a point or an exponent always: "1.0" and "1e+06" are the canonical forms of bounds.
std::string number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  char text[32];
  const auto end = std::to_chars(std::begin(text), std::end(text), value).ptr;
  std::string written(std::begin(text), end);
  return written.find_first_of(".e") == std::string::npos ? written + ".0" : written;
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\' || c == '"') out += '\\';
    out += c == '\n' ? std::string("\\n") : std::string(1, c);
  }
  return out;
}

std::string labels_of(const ClientMetric& metric, const std::string& bound = {}) {
  std::string text;
  for (const auto& label : metric.label) text += (text.empty() ? "" : ",") + label.name + "=\"" + escaped(label.value) + "\"";
  if (!bound.empty()) text += (text.empty() ? "le=\"" : ",le=\"") + bound + "\"";
  return text.empty() ? text : "{" + text + "}";
}

std::string exemplar_text(const std::optional<Exemplar>& exemplar) {
  if (!exemplar) return {};
  char timestamp[32];
  std::snprintf(timestamp, sizeof timestamp, "%.3f", exemplar->timestamp);
  return " # {trace_id=\"" + exemplar->trace_id + "\"} " + number(exemplar->value) + " " + timestamp;
}

void add_histogram(std::string& text, const std::string& name, const ClientMetric& metric, const Exemplars& exemplars) {
  const std::string label = metric.label.empty() ? std::string() : metric.label.front().value;
  const auto& buckets = metric.histogram.bucket;
  const auto add_bucket = [&](std::size_t at, double bound, std::uint64_t count) {
    text += name + "_bucket" + labels_of(metric, number(bound)) + " " + std::to_string(count) +
            exemplar_text(exemplars.find(name, label, at)) + "\n";
  };
  for (std::size_t i = 0; i < buckets.size(); ++i) add_bucket(i, buckets[i].upper_bound, buckets[i].cumulative_count);
  if (buckets.empty() || !std::isinf(buckets.back().upper_bound))
    add_bucket(buckets.size(), std::numeric_limits<double>::infinity(), metric.histogram.sample_count);
  text += name + "_count" + labels_of(metric) + " " + std::to_string(metric.histogram.sample_count) + "\n";
  text += name + "_sum" + labels_of(metric) + " " + number(metric.histogram.sample_sum) + "\n";
}

void add_family(std::string& text, const MetricFamily& family, const Exemplars& exemplars) {
  std::string name = family.name;
  const bool is_counter = family.type == MetricType::Counter;
  if (is_counter && name.ends_with(kTotal)) name.resize(name.size() - kTotal.size());
  const char* type = is_counter ? "counter" : family.type == MetricType::Histogram ? "histogram" : "gauge";
  text += "# TYPE " + name + " " + type + "\n# HELP " + name + " " + escaped(family.help) + "\n";
  for (const auto& metric : family.metric) {
    if (is_counter)
      text += name + std::string(kTotal) + labels_of(metric) + " " + number(metric.counter.value) + "\n";
    else if (family.type == MetricType::Histogram)
      add_histogram(text, name, metric, exemplars);
    else
      text += name + labels_of(metric) + " " + number(metric.gauge.value) + "\n";
  }
}

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  return first == std::string_view::npos ? std::string_view() : text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

// The part of `text` up to the separator, which is taken off with it.
std::string_view next_part(std::string_view& text, char separator) {
  const auto end = std::min(text.find(separator), text.size());
  const auto part = trimmed(text.substr(0, end));
  text.remove_prefix(std::min(end + 1, text.size()));
  return part;
}

}  // namespace

bool prefers_open_metrics(std::string_view accept) {
  double open = 0, classic = 0;
  while (!accept.empty()) {
    auto range = next_part(accept, ',');
    const auto type = lower_ascii(next_part(range, ';'));
    double weight = 1;
    while (!range.empty())
      if (const auto parameter = next_part(range, ';'); parameter.starts_with("q=")) {
        const auto digits = parameter.substr(2);
        if (std::from_chars(digits.data(), digits.data() + digits.size(), weight).ec != std::errc()) weight = 0;
      }
    if (type == "application/openmetrics-text") open = std::max(open, weight);
    if (type == "text/plain") classic = std::max(classic, weight);
  }
  return open > 0 && open >= classic;
}

std::string open_metrics_text(const std::vector<MetricFamily>& families, const Exemplars& exemplars) {
  std::string text;
  for (const auto& family : families)
    if (!family.metric.empty()) add_family(text, family, exemplars);
  return text + "# EOF\n";
}

}  // namespace waybill
