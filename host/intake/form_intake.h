// Takes in forms: stores their submissions, and what completes one (its finalization, the scans of its attachments).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/trace_context.h"
#include "domain/action_types.h"
#include "domain/form.h"
#include "domain/submission_terms.h"
#include "intake/store_health.h"
#include "store/forms/form_store.h"

namespace waybill {

// A form's submission as it was handed in, with the form as the registry has it at this moment.
struct NewForm {
  OrgId org;
  std::string submission_id;
  std::string form_id;
  std::string fields;            // the very bytes of the JSON object
  std::string attachments_json;  // the very bytes of the JSON array; "[]" if there was none
  std::vector<NewAttachment> attachments;
  std::optional<Timestamp> kept_until;
  bool finalize = false;
  Trace trace{};
  Terms terms{};
  std::shared_ptr<const Form> form;  // null: the registry has none of that id, or not any more
};

// The hash of all that makes it the same submission: form, fields, attachments, retention.
Sha256 content_hash(const NewForm& form);

// A submission of a form is a transaction of several statements, so it is stored at once, on a session of the caller; intents are
// grouped (intake.h). Safe from any thread.
class FormIntake {
 public:
  // `is_due` is called after each commit that may have made deliveries due; `health` learns how each call ended, unless null.
  FormIntake(const ActionTypes& types, std::function<void()> is_due, StoreHealth* health = nullptr)
      : types_(types), is_due_(std::move(is_due)), health_(health) {}

  // Error::invalid: no such form, or nothing that it takes, and no such submission from before. Error::conflict: an attachment
  // belongs to another submission. Error::unavailable: not acknowledged, though it may have been stored; submit the same again to
  // find out.
  Result<SubmitResult> submit(FormStore& store, const NewForm& form) const;
  // As FormStore has them.
  Result<std::optional<FormState>> finalize(FormStore& store, OrgId org, const std::string& submission_id) const;
  Result<std::optional<FormState>> scan(FormStore& store, OrgId org, const std::string& attachment, Scan result,
                                        const std::string& actor) const;

 private:
  Result<std::optional<FormState>> moved(Result<std::optional<FormState>> state) const;

  const ActionTypes& types_;
  const std::function<void()> is_due_;
  StoreHealth* const health_;
};

}  // namespace waybill
