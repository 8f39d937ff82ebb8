// What a check host records of a sender: its calls and how they ended, what it asked of the network, the rules it broke.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "waybill/testkit/calls.hpp"
#include "waybill/testkit/network.hpp"

namespace waybill::conformance {

using testkit::CallKind;
std::string_view word_for(CallKind kind);

// Words of a plugin, which may be of any length: what is kept of them, and how long they were.
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
  CallKind kind = CallKind::send;
  End end = End::open;
  Outcome outcome;                    // of a completed one
  std::size_t completions = 0;        // how often it was completed
  std::size_t exchanges = 0;          // requests and mails asked for
  wb_reach last_reach = WB_NOT_SENT;  // of the last one that ended, as the host saw it
  bool answered = false;              // one of them was
  std::int64_t deadline_at = 0;
  bool forgotten = false;  // the host has taken back what the ended call held
};

// One request or mail as the plugin asked for it.
struct SentRequest : testkit::SentRequest {
  bool mail = false;  // then `url` is the relay and `body` the message
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
