// A form's submission as the host hands it to a plugin.
#pragma once

#include <nlohmann/json.hpp>

#include "waybill/testkit.hpp"

namespace waybill::plugins::testing {

using Json = nlohmann::json;

inline Json attachment(const std::string& name, const std::string& object = "gs://bucket/a-1") {
  return {{"id", "a-1"}, {"name", name}, {"contentType", "application/pdf"}, {"size", 1234}, {"objectUri", object}};
}

inline Json contact_form() {
  return {{"org", 1},
          {"kind", "form"},
          {"reference", "s-1"},
          {"form", {{"id", "contact"}, {"name", "Contact us"}}},
          {"fields", {{"name", "Ann"}, {"message", "Hello"}}},
          {"createdAt", "2026-03-01T11:59:00Z"},
          {"attachments", Json::array()}};
}

inline testkit::Job form_job(const Json& destination, const Json& context = contact_form()) {
  testkit::Job job;
  job.destination = destination.dump();
  job.context = context.dump();
  job.idempotency_key = "1:s-1:2";
  return job;
}

}  // namespace waybill::plugins::testing
