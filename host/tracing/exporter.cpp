// One request is open at a time: a collector that is slow gets larger batches, not more of them.
#include "tracing/exporter.h"

#include <algorithm>
#include <thread>

#include "services/event_loop.h"
#include "services/http_client.h"

namespace waybill {
namespace {

constexpr std::size_t kAnswerBytes = 64 << 10;

// What the specification has tried again.
bool is_transient(const HttpResponse& response) {
  return response.error != NetError::ok || response.status == 429 || response.status == 502 || response.status == 503 ||
         response.status == 504;
}

std::string words_of(const HttpResponse& response) {
  return response.error != NetError::ok ? response.error_text : "status " + std::to_string(response.status);
}

}  // namespace

// All but the constructor, start() and stop() runs on the loop's thread.
struct SpanExporter::Engine {
  Engine(Tracer& spans, ExporterSettings with, std::shared_ptr<const EgressPolicy> egress,
         std::shared_ptr<const LiveSecrets> secrets, const Clock& time, Log& to, Metrics& numbers)
      : tracer(spans),
        settings(std::move(with)),
        clock(time),
        log(to),
        metrics(numbers),
        http(loop, clock, std::move(secrets),
             {.user_agent = "waybill", .egress = std::move(egress), .max_retry_after = settings.most_retry_after}) {}

  void look() {
    if (is_open || timer != 0) return;
    if (batch.empty()) {
      batch = tracer.take(settings.batch);
      tried = 0;
    }
    if (batch.empty()) return is_ending ? loop.stop() : rest(settings.every);
    send();
  }

  void rest(Millis pause) {
    timer = loop.after(pause, [this] {
      timer = 0;
      look();
    });
  }

  void send() {
    HttpRequest request{.method = "POST",
                        .url = settings.config.endpoint,
                        .headers = {{"Content-Type", "application/json"}},
                        .body = export_request_json(settings.resource, batch),
                        .timeout = settings.timeout,
                        .deadline = clock.now() + settings.timeout,
                        .max_response_bytes = kAnswerBytes,
                        .basic_user = {},
                        .basic_password = {},
                        .sigv4 = {}};
    for (const auto& [name, value] : settings.config.headers) request.headers.emplace_back(name, value);
    is_open = true;
    ++tried;
    http.fetch(std::move(request), [this](std::uint64_t, HttpResponse response) { answered(response); });
  }

  void answered(const HttpResponse& response) {
    is_open = false;
    if (!is_transient(response)) {
      if (response.status / 100 == 2)
        taken(response);
      else
        drop("refused", words_of(response));
    } else if (tried < settings.tries && !is_ending) {
      note_failure(words_of(response));
      const auto doubled = settings.first_retry * (1 << std::min(tried - 1, 10));
      return rest(response.retry_after.value_or(std::min<Millis>(doubled, settings.last_retry)));
    } else {
      drop("given_up", words_of(response));
    }
    if (is_ending || tracer.waiting() >= settings.batch) return look();
    rest(settings.every);
  }

  void taken(const HttpResponse& response) {
    const auto partial = partial_success_in(response.body);
    const auto rejected = std::min<std::uint64_t>(partial.rejected, batch.size());
    metrics.trace_spans("exported", batch.size() - rejected);
    if (rejected > 0) metrics.trace_spans("refused", rejected);
    if (!partial.message.empty()) log.warn("tracing.remark", {{"said", partial.message}, {"rejected", rejected}});
    if (is_failing) log.info("tracing.exported_again");
    is_failing = false;
    batch.clear();
  }

  void drop(const char* how, const std::string& why) {
    metrics.trace_spans(how, batch.size());
    note_failure(why);
    batch.clear();
  }

  // Once for each time of trouble.
  void note_failure(const std::string& why) {
    if (!std::exchange(is_failing, true))
      log.warn("tracing.not_exported",
               {{"endpoint", settings.config.endpoint}, {"error", why}, {"effect", "spans may be lost; deliveries go on"}});
  }

  void end() {
    is_ending = true;
    if (timer != 0) loop.cancel(std::exchange(timer, 0));
    look();
  }

  Tracer& tracer;
  const ExporterSettings settings;
  const Clock& clock;
  Log& log;
  Metrics& metrics;
  EventLoop loop;
  HttpClient http;
  std::vector<Span> batch;  // that is being sent, or waits to be sent again
  int tried = 0;
  bool is_open = false, is_failing = false, is_ending = false;
  EventLoop::TimerId timer = 0;
  std::thread thread;
};

SpanExporter::SpanExporter(Tracer& tracer, ExporterSettings settings, std::shared_ptr<const EgressPolicy> egress,
                           std::shared_ptr<const LiveSecrets> secrets, const Clock& clock, Log& log, Metrics& metrics)
    : engine_(std::make_unique<Engine>(tracer, std::move(settings), std::move(egress), std::move(secrets), clock, log, metrics)) {
}

SpanExporter::~SpanExporter() { stop(Millis{0}); }

void SpanExporter::start() {
  engine_->thread = std::thread([this] {
    engine_->look();
    engine_->loop.run();
  });
}

void SpanExporter::stop(Millis within) {
  if (!engine_->thread.joinable()) return;
  engine_->loop.post([this, within] {
    engine_->loop.after(within, [this] { engine_->loop.stop(); });
    engine_->end();
  });
  engine_->thread.join();
  const auto left = engine_->batch.size() + engine_->tracer.take(Tracer::kMaxWaiting).size();
  if (left > 0) engine_->metrics.trace_spans("given_up", left);
}

}  // namespace waybill
