// Sends spans to a collector by OTLP over HTTP, on a thread of its own: in batches, again when the collector asks for it, and
// never so that anybody waits for it.
#pragma once

#include <cstdint>
#include <memory>

#include "config/config.h"
#include "egress/egress_policy.h"
#include "services/secrets.h"
#include "telemetry/log.h"
#include "telemetry/metrics.h"
#include "tracing/otlp.h"
#include "tracing/tracer.h"

namespace waybill {

struct ExporterSettings {
  TracingConfig config;
  SpanResource resource;
  std::size_t batch = 512;
  Millis every{1'000};                            // the longest that a span waits while the collector answers
  Millis timeout{10'000};                         // of one request
  Millis first_retry{1'000}, last_retry{30'000};  // without a Retry-After
  Millis most_retry_after{60'000};
  int tries = 6;  // of one batch
};

class SpanExporter {
 public:
  SpanExporter(Tracer& tracer, ExporterSettings settings, std::shared_ptr<const EgressPolicy> egress,
               std::shared_ptr<const LiveSecrets> secrets, const Clock& clock, Log& log, Metrics& metrics);
  ~SpanExporter();  // stops at once, if stop() was not called

  void start();
  // Sends what waits, for at most so long; what is left is dropped and counted.
  void stop(Millis within);

 private:
  struct Engine;
  std::unique_ptr<Engine> engine_;
};

}  // namespace waybill
