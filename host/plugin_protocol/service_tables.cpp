// Ids of services.
#include "plugin_protocol/service_tables.h"

namespace waybill {

const void* ServiceTables::find(std::string_view id) const {
  if (id == WB_HTTP_SERVICE) return &http;
  if (id == WB_TIMER_SERVICE) return &timer;
  if (id == WB_SIGN_SERVICE) return &sign;
  if (id == WB_SIGN2_SERVICE) return &signatures;
  if (id == WB_SECRET_SERVICE) return &secrets;
  if (id == WB_OAUTH2_SERVICE) return &oauth2;
  if (id == WB_TEMPLATE_SERVICE) return &templates;
  if (id == WB_LINK_SERVICE) return &links;
  if (id == WB_SMTP_SERVICE) return &mail;
  if (id == WB_COUNTER_SERVICE) return &counters;
  return nullptr;
}

}  // namespace waybill
