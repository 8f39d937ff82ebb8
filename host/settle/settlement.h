// From what happened to what is written: pure functions between decide() and the store.
#pragma once

#include <string>

#include "domain/decide.h"
#include "domain/job.h"
#include "store/rescue_store.h"
#include "store/settle_store.h"

namespace waybill {

// The words of the audit and the states of the intent pipeline that follow from a delivery's end.
struct SubmissionMove {
  std::string from, to, action;
};
SubmissionMove intent_move(Status end);

// The settlement of a job that came back. `random` is uniform in [0, 1). `outage` of its target, if its outcome blames the
// target.
Settlement settlement_of(const Finished& finished, const RetryTiming& timing, double random, const std::string& actor,
                         const std::optional<Outage>& outage = {});

// Whether a plugin was inside of a delivery when its host died: then the death counts against it, and it is tried alone after
// others.
enum class Blame : std::uint8_t { none, suspect };
// The settlement of a claim whose host is gone.
Settlement settlement_of(const OrphanedClaim& lost, const Contract& contract, Timestamp now, const std::string& actor,
                         Blame blame);

// How long a suspect waits after so many deaths.
Millis suspect_delay(std::uint32_t losses);

// Of a settlement that the database refuses: what has to be on record, without anything that a plugin or a receiver worded.
Settlement minimal(Settlement refused);

}  // namespace waybill
