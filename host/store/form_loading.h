// Loads the registry's forms; call it inside a transaction.
#pragma once

#include <span>

#include "store/forms.h"

namespace waybill {

Result<LoadedForms> load_forms(Connection& connection, std::span<const Form> forms, const LoadActor& actor);

}  // namespace waybill
