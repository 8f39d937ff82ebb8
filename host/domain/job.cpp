// What a plugin is told of a job.
#include "domain/job.h"

namespace waybill {

namespace {

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

}  // namespace

std::string context_of(OrgId org, std::string_view kind, std::string_view client_ref, const Contract& contract, Timestamp created,
                       std::string_view payload) {
  std::string context = "{\"org\":" + std::to_string(org.value) + ",\"kind\":\"" + std::string(kind) + "\",\"reference\":\"" +
                        escaped(client_ref) + "\"";
  if (contract.is_of_form())
    context += ",\"form\":{\"id\":\"" + contract.form_id + "\",\"name\":\"" + escaped(contract.form_name) +
               "\"},\"createdAt\":\"" + format_rfc3339(created) + "\"," + std::string(payload.substr(1));
  else
    context += "}";
  return context;
}

}  // namespace waybill
