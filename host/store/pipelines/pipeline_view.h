// A pipeline's submission as the API shows it, and what it may be asked.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/id.h"
#include "base/time.h"
#include "domain/status.h"
#include "store/forms/form_view.h"
#include "store/submissions/delivery_cursor.h"
#include "store/submissions/submission_view.h"

namespace waybill {

struct PipelineDeliveryView : ActionDeliveryView {
  std::string state;  // of the pipeline
  std::string target;
  struct Failure {
    std::uint32_t number;
    Timestamp started;
    std::string outcome, reason, error;
    std::int32_t code;
  };
  std::vector<Failure> failures;     // its attempts that were not accepted
  std::vector<AttemptView> history;  // all of them, in order
};

struct PipelineView {
  SubmissionView submission;  // `target` is the pipeline
  int version = 0;
  std::string metadata;  // JSON
  std::string payload;   // JSON
  std::optional<Timestamp> blocked, ended;
  std::vector<std::pair<std::string, std::string>> results;  // state -> JSON
  std::vector<PipelineDeliveryView> deliveries;
  std::vector<AuditView> audit;
  struct Decision {
    std::string to, trigger, role;
  };
  std::vector<Decision> decisions;  // that people may make now
};

struct PipelineListItem {
  SubmissionId id;
  std::string client_ref;
  std::string pipeline;
  int version = 0;
  std::string state;
  std::string metadata;  // JSON
  Timestamp created;
  std::optional<Timestamp> ended, blocked;
};

struct PipelineFilter {
  std::optional<std::string> pipeline, state, reference;
  std::optional<SubmissionId> before;
  std::size_t limit = 50;
  std::size_t max_walked = kMaxWalked;
};
struct PipelinePage {
  std::vector<PipelineListItem> items;
  std::optional<SubmissionId> next;  // the next page begins behind it; none: there is none
};

// What statistics look at, so that they cost the same however much there is.
inline constexpr std::int64_t kMaxCountedOfState = 10'000;  // submissions of each state
inline constexpr std::int64_t kMaxShared = 20'000;          // steps of an organisation; submissions that began, of all

// Of an organisation.
struct PipelineCount {
  std::string pipeline, state;
  std::int64_t count = 0, blocked = 0;
  bool is_lower_bound = false;  // there may be more, which were not looked at
};
struct PipelineShares {
  std::int64_t begun = 0;
  bool is_lower_bound = false;
  std::map<std::string, std::int64_t> came_to;  // by state

  // Of those that begun; none if none did.
  std::optional<double> share_of(const std::string& state) const {
    if (begun == 0) return std::nullopt;
    const auto came = came_to.find(state);
    return came == came_to.end() ? 0.0 : static_cast<double>(came->second) / static_cast<double>(begun);
  }
};
struct LevelMeasure {
  std::int64_t through = 0, within = 0, p95_ms = 0, open = 0, oldest_open_ms = 0;
};

// A submission came to the next state of its pipeline.
struct PipelineMoved {
  std::string pipeline, to;
  Micros took;                       // in the state before
  std::vector<std::string> metrics;  // which the pipeline declares for that time
};

}  // namespace waybill
