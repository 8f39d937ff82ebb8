// What a sender says of one attempt: the facts of wb_outcome, owning its words.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "waybill/plugin.h"

namespace waybill::plugin {

inline std::string_view view(wb_str text) { return text.len == 0 ? std::string_view{} : std::string_view{text.ptr, text.len}; }
constexpr wb_str str(std::string_view text) { return {text.data(), text.size()}; }

enum class Reach : std::int32_t { not_sent = WB_NOT_SENT, maybe_sent = WB_MAYBE_SENT, answered = WB_ANSWERED };
enum class Scope : std::int32_t { this_job = WB_THIS_JOB, whole_target = WB_WHOLE_TARGET };

// Made by one of four factories and completed by setters: Outcome::transient("busy").code(503).detail("status 503").
class Outcome {
 public:
  static Outcome accepted() { return {WB_ACCEPTED, Reach::answered, {}}; }
  static Outcome rejected(std::string_view reason) { return {WB_REJECTED, Reach::answered, reason}; }
  static Outcome transient(std::string_view reason) { return {WB_TRANSIENT, Reach::maybe_sent, reason}; }
  static Outcome deferred(std::string_view reason) { return {WB_DEFERRED, Reach::not_sent, reason}; }

  Outcome& reach(Reach value) & { return reach_ = value, *this; }
  Outcome& scope(Scope value) & { return scope_ = value, *this; }
  Outcome& code(std::int32_t value) & { return code_ = value, *this; }
  Outcome& retry_after(std::optional<std::chrono::milliseconds> value) & { return retry_after_ = value, *this; }
  Outcome& detail(std::string value) & { return detail_ = std::move(value), *this; }
  Outcome& provider_ref(std::string value) & { return provider_ref_ = std::move(value), *this; }
  Outcome& result(std::string json) & { return result_ = std::move(json), *this; }
  Outcome& artifact(std::string media_type, std::string bytes) & {  // of an accepted compose
    return artifact_type_ = std::move(media_type), artifact_ = std::move(bytes), *this;
  }

  Outcome reach(Reach value) && { return std::move(reach(value)); }
  Outcome scope(Scope value) && { return std::move(scope(value)); }
  Outcome code(std::int32_t value) && { return std::move(code(value)); }
  Outcome retry_after(std::optional<std::chrono::milliseconds> value) && { return std::move(retry_after(value)); }
  Outcome detail(std::string value) && { return std::move(detail(std::move(value))); }
  Outcome provider_ref(std::string value) && { return std::move(provider_ref(std::move(value))); }
  Outcome result(std::string json) && { return std::move(result(std::move(json))); }
  Outcome artifact(std::string media_type, std::string bytes) && {
    return std::move(artifact(std::move(media_type), std::move(bytes)));
  }

  // Borrows from this.
  wb_outcome raw() const noexcept {
    wb_outcome out{};
    out.size = sizeof out;
    out.verdict = verdict_;
    out.reach = static_cast<wb_reach>(reach_);
    out.scope = static_cast<wb_scope>(scope_);
    out.code = code_;
    out.retry_after_ms = retry_after_ ? static_cast<std::int64_t>(retry_after_->count()) : -1;
    out.reason = str(reason_);
    out.detail = str(detail_);
    out.provider_ref = str(provider_ref_);
    out.result = str(result_);
    out.artifact_type = str(artifact_type_);
    out.artifact = str(artifact_);
    return out;
  }

 private:
  Outcome(wb_verdict verdict, Reach reach, std::string_view reason) : verdict_(verdict), reach_(reach), reason_(reason) {}

  wb_verdict verdict_;
  Reach reach_;
  Scope scope_ = Scope::this_job;
  std::int32_t code_ = 0;
  std::optional<std::chrono::milliseconds> retry_after_;
  std::string reason_;
  std::string detail_;
  std::string provider_ref_;
  std::string result_;
  std::string artifact_type_;
  std::string artifact_;
};

}  // namespace waybill::plugin
