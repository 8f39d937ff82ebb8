// What a host writes down of a sender: its calls and how they ended, what it asked of the network, the rules it broke on the
// way.
#pragma once

#include <waybill/plugin.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace waybill::conformance {

enum class CallKind { send, compose, status, probe, failures };  // what a call is for
std::string_view word_for(CallKind asked);

// Words of a plugin: what is kept of them, and how long they were.
struct Text {
  std::string kept;
  std::size_t length = 0;
};
Text text_of(wb_str text);

struct Outcome {
  bool usable = false;  // not null, and long enough
  wb_verdict verdict = 0;
  wb_reach reach = 0;
  wb_scope scope = 0;
  std::int32_t code = 0;
  std::int64_t retry_after_ms = -1;
  Text reason, detail, provider_ref, result, artifact_type, artifact;
};
Outcome outcome_of(const wb_outcome* said);
std::string words_of(const Outcome& outcome);  // "transient(timeout)"

enum class End { open, completed, threw, given_up };  // how a call ended first

struct Call {
  std::uint64_t id = 0;
  CallKind asked = CallKind::send;
  End end = End::open;
  Outcome outcome;                    // of a completed one
  std::size_t completions = 0;        // how often it was completed
  std::size_t exchanges = 0;          // requests and mails asked for
  wb_reach last_reach = WB_NOT_SENT;  // of the last one that ended, as the host saw it
  bool answered = false;              // one of them was
  std::size_t failures = 0;           // reported, of a question for failures
  std::int64_t deadline_at = 0;
};

// One request or mail as the plugin asked for it.
struct SentRequest {
  std::uint64_t call = 0;
  bool mail = false;
  std::string method, url, body;                                    // of a mail: relay, message
  std::vector<std::pair<std::string, std::string>> headers;         // as the plugin gave them
  std::vector<std::pair<std::string, std::string>> filled_headers;  // as they leave
};

enum class Violation {
  threw,
  completed_again,
  unknown_call,  // completed a call that is none of this sender's
  off_strand,
  malformed,  // a request that no host could carry out, or one for a call that is not open
  in_create,
  in_destroy,
  slow,
  runaway,
  late_report  // a failure, or a next page, after the end of its call
};

}  // namespace waybill::conformance
