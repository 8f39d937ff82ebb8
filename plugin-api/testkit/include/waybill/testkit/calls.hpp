// What a test hands to a sender, and what comes back: jobs, outcomes, failures, problems, log events.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <utility>
#include <vector>

#include "waybill/plugin.h"

namespace waybill::testkit {

enum class CallId : std::uint64_t {};
enum class CallKind { send, compose, status, probe, failures };  // what a call is for

struct Job {
  std::string destination = "{}";
  std::string payload;
  std::string idempotency_key = "key-1";
  std::string context = R"({"org":"default","kind":"intent","reference":"key-1"})";
  std::string target = "target-1";
  std::string action_id = "1";
  std::uint32_t attempt = 1;
  bool maybe_sent_before = false;
  std::int64_t deadline_ms = 30'000;
  std::string artifact_type;  // for a sender that composes
  std::string artifact;
  std::string provider_ref;  // for status
  std::string progress;      // the result of an earlier transient outcome
};

struct Outcome {
  wb_verdict verdict = 0;
  wb_reach reach = 0;
  wb_scope scope = 0;
  std::int32_t code = 0;
  std::int64_t retry_after_ms = -1;
  std::string reason;
  std::string detail;
  std::string provider_ref;
  std::string result;
  std::string artifact_type;
  std::string artifact;
};
std::ostream& operator<<(std::ostream& out, const Outcome& outcome);

struct Failure {
  std::string provider_ref;
  std::string idempotency_key;
  std::string reason;
  std::string detail;
  std::int64_t failed_at = 0;
};

struct FailureList {
  std::vector<Failure> failures;  // of all pages
  std::vector<Outcome> outcomes;  // one a page; the last is accepted if the list is complete
};

struct Problem {
  std::string path;
  std::string message;
  bool operator==(const Problem& other) const { return path == other.path && message == other.message; }
};
std::ostream& operator<<(std::ostream& out, const Problem& problem);

struct LogEvent {
  std::uint64_t call = 0;
  std::int32_t level = 0;
  std::string text;
  std::vector<std::pair<std::string, std::string>> fields;
};

}  // namespace waybill::testkit
