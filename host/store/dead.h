// What people ask of dead letters: find them, look at one, mend it, send it again, hand its submission in anew. Each object holds
// a session of its own: one thread at a time.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "domain/contract.h"
#include "store/pg.h"
#include "store/read_store.h"

namespace waybill {

inline constexpr std::size_t kMaxReplays = 10'000;  // in one call

// Which letters; what is left out allows any.
struct DeadFilter {
  std::string reference;  // of the submission
  std::string form_id;    // or the target of an intent
  std::string reason;
  std::optional<Timestamp> after;   // died then or later
  std::optional<Timestamp> before;  // died earlier
  std::vector<DeliveryId> ids;
  bool replayed = false;  // also those that were replayed

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
  DeliveryId replay;  // the delivery that it was replayed as
};

struct DeadCursor {
  Timestamp died;
  DeliveryId id;
};
struct DeadPage {
  std::vector<DeadLetter> letters;  // newest first
  std::optional<DeadCursor> next;   // none: that was all
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
  std::string result;       // JSON that the last attempt left, or empty
  std::vector<AttemptView> attempts;
  std::vector<EditRecord> edits;  // in order of time
};

struct DeadLetterEdit {
  std::optional<std::string> fields;       // a JSON object, instead of the form's fields
  std::optional<std::string> destination;  // instead of the action's text of that name
};

struct ReplayItem {
  DeadLetter letter;  // with an id alone when there is no such letter
  std::string refused;
  DeliveryId replay;  // when it was carried out
  Timestamp due;
};
struct Replays {
  std::size_t count = 0;  // that were replayed, or would be
  bool more = false;      // more letters match than one call takes
  std::vector<ReplayItem> items;
};

// An action that a clone runs, with the contract that it has now.
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
  virtual Result<DeadPage> list(OrgId org, const DeadFilter& filter, std::size_t most, std::optional<DeadCursor> after) = 0;
  // All of one moment. None: there is no such letter.
  virtual Result<std::optional<DeadLetterView>> show(OrgId org, DeliveryId id) = 0;
  // The caller has had the plugin check a new destination. Error::not_found; Error::conflict when it cannot be edited any more.
  virtual Result<void> edit(OrgId org, DeliveryId id, const DeadLetterEdit& edit, const std::string& actor) = 0;
  // One transaction; oldest first, each at its turn. A dry run writes nothing.
  virtual Result<Replays> replay(OrgId org, const DeadFilter& filter, const std::string& actor, bool dry_run) = 0;
  // Error::not_found; Error::conflict when the reference is taken or the submission must not be sent.
  virtual Result<CloneResult> clone(OrgId org, DeliveryId id, const std::string& reference,
                                    const std::vector<CloneAction>& actions, const std::string& actor) = 0;
};

// Why an admin can do nothing with a letter that is not there.
std::string no_such_letter(DeliveryId id);

// `rate` is how many replays a second each organisation's receivers get at most.
std::unique_ptr<DeadStore> make_dead_store(const DatabaseAddress& address, int shards, std::size_t rate);

}  // namespace waybill
