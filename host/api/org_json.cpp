// Reading and writing the surface of organisations.
#include "api/org_json.h"

#include <nlohmann/json.hpp>

#include "api/integer.h"
#include "api/json_answer.h"
#include "api/json_object.h"
#include "api/query.h"
#include "domain/org_weights.h"

namespace waybill {

Result<OrgQuery> read_org_query(const http::Request& request) {
  OrgQuery query;
  const auto cursor = request.query_value("cursor");
  if (cursor && cursor->empty()) return fail(Error::Kind::invalid, "cursor must be the \"next\" of an answer");
  query.after = cursor.value_or("");
  const auto most = limit_in(request, query.most, kMaxOrgsListed);
  TRY(most);
  query.most = *most;
  return query;
}

Result<std::string> read_new_org(std::string_view body) {
  const auto object = JsonObject::parse(body, {"name"});
  TRY(object);
  return object->string("name");
}

Result<std::uint32_t> read_org_change(std::string_view body) {
  const auto object = JsonObject::parse(body, {"weight"});
  TRY(object);
  return read_org_weight(object->raw("weight"));
}

Result<std::uint32_t> read_org_weight(std::string_view text) {
  const auto weight = whole_number<std::uint32_t>(text);
  if (!weight || *weight < 1 || *weight > kMaxOrgWeight)
    return fail(Error::Kind::invalid, "weight must be a whole number from 1 to " + std::to_string(kMaxOrgWeight));
  return *weight;
}

Json org_json(const OrgView& org) {
  return {{"name", org.name},
          {"createdAt", format_rfc3339(org.created)},
          {"disabledAt", time_or_null(org.disabled)},
          {"weight", org.weight},
          {"tokens", org.tokens}};
}

Json org_page_json(const OrgPage& page) {
  Json items = Json::array();
  for (const auto& org : page.organisations) items.push_back(org_json(org));
  return {{"items", std::move(items)}, {"next", text_or_null(page.next)}};
}

}  // namespace waybill
