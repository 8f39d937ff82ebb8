// The rules of plugin.h that concern an outcome alone.
#include "outcome_rules.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "check_host.h"
#include "library.h"

namespace waybill::conformance {
namespace {

using fake_host::is_utf8;

constexpr std::size_t kMaxReason = 64;
constexpr std::size_t kMaxDetail = 64 << 10;  // it is cut at 1,000 bytes; megabytes for that are a mistake
constexpr std::size_t kMaxProviderRef = 4096;
constexpr std::size_t kMaxResult = 64 << 10;

bool is_one_line(const std::string& text) {
  return std::none_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

std::string too_long(const char* what, const Text& text, std::size_t most) {
  if (text.length <= most) return {};
  return std::string(what) + " has " + std::to_string(text.length) + " bytes; more than " + std::to_string(most) +
         " are of no use to anybody";
}

}  // namespace

bool holds_secret(const std::string& text) {
  return text.find(kSecretMark) != std::string::npos || text.find(kSecretMarkInBase64) != std::string::npos;
}

std::string fault_in_numbers(const Outcome& o) {
  const auto number = [](const char* what, std::int64_t value) { return std::string(what) + ' ' + std::to_string(value); };
  if (!o.usable) return "the outcome is null or too short: is wb_outcome::size set?";
  if (o.verdict < WB_ACCEPTED || o.verdict > WB_DEFERRED) return "there is no " + number("verdict", o.verdict);
  if (o.reach < WB_NOT_SENT || o.reach > WB_ANSWERED) return "there is no " + number("reach", o.reach);
  if (o.scope != WB_THIS_JOB && o.scope != WB_WHOLE_TARGET) return "there is no " + number("scope", o.scope);
  return o.retry_after_ms < -1 ? "there is no " + number("retry_after_ms", o.retry_after_ms) + "; none is -1" : "";
}

std::string fault_in_reason(const Outcome& o, const wb_action& action) {
  if (o.verdict != WB_REJECTED || o.reason.length == 0) return {};
  const auto* const end = action.reasons + action.reason_count;
  if (std::any_of(action.reasons, end, [&](const wb_reason& r) { return view(r.name) == o.reason.kept; })) return {};
  return "rejected with the reason \"" + o.reason.kept.substr(0, kMaxReason) + "\", which the action does not declare";
}

std::string fault_in_words(const Outcome& o) {
  const std::pair<const char*, const Text&> lines[] = {{"the reason", o.reason},
                                                       {"the detail", o.detail},
                                                       {"the provider_ref", o.provider_ref},
                                                       {"the artefact's type", o.artifact_type}};
  for (const auto& [what, text] : lines) {
    if (text.kept.empty() && text.length != 0) return std::string(what) + " is null and has a length";
    if (text.length > text.kept.size()) continue;  // too long to be looked at: see the check sizes
    if (!is_utf8(text.kept)) return std::string(what) + " is not UTF-8";
    if (!is_one_line(text.kept)) return std::string(what) + " has control characters: it is to be one line";
  }
  return {};
}

std::string fault_in_sizes(const Outcome& o) {
  for (auto fault : {too_long("the reason", o.reason, kMaxReason), too_long("the detail", o.detail, kMaxDetail),
                     too_long("the provider_ref", o.provider_ref, kMaxProviderRef), too_long("the result", o.result, kMaxResult)})
    if (!fault.empty()) return fault;
  return {};
}

std::string fault_in_result(const Outcome& o) {
  if (o.result.length == 0 || o.result.length > kMaxResult) return {};
  const bool has_nul = o.result.kept.find('\0') != std::string::npos;  // nlohmann would take it for the end
  return !has_nul && nlohmann::json::accept(o.result.kept) ? "" : "the result is not JSON";
}

std::string secret_in(const Outcome& o) {
  const std::pair<const char*, const Text&> texts[] = {{"reason", o.reason},
                                                       {"detail", o.detail},
                                                       {"provider_ref", o.provider_ref},
                                                       {"result", o.result},
                                                       {"artefact", o.artifact}};
  for (const auto& [what, text] : texts)
    if (holds_secret(text.kept)) return std::string("the ") + what + " holds a secret that the destination had repeated";
  return {};
}

}  // namespace waybill::conformance
