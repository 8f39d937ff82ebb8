// Turns what a plugin says of an attempt into an outcome that the host can trust in form.
#include "senders/outcome_check.h"

#include <waybill/plugin.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <tl/expected.hpp>

#include "base/json_reader.h"
#include "plugin_protocol/plugin_text.h"

namespace waybill {
namespace {

constexpr std::size_t kMaxReason = 64;
constexpr std::size_t kMaxDetail = 1000;
constexpr std::size_t kMaxProviderRef = 255;
constexpr std::size_t kMaxResult = 1 << 20;
constexpr std::size_t kMaxResultLevels = 64;
constexpr std::size_t kMaxNumber = 300;  // characters; PostgreSQL keeps some 16,000 digits behind the point
constexpr std::size_t kMaxArtifactType = 255;
constexpr Millis kMaxCooldown{24LL * 3600 * 1000};

Verdict verdict_of(wb_verdict value) {
  switch (value) {
    case WB_ACCEPTED:
      return Verdict::accepted;
    case WB_REJECTED:
      return Verdict::rejected;
    case WB_DEFERRED:
      return Verdict::deferred;
    default:
      return Verdict::transient;
  }
}

Reach reach_of(wb_reach value) {
  switch (value) {
    case WB_NOT_SENT:
      return Reach::not_sent;
    case WB_ANSWERED:
      return Reach::answered;
    default:
      return Reach::maybe_sent;
  }
}

// Too long, or so near to zero that it is none: what a column of type jsonb might refuse, and a settlement with it.
bool has_unstorable_number(const nlohmann::json& json) {
  if (json.is_structured()) return std::any_of(json.begin(), json.end(), has_unstorable_number);
  const auto text = number_text(json);
  if (!text) return false;
  const auto digits = std::string_view(*text).substr(0, text->find_first_of("eE"));
  const bool is_zero = digits.find_first_of("123456789") == std::string_view::npos;
  return text->size() > kMaxNumber || (is_zero ? digits.size() != text->size() : *number_of(json) == 0);
}

// The result as the database will take it: valid, not too deep, without U+0000. An error says what is wrong with it.
tl::expected<std::string, std::string> checked_result(std::string_view text) {
  if (text.size() > kMaxResult) return tl::unexpected(std::string("the result is longer than 1 MiB"));
  const auto json = read_sorted_json(text, {.doubled_names = JsonReading::DoubledNames::kept, .levels = kMaxResultLevels});
  if (!json && is_json(text)) return tl::unexpected("the result has more than " + std::to_string(kMaxResultLevels) + " levels");
  if (!json) return tl::unexpected(std::string("the result is no JSON"));
  if (has_unstorable_number(*json)) return tl::unexpected(std::string("the result has a number that is out of range"));
  auto out = dump_sorted(*json);
  if (out.find("\\u0000") != std::string::npos) return tl::unexpected(std::string("the result has a NUL character"));
  return out;
}

void check_artifact(const wb_outcome& said, CallKind asked, CheckedOutcome& checked) {
  const auto bytes = WB_HAS(&said, artifact) ? view_of(said.artifact) : std::string_view{};
  if (asked != CallKind::compose) {
    if (!bytes.empty()) checked.fault = "unasked_artifact";
    return;
  }
  auto& outcome = checked.outcome;
  if (bytes.empty() || bytes.size() > WB_MOST_ARTIFACT_BYTES) {
    checked.fault = bytes.empty() ? "no_artifact" : "artifact_too_large";
    outcome.verdict = Verdict::transient;
    outcome.reach = Reach::not_sent;
    outcome.reason = checked.fault;
    return;
  }
  auto type = clean_text(view_of(said.artifact_type), kMaxArtifactType);
  outcome.artifact = Artifact{type.empty() ? "application/octet-stream" : std::move(type), std::string(bytes)};
}

}  // namespace

CheckedOutcome check_outcome(const wb_outcome* said, const ActionType& type, CallKind asked) {
  if (said == nullptr || !WB_HAS(said, result)) {
    return {{.reason = "invalid_outcome", .detail = "the plugin completed the call without a usable outcome"}, "invalid_outcome"};
  }
  CheckedOutcome checked;
  auto& outcome = checked.outcome;
  outcome.verdict = verdict_of(said->verdict);
  outcome.reach = reach_of(said->reach);
  outcome.scope = said->scope == WB_WHOLE_TARGET ? Scope::whole_target : Scope::this_job;
  outcome.code = said->code;
  if (said->retry_after_ms >= 0) outcome.retry_after = std::min(kMaxCooldown, Millis(said->retry_after_ms));
  outcome.reason = clean_text(view_of(said->reason), kMaxReason);
  outcome.detail = clean_text(view_of(said->detail), kMaxDetail);
  outcome.provider_ref = clean_text(view_of(said->provider_ref), kMaxProviderRef);
  if (said->verdict < WB_ACCEPTED || said->verdict > WB_DEFERRED) checked.fault = "invalid_verdict";

  if (const auto result = view_of(said->result); !result.empty()) {
    if (auto json = checked_result(result)) {
      outcome.result = std::move(*json);
    } else {
      checked.fault = "invalid_result";
      outcome.result_fault = std::move(json.error());
    }
  }
  if (outcome.verdict == Verdict::accepted) check_artifact(*said, asked, checked);
  const auto declared = [&](const Reason& reason) { return reason.name == outcome.reason; };
  if (outcome.verdict == Verdict::rejected && std::none_of(type.reasons.begin(), type.reasons.end(), declared)) {
    checked.fault = "undeclared_reason";
    outcome.verdict = Verdict::transient;
    outcome.detail = clean_text("rejected with the undeclared reason \"" + outcome.reason + "\" " + outcome.detail, kMaxDetail);
    outcome.reason = "undeclared_reason";
  }
  return checked;
}

}  // namespace waybill
