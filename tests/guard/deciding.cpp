// What is done with an attempt that came back: the decision, the wait, the rows of the settlement and their columns.
#include <array>

#include "domain/decide.h"
#include "guard/counted.h"
#include "guard/scenarios.h"
#include "settle/settlement.h"
#include "store/pg/pg.h"
#include "unit/settle/jobs.h"

namespace waybill::guard {
namespace {

using testing::contract_of;
using testing::finished_with;
using testing::kCreated;

constexpr RetryTiming kFixed;
constexpr RetryTiming kGrowing{.kind = RetryTiming::Kind::exponential, .jitter_low = 0.5, .jitter_high = 1.5};

void decide_attempt() {
  const Contract contract = contract_of(Policy::deadline);
  const std::array outcomes{testing::accepted(), testing::rejected("invalid_request"), testing::failed()};
  const Progress progress{.before = {.attempt_count = 1}, .created = kCreated, .now = kCreated + Seconds(3)};
  std::array<Decision, 3> decisions;
  counted_calls([&] {
    for (std::size_t i = 0; i < outcomes.size(); ++i) decisions[i] = decide(outcomes[i], contract, progress, kGrowing, 0.5);
  });
  require(decisions[0].kind == Decision::Kind::accept && decisions[1].kind == Decision::Kind::reject &&
              decisions[2].kind == Decision::Kind::retry,
          "an acceptance, a rejection and a retry");
}

void retry_wait() {
  Millis sum{0};
  counted_calls([&] {
    sum += wait_after(kFixed, 3, std::nullopt, 0.5);
    sum += wait_after(kGrowing, 5, Millis(1000), 0.25);
  });
  require(sum.count() == (5000 + 60'000) * (kCalls + 1),
          "waits of 5 s and 60 s, and " + std::to_string(sum.count()) + " ms came");
}

// An end has the audit's metadata as well; a retry has an error and a time.
template <Status kStatus>
void settle_attempt(const Finished& finished) {
  const std::string actor = "box:4711";
  Settlement settlement;
  counted_calls([&] { settlement = settlement_of(finished, kFixed, 0.5, actor); });
  require(settlement.status == kStatus, "a settlement that ends as " + std::string(to_string(kStatus)));
}
void settlement_accepted() { settle_attempt<Status::accepted>(finished_with(testing::accepted())); }
void settlement_rejected() { settle_attempt<Status::rejected>(finished_with(testing::rejected("invalid_request"))); }
void settlement_retried() { settle_attempt<Status::due>(finished_with(testing::failed())); }

// Columns of the kinds that the stores write: ids, words, JSON that must be quoted, flags and gaps; a hundred rows of each.
void array_text() {
  const std::string metadata = R"({"attempts":1,"reason":"invalid_request"})";
  std::string columns;
  counted_calls([&] {
    ArrayText ids, words, json, flags, gaps;
    for (int row = 0; row < 100; ++row) {
      ids.add(kCreated.micros + row);
      words.add(std::string_view("accepted"));
      json.add(metadata);
      flags.add_flag(row % 2 == 0);
      gaps.add_null();
    }
    columns = ids.take() + words.take() + json.take() + flags.take() + gaps.take();
  });
  require(columns.starts_with("{1700000000000000,") && columns.ends_with(",NULL}"), "five columns");
}

constexpr std::array kScenarios{
    Scenario{"decide", decide_attempt},
    Scenario{"retry_wait", retry_wait},
    Scenario{"settlement_accepted", settlement_accepted},
    Scenario{"settlement_rejected", settlement_rejected},
    Scenario{"settlement_retried", settlement_retried},
    Scenario{"array_text", array_text},
};

}  // namespace

std::span<const Scenario> deciding_scenarios() { return kScenarios; }

}  // namespace waybill::guard
