// The statements of forms: their submissions on their way in, what the API shows, maintenance. Each object has its own session;
// one thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/id.h"
#include "base/time.h"
#include "base/trace_context.h"
#include "domain/form.h"
#include "domain/idempotency.h"
#include "store/forms/form_view.h"
#include "store/operations/host_registries.h"
#include "store/submissions/submission_list.h"
#include "store/submissions/submission_view.h"

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
  Trace trace{};
  Terms terms{};
  std::string fault{};  // why it must not be stored; "" if it may. One that was stored before is still itself
};

struct FormState {
  std::string client_ref;
  std::string state;
};

enum class Scan : std::uint8_t { clean, infected };

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
  std::string type;            // system, admin
  std::string trigger;         // start: audited if it changed something; reload: always
  std::string details = "{}";  // a JSON object for the audit: what changed besides forms
};

struct NameChanges {
  std::vector<std::string> added, changed, removed;
  bool any() const { return !added.empty() || !changed.empty() || !removed.empty(); }
};
using FormChanges = NameChanges;

class FormStore {
 public:
  virtual ~FormStore() = default;
  // Durable when it returns. Safe to repeat. Error::conflict if an attachment's id belongs to another submission; Error::invalid
  // if its retention is over already, or it has a fault, and it was not stored before.
  virtual Result<SubmitResult> submit(const NewFormSubmission& submission) = 0;
  // None: no such submission. Error::conflict if it is purged.
  virtual Result<std::optional<FormState>> finalize(OrgId org, const std::string& client_ref) = 0;
  // None: no such attachment. Error::conflict if it was found infected before.
  virtual Result<std::optional<FormState>> scan(OrgId org, const std::string& attachment, Scan result,
                                                const std::string& actor) = 0;
  // One consistent moment.
  virtual Result<std::optional<FormView>> find(OrgId org, const std::string& client_ref) = 0;
  // See list_submissions().
  virtual Result<SubmissionPage> list(OrgId org, const SubmissionFilter& filter, std::size_t most,
                                      const std::optional<DeliveryCursor>& after) = 0;

  // Stores the registry's present forms in one transaction, with one audit row.
  virtual Result<FormChanges> load(std::span<const Form> forms, const LoadActor& actor) = 0;

  // See host_registries.h.
  virtual Result<std::int64_t> ask_reload(const std::string& asked_by, std::span<const std::string> hosts) = 0;
  virtual Result<std::optional<ReloadRequest>> newest_reload(const std::string& host) = 0;
  virtual Result<void> publish_registry(HostId host, const RegistryReport& report) = 0;
  virtual Result<std::vector<HostRegistry>> registries() = 0;

  // Advances submissions that have been processing for longer than `age`, as far as their actions allow. One that the database
  // refuses stops no other; it is retried after `kTryFormAgain`, later each time. After a few of those the call ends.
  virtual Result<SweepResult> sweep(Shard shard, Seconds age) = 0;
  // Purges expired submissions: payloads, fields, recipients, attachments. Examines at most `most` submissions; the next call
  // goes on after them, and after the last starts over. One that the database refuses stops no other; it is retried after
  // `kTryFormAgain`, later each time.
  virtual Result<PurgeResult> purge(Shard shard, std::size_t most) = 0;
};

inline constexpr Millis kTryFormAgain{60'000};  // doubled with each failure of a submission, up to an hour

}  // namespace waybill
