// What a plugin is told of a job.
#include "core/job.h"

namespace waybill {

std::string context_of(OrgId org, std::string_view kind, std::string_view client_ref) {
  std::string reference;
  for (const char c : client_ref) {
    if (c == '"' || c == '\\') reference += '\\';
    reference += c;
  }
  return "{\"org\":" + std::to_string(org.value) + ",\"kind\":\"" + std::string(kind) + "\",\"reference\":\"" + reference + "\"}";
}

}  // namespace waybill
