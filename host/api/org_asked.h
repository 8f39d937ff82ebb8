// Whose things an administrator or an operator asks for.
#pragma once

#include <optional>
#include <string>

#include "api/form_pool.h"
#include "http/http.h"
#include "store/operations/operator_word.h"

namespace waybill {

// Who acts, for the audit.
inline Operator through_api(const http::Request& request) { return {request.principal.actor(), "api"}; }

// Of the organisation of this name, which only operators may name where it is not their own; of the caller's own without a name.
// Error::not_found: there is none of this name, as far as the caller may know.
inline Result<OrgId> org_asked(FormSession& session, const http::Principal& who, const std::optional<std::string>& name) {
  if (!name || *name == who.org_name) return who.org;
  const auto unknown = "there is no organisation \"" + *name + "\"";
  if (who.role < http::Role::operator_) return fail(Error::Kind::not_found, unknown);
  const auto found = session.waiting->organisation(*name);
  TRY(found);
  return *found ? Result<OrgId>(**found) : fail(Error::Kind::not_found, unknown);
}

}  // namespace waybill
