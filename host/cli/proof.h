// `waybill proof`: what was sent for a submission, from the record. No host need run.
#pragma once

#include <string>

#include "app/installation.h"

namespace waybill {

struct ProofOptions {
  std::string org = "default";
  std::string id;
  std::string kind;  // "": any but a notification
};

int prove(const GlobalOptions& options, const ProofOptions& wanted);

}  // namespace waybill
