// What acting on a dead letter needs beyond the database: the plugin's opinion of a destination, and the contracts of today. For
// the routes and the command line alike.
#pragma once

#include <string>

#include "registry/registry.h"
#include "store/operations/dead_store.h"

namespace waybill {

// Who acts on which letter.
struct ServiceCall {
  OrgId org;
  DeliveryId id;
  std::string actor;
};

// Error::invalid when the plugin does not accept the destination; else as the store answers.
Result<void> edit_letter(DeadStore& store, const ActionTypes& types, const ServiceCall& call, const DeadLetterEdit& edit);

// With all actions that its form has now, or the contract that its target has now. Error::conflict when there is no such form or
// target any more.
Result<CloneResult> clone_letter(DeadStore& store, const Registry& registry, const ActionTypes& types, const ServiceCall& call,
                                 const std::string& reference);

}  // namespace waybill
