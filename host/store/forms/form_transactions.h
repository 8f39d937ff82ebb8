// The transactions of forms' submissions on their way in, and reading one back. Call each inside a transaction.
#pragma once

#include <optional>
#include <string>

#include "store/forms/form_store.h"
#include "store/pg/pg.h"

namespace waybill {

// `kept`: the retention of a submission that names none.
Result<SubmitResult> submit_form(Connection& connection, Shard shard, const NewFormSubmission& submission, Millis kept);
Result<std::optional<FormState>> finalize_form(Connection& connection, Shard shard, OrgId org, const std::string& client_ref);
Result<std::optional<FormState>> scan_attachment(Connection& connection, OrgId org, const std::string& attachment, Scan result,
                                                 const std::string& actor);

Result<std::optional<FormView>> read_form(Connection& connection, Shard shard, OrgId org, const std::string& client_ref);

}  // namespace waybill
