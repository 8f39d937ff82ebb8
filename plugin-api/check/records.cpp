// What is kept of what the plugin said.
#include "records.h"

#include <algorithm>

namespace waybill::conformance {
namespace {

constexpr std::size_t kMaxKept = 64 << 10;

}  // namespace

std::string_view word_for(CallKind kind) {
  static constexpr std::string_view kWords[] = {"send", "compose", "status", "probe", "failures"};
  return kWords[static_cast<std::size_t>(kind)];
}

Text text_of(wb_str text) {
  if (text.ptr == nullptr) return {{}, text.len};
  return {std::string(text.ptr, std::min(text.len, kMaxKept)), text.len};
}

Outcome outcome_of(const wb_outcome* said) {
  Outcome out;
  if (said == nullptr || !WB_HAS(said, result)) return out;
  out.usable = true;
  out.verdict = said->verdict;
  out.reach = said->reach;
  out.scope = said->scope;
  out.code = said->code;
  out.retry_after_ms = said->retry_after_ms;
  out.reason = text_of(said->reason);
  out.detail = text_of(said->detail);
  out.provider_ref = text_of(said->provider_ref);
  out.result = text_of(said->result);
  if (WB_HAS(said, artifact)) {
    out.artifact_type = text_of(said->artifact_type);
    out.artifact = text_of(said->artifact);
    if (said->artifact.ptr != nullptr && said->artifact.len <= WB_MOST_ARTIFACT_BYTES)
      out.artifact.kept.assign(said->artifact.ptr, said->artifact.len);  // it is sent, so it must be whole
  }
  return out;
}

std::string words_of(const Outcome& outcome) {
  static constexpr const char* kVerdicts[] = {"?", "accepted", "rejected", "transient", "deferred"};
  if (!outcome.usable) return "an unusable outcome";
  const bool known = outcome.verdict >= WB_ACCEPTED && outcome.verdict <= WB_DEFERRED;
  std::string words = known ? kVerdicts[outcome.verdict] : "verdict " + std::to_string(outcome.verdict);
  if (outcome.reason.length != 0) words += '(' + outcome.reason.kept.substr(0, 64) + ')';
  return words;
}

}  // namespace waybill::conformance
