// Loads the registry's forms; call it inside a transaction.
#pragma once

#include <span>

#include "store/forms/form_store.h"
#include "store/pg/pg.h"

namespace waybill {

Result<FormChanges> load_forms(Connection& connection, std::span<const Form> forms, const LoadActor& actor);

}  // namespace waybill
