// A submission as its client sees it, and the answer to one that was handed in.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/id.h"
#include "base/time.h"
#include "domain/submission_terms.h"

namespace waybill {

struct SubmissionView {
  SubmissionId id;
  OrgId org;
  std::string client_ref;
  std::string target;
  std::string state;
  std::string reason;  // of a rejection or an exhaustion
  Timestamp created;
  std::optional<Timestamp> completed{};
  Terms terms{};
};

struct SubmitResult {
  enum class How : std::uint8_t { created, existing, conflict } how;
  SubmissionView view;
  bool claimed = false;  // by the claim on insert
  Timestamp stored{};    // if created: the database's clock at the end of the insert (`view.created` is from its start)
  bool later = false;    // if created: nothing is sent yet, by its own terms
};

}  // namespace waybill
