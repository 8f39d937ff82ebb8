// Organisations as the wire and the command line show them.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "base/json_writer.h"
#include "http/http.h"
#include "store/organisations/org_store.h"

namespace waybill {

inline constexpr std::size_t kMaxOrgsListed = 1000;

struct OrgQuery {
  std::string after;
  std::size_t most = 100;
};

// All: Error::invalid with a message that names the field.
Result<OrgQuery> read_org_query(const http::Request& request);
Result<std::string> read_new_org(std::string_view body);       // its name
Result<std::uint32_t> read_org_change(std::string_view body);  // its weight
Result<std::uint32_t> read_org_weight(std::string_view text);

Json org_json(const OrgView& org);
Json org_page_json(const OrgPage& page);

}  // namespace waybill
