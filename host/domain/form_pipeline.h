// What a form's submission does next: what domain/pipelines/form.json says, asked about attachments and actions. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/id.h"
#include "base/time.h"
#include "domain/pipeline.h"
#include "domain/status.h"

namespace waybill {

struct ScanCounts {
  std::size_t attachments = 0;
  std::size_t clean = 0;
  std::size_t infected = 0;
};

enum class Readiness : std::uint8_t {
  wait,     // not finalized, or a scan is pending
  run,      // its actions may run
  infected  // nothing of it is ever sent
};
Readiness readiness_of(bool finalized, const ScanCounts& scans);

// Why a submission that is to be kept until then is not taken; "": it is.
std::string fault_in_retention(Timestamp kept_until, Timestamp now);

// How far one action has come: the newest delivery of it.
struct ActionState {
  int order = 0;
  DeliveryId delivery;
  Status status = Status::waiting;
  std::uint32_t attempts = 0;  // whose end was seen
  Timestamp due;               // while it is unfinished
};

// An action waits until each one before it has been attempted once and that attempt's end was seen, or it could not be: it has
// been due for so long. So what a host's death interrupted is tried again before what follows it.
inline constexpr Seconds kTurn{10};

struct FormStep {
  std::optional<DeliveryId> open;  // this action's turn has come
  std::string_view end;            // "routed" or "failed" when no action is left, else empty
  bool operator==(const FormStep&) const = default;
};

// Of a submission in state `processing`; `actions` are in their order. Routed only if every action that was not deferred was
// accepted.
FormStep next_form_step(std::span<const ActionState> actions, Timestamp now);

// Transitions of the form pipeline, as they are recorded. The end of each action is audited by its settlement.
const PipelineTransition& end_of_form(std::string_view state);  // all actions have ended
const PipelineTransition& form_infected();                      // an attachment is infected
// Its retention expired while its actions ran, or while it was finalized and waited for a scan. Null: not from this state.
const PipelineTransition* form_overdue(std::string_view state);
const PipelineTransition& form_purged(std::string_view state);  // from this state
inline constexpr std::string_view kFormPurged = "purged";

struct FormAlert {
  std::string_view kind;
  std::string about;
  std::string message;
};
FormAlert infected_alert(std::string_view client_ref, std::string_view form_id);           // nothing was sent
FormAlert infected_too_late_alert(std::string_view client_ref, std::string_view form_id);  // its actions had begun
// Its retention expired while `actions`, in words, had not ended: nobody tries them any more. `unscanned`: the attachments for
// whose scan it still waited, so that nothing of it was sent; "": none.
FormAlert dropped_alert(std::string_view client_ref, std::string_view form_id, std::string_view actions,
                        std::string_view unscanned);

}  // namespace waybill
