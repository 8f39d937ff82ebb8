// Turns what happened into what is written: pure functions between decide() and the store.
#pragma once

#include <string>
#include <string_view>

#include "domain/decide.h"
#include "domain/job.h"
#include "store/operations/waiting_store.h"
#include "store/queue/rescue_store.h"
#include "store/queue/settle_store.h"

namespace waybill {

// The audit action and the states of the intent pipeline that follow from an intent's end.
struct SubmissionMove {
  std::string from, to, action;
};
SubmissionMove intent_move(Status end);

// What the audit calls the end of a form's action: "sms_success", "sms_failure". The table action_words may have another word for
// an action type; the statement that writes the audit then takes that. Empty for a deferred action: it is not audited.
std::string action_audit(Status end, std::string_view action_type);

// The settlement of a finished job. `random` is uniform in [0, 1). `outage`: that of its target, if its outcome blames the
// target.
Settlement settlement_of(const Finished& finished, const RetryTiming& timing, double random, const std::string& actor,
                         const std::optional<Outage>& outage = {});

// `suspect`: a plugin was inside of the delivery when its host died. The death is charged to it, and it is tried alone, after
// others.
enum class Blame : std::uint8_t { none, suspect };
// The settlement of a delivery whose host is gone.
Settlement settlement_of(const OrphanedDelivery& lost, const Contract& contract, Timestamp now, const std::string& actor,
                         Blame blame);

// The settlement of a delivery that must not be sent twice and may have been sent since the moment to which its database was
// restored, `lost.claimed_at`.
Settlement settlement_of_restored(const OrphanedDelivery& lost, const Contract& contract, Timestamp now,
                                  const std::string& actor);
// The end of a delivery that an operator ends while it waits: exhausted, for the reason kEndedByOperator. It raises no alert.
inline constexpr const char* kEndedByOperator = "ended_by_operator";
Settlement settlement_of(const WaitingDelivery& waiting, const Contract& contract, Timestamp now, const std::string& actor);
// The end of one whose own time is over.
Settlement settlement_of_expired(const WaitingDelivery& waiting, const Contract& contract, Timestamp now,
                                 const std::string& actor);

// How long a suspect waits after `losses` deaths.
Millis suspect_delay(std::uint32_t losses);

// For a settlement that the database refuses: the same without the texts of plugin and destination.
Settlement minimal(Settlement refused);

}  // namespace waybill
