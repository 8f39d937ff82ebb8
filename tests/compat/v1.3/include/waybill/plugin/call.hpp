// A call, which a sender must complete exactly once, and the job that it is about.
#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <string_view>

#include "waybill/plugin/outcome.hpp"

namespace waybill::plugin {

// A number with its host: copy it freely, into callbacks and to other threads.
class Call {
 public:
  Call(const wb_host* host, wb_call call) noexcept : host_(host), call_(call) {}

  // [any] False if the call was ended before, by an earlier completion or by the host; nothing happens then.
  bool complete(const Outcome& outcome) const noexcept {
    const wb_outcome out = outcome.raw();
    return host_->complete(host_, call_, &out) == 0;
  }

  std::uint64_t id() const noexcept { return call_.id; }
  wb_call raw() const noexcept { return call_; }

 private:
  const wb_host* host_;
  wb_call call_;
};

// What is to be sent. A view: it and its strings live until the call is completed, so copy what a callback needs later.
class Job {
 public:
  explicit Job(const wb_job* job) noexcept : job_(job) {}

  std::uint32_t attempt() const noexcept { return job_->attempt; }  // 1 for the first
  bool maybe_sent_before() const noexcept { return job_->maybe_sent_before != 0; }
  std::chrono::milliseconds deadline() const noexcept { return std::chrono::milliseconds(job_->deadline_ms); }  // from send
  std::string_view action_id() const noexcept { return view(job_->action_id); }
  std::string_view target() const noexcept { return view(job_->target); }
  std::string_view idempotency_key() const noexcept { return view(job_->idempotency_key); }
  std::string_view destination() const noexcept { return view(job_->destination); }  // JSON object
  std::string_view payload() const noexcept { return view(job_->payload); }
  std::string_view context() const noexcept { return view(job_->context); }  // JSON object
  // What compose made of this delivery; empty for a sender that does not compose, and in a host older than minor 1.
  std::string_view artifact() const noexcept { return WB_HAS(job_, artifact) ? view(job_->artifact) : std::string_view{}; }
  std::string_view artifact_type() const noexcept {
    return WB_HAS(job_, artifact_type) ? view(job_->artifact_type) : std::string_view{};
  }
  std::string_view provider_ref() const noexcept {  // for status
    return WB_HAS(job_, provider_ref) ? view(job_->provider_ref) : std::string_view{};
  }
  // What the last transient outcome of this delivery left as its result, JSON; empty: nothing.
  std::string_view progress() const noexcept { return WB_HAS(job_, progress) ? view(job_->progress) : std::string_view{}; }
  const wb_job* raw() const noexcept { return job_; }

 private:
  const wb_job* job_;
};

namespace detail {

// Allocates nothing, so that it works when memory was what ran out.
inline void complete_as_plugin_error(const wb_host* host, wb_call call, std::string_view what) noexcept {
  wb_outcome out{};
  out.size = sizeof out;
  out.verdict = WB_TRANSIENT;
  out.reach = WB_MAYBE_SENT;
  out.scope = WB_THIS_JOB;
  out.retry_after_ms = -1;
  out.reason = str("plugin_error");
  out.detail = str(what);
  host->complete(host, call, &out);
}

inline constexpr std::string_view kForeignException = "an exception that is no std::exception";

template <class Body>
void guarded(const wb_host* host, wb_call call, const Body& body) noexcept {
  try {
    body();
  } catch (const std::exception& e) {
    complete_as_plugin_error(host, call, e.what());
  } catch (...) {
    complete_as_plugin_error(host, call, kForeignException);
  }
}

}  // namespace detail
}  // namespace waybill::plugin
