// The statements on dead letters: list, show, edit, replay, clone. Each object has its own session; one thread at a time.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/id.h"
#include "base/time.h"
#include "domain/contract.h"
#include "store/submissions/attempt_view.h"
#include "store/submissions/delivery_cursor.h"

namespace waybill {

inline constexpr std::size_t kMaxReplays = 10'000;  // in one call

// Selects letters; an empty field matches all.
struct DeadFilter {
  std::string reference;  // of the submission
  std::string form_id;    // or the target of an intent
  std::string reason;
  std::optional<Timestamp> after;   // died then or later
  std::optional<Timestamp> before;  // died earlier
  std::vector<DeliveryId> ids;
  bool replayed = false;  // include replayed ones

  bool any() const { return !(reference.empty() && form_id.empty() && reason.empty() && !after && !before && ids.empty()); }
};

struct DeadLetter {
  DeliveryId id;  // of the delivery that died
  SubmissionId submission;
  std::string kind;  // form, intent
  std::string reference;
  std::string target;  // the form's id, or an intent's target
  int action_order = 0;
  std::string action_type;
  std::string reason;
  Timestamp died;
  bool fields_edited = false;
  bool destination_edited = false;
  std::optional<Timestamp> replayed;
  std::string replayed_by;
  DeliveryId replay;  // the delivery of its replay
};

struct DeadPage {
  std::vector<DeadLetter> letters;     // newest first
  std::optional<DeliveryCursor> next;  // none: this is the last page
};

struct EditRecord {
  std::int64_t id = 0;
  Timestamp edited;
  std::string actor;
  std::string field;  // fields: before and after are JSON; destination: text
  std::string before;
  std::string after;
};

struct DeadLetterView {
  DeadLetter letter;
  std::string state;        // of the submission
  std::string payload;      // as it would be replayed
  std::string destination;  // JSON, as it would be replayed
  std::string result;       // the last attempt's JSON, or empty
  std::vector<AttemptView> attempts;
  std::vector<EditRecord> edits;  // in order of time
};

struct DeadLetterEdit {
  std::optional<std::string> fields;       // a JSON object, instead of the form's fields
  std::optional<std::string> destination;  // instead of the action's text of that name
};

struct ReplayItem {
  DeadLetter letter;  // only the id is set if there is no such letter
  std::string refused;
  DeliveryId replay;  // if it was replayed
  Timestamp due;
};
struct Replays {
  std::size_t count = 0;  // replayed, or to be replayed
  bool more = false;      // more letters match than one call takes, or it did not look at all
  std::vector<ReplayItem> items{};
  std::optional<DeliveryCursor> next{};  // of failed deliveries: ask again, with this as `after`
  Timestamp asked{};                     // then: the database's time
};

// An action of a clone, with its present contract.
struct CloneAction {
  int order = 1;
  Contract contract;
};
struct CloneResult {
  std::string reference;
  std::string kind;
  std::string state;
};

class DeadStore {
 public:
  virtual ~DeadStore() = default;
  virtual Result<DeadPage> list(OrgId org, const DeadFilter& filter, std::size_t most, std::optional<DeliveryCursor> after) = 0;
  // One consistent moment. None: no such letter.
  virtual Result<std::optional<DeadLetterView>> show(OrgId org, DeliveryId id) = 0;
  // The caller must have let the plugin check a new destination. Error::not_found; Error::conflict if it can no longer be edited.
  virtual Result<void> edit(OrgId org, DeliveryId id, const DeadLetterEdit& edit, const std::string& actor) = 0;
  // One transaction; oldest first, spaced by the rate. A dry run writes nothing.
  virtual Result<Replays> replay(OrgId org, const DeadFilter& filter, const std::string& actor, bool dry_run) = 0;
  // Error::not_found; Error::conflict if the reference is taken or the submission must not be sent.
  virtual Result<CloneResult> clone(OrgId org, DeliveryId id, const std::string& reference,
                                    const std::vector<CloneAction>& actions, const std::string& actor) = 0;
};

// The message for a letter that does not exist.
std::string no_such_letter(DeliveryId id);

}  // namespace waybill
