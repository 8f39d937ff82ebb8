// The services that a host offers, by id: in the host and in a plugin's process.
#pragma once

#include <waybill/plugin.h>

#include <string_view>

namespace waybill {

struct ServiceTables {
  wb_http_service http;
  wb_timer_service timer;
  wb_sign_service sign;
  wb_sign2_service signatures;
  wb_secret_service secrets;
  wb_oauth2_service oauth2;
  wb_template_service templates;
  wb_link_service links;
  wb_smtp_service mail;
  wb_counter_service counters;

  const void* find(std::string_view id) const;  // null: there is none
};

}  // namespace waybill
