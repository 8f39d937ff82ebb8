// What a plugin is told of a job.
#include "domain/job.h"

#include "base/json_writer.h"

namespace waybill {

std::string context_of(OrgId org, std::string_view kind, std::string_view client_ref, const Contract& contract, Timestamp created,
                       std::string_view payload) {
  std::string context;
  context.reserve(64 + kind.size() + client_ref.size());  // all of an intent's
  context.append("{\"org\":").append(std::to_string(org.value)).append(",\"kind\":\"").append(kind).append("\",\"reference\":");
  append_json_string(context, client_ref);
  if (contract.is_of_form())
    context += ",\"form\":{\"id\":\"" + contract.form_id + "\",\"name\":" + json_string(contract.form_name) +
               "},\"createdAt\":\"" + format_rfc3339(created) + "\"," + std::string(payload.substr(1));
  else
    context += "}";
  return context;
}

}  // namespace waybill
