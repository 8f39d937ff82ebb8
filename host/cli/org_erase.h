// `waybill org erase`: a disabled organisation, from every table.
#pragma once

#include <string>

#include "app/installation.h"

namespace waybill {

struct EraseOptions {
  std::string org, confirmed, certificate;
  std::string actor;  // for the audit; "" for the user's name
};

int erase_org(const GlobalOptions& options, const EraseOptions& wanted);

}  // namespace waybill
