// Queries of the form surface and its maintenance. Each object has its own session; one thread at a time.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "domain/form.h"
#include "store/intake_store.h"
#include "store/pg.h"
#include "store/read_store.h"

namespace waybill {

struct NewAttachment {
  std::string id;
  std::string name;
  std::string content_type;
  std::int64_t size = 0;  // bytes
  std::string object_uri;
};

// A form's submission as handed in, with the present contracts of the form's actions.
struct NewFormSubmission {
  OrgId org;
  std::string client_ref;
  std::string form_id;
  std::string fields;            // JSON object, as handed in
  std::string attachments_json;  // JSON array, as handed in
  std::vector<NewAttachment> attachments;
  std::optional<Timestamp> kept_until;
  Sha256 hash;  // of what was handed in
  std::span<const FormAction> actions;
  std::span<const Contract> contracts;  // of the actions, in the same order
  bool finalize = false;
};

struct FormState {
  std::string client_ref;
  std::string state;
};

enum class Scan : std::uint8_t { clean, infected };

struct AttachmentView {
  std::string id;
  std::string name;
  std::string content_type;
  std::int64_t size = 0;
  std::string scan;  // pending, clean, infected
  std::optional<Timestamp> scanned;
};

// One delivery of an action; each replay is one more.
struct FormDeliveryView {
  DeliveryId delivery;
  int action_order = 0;
  int replay = 0;
  std::string action_type;
  Status status = Status::waiting;
  std::string reason;
  std::uint32_t attempts = 0;
  std::string provider_ref;
  std::string result;            // JSON, or empty
  std::optional<Timestamp> due;  // while it is unfinished
  std::optional<Timestamp> ended;
  std::string status_field;  // the surface's own names for this type's status and reference, if any
  std::string ref_field;
};

struct AuditView {
  std::string action, from_state, to_state, trigger, actor, actor_type;
  std::string metadata;  // JSON, or empty
  Timestamp created;
  // For the edit of a dead letter, until the purge: `fields` as JSON, or `destination` as text.
  std::string edited_field, before, after;
};

struct FormView {
  SubmissionView submission;  // `target` is the form's id
  std::optional<Timestamp> finalized;
  std::optional<Timestamp> kept_until;
  std::vector<AttachmentView> attachments;
  std::vector<FormDeliveryView> deliveries;  // by action, then replay
  std::vector<AuditView> audit;              // in order of time
};

struct FormFailure {
  SubmissionId submission;
  std::string error;
};
struct PurgeResult {
  std::size_t count = 0;
  std::vector<FormFailure> failures;
};
struct SweepResult {
  std::size_t moved = 0;
  std::vector<FormFailure> failures;
};

// Who has the forms loaded, and why.
struct LoadActor {
  std::string name;
  std::string type;     // system, admin
  std::string trigger;  // start: audited if it changed something; reload: always
};

struct LoadedForms {
  std::vector<std::string> added, changed, removed;
  bool any() const { return !added.empty() || !changed.empty() || !removed.empty(); }
};

class FormStore {
 public:
  virtual ~FormStore() = default;
  // Durable when it returns. Safe to repeat. Error::conflict if an attachment's id belongs to another submission.
  virtual Result<SubmitResult> submit(const NewFormSubmission& submission) = 0;
  // None: no such submission. Error::conflict if it is purged.
  virtual Result<std::optional<FormState>> finalize(OrgId org, const std::string& client_ref) = 0;
  // None: no such attachment. Error::conflict if it was found infected before.
  virtual Result<std::optional<FormState>> scan(OrgId org, const std::string& attachment, Scan result,
                                                const std::string& actor) = 0;
  // One consistent moment.
  virtual Result<std::optional<FormView>> find(OrgId org, const std::string& client_ref) = 0;

  // Stores the registry's present forms in one transaction, with one audit row.
  virtual Result<LoadedForms> load(std::span<const Form> forms, const LoadActor& actor) = 0;

  // Advances submissions that have been processing for longer than `age`, as far as their actions allow. One that the database
  // refuses stops no other; it is retried after `kTryFormAgain`, later each time. After a few of those the call ends.
  virtual Result<SweepResult> sweep(Shard shard, Seconds age) = 0;
  // Purges expired submissions: payloads, fields, recipients, attachments. Examines at most `most` submissions; the next call
  // goes on after them, and after the last starts over. One that the database refuses stops no other; it is retried after
  // `kTryFormAgain`, later each time.
  virtual Result<PurgeResult> purge(Shard shard, std::size_t most) = 0;
};

inline constexpr Millis kTryFormAgain{60'000};  // doubled with each failure of a submission, up to an hour

// `kept`: the retention of submissions that name none.
std::unique_ptr<FormStore> make_form_store(const DatabaseAddress& address, int shards, Millis kept,
                                           Millis try_again = kTryFormAgain);

}  // namespace waybill
