// Jobs that came back, as the stories of settling need them.
#pragma once

#include "domain/job.h"

namespace waybill::testing {

inline Contract contract_of(Policy policy) {
  return {.target = "sms.primary",
          .action_type = "sms",
          .url = "http://gateway.example.org/",
          .destination = "{}",
          .policy = policy,
          .max_acceptance = policy == Policy::deadline ? Seconds(60) : Seconds(0),
          .max_attempts = policy == Policy::max_attempts ? 3u : 0u,
          .terminal_outcomes = {"invalid_request"},
          .duplicate_reasons = {"duplicate_reference"}};
}

inline constexpr Timestamp kCreated{1'700'000'000'000'000};

// The attempt began a second after the submission's creation and took half a second.
inline Finished finished_with(std::optional<Outcome> outcome, Policy policy = Policy::max_attempts, std::uint32_t attempt = 1) {
  Finished finished{.job = {.delivery = {2 << kShardBits},
                            .submission = {1 << kShardBits},
                            .org = kDefaultOrg,
                            .route = {1},
                            .token = {77},
                            .history = {.attempt_count = attempt - 1},
                            .created = kCreated,
                            .claimed_at = kCreated + Seconds(1),
                            .contract = std::make_shared<const Contract>(contract_of(policy)),
                            .idempotency_key = "order-1"},
                    .how = outcome ? Finished::How::attempted : Finished::How::unattempted,
                    .outcome = std::move(outcome),
                    .started_at = kCreated + Seconds(1),
                    .finished_at = kCreated + Millis(1500),
                    .not_before = std::nullopt};
  return finished;
}

inline Outcome accepted() {
  return {.verdict = Verdict::accepted, .reach = Reach::answered, .code = 200, .provider_ref = "gw-1", .result = R"({"n":1})"};
}
inline Outcome rejected(std::string reason) {
  return {.verdict = Verdict::rejected,
          .reach = Reach::answered,
          .code = 200,
          .reason = std::move(reason),
          .detail = "as the gateway says"};
}
inline Outcome failed(Reach reach = Reach::answered) {
  return {.verdict = Verdict::transient, .reach = reach, .code = 503, .reason = "http_503", .detail = "busy"};
}

}  // namespace waybill::testing
