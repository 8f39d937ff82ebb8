// clients/tests/misbehaving.py as a process: a server that does what a script says, one step a request.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "support/http_client.h"
#include "support/process.h"
#include "support/temp_folder.h"

namespace waybill::client::testing {

using Json = nlohmann::json;

// A step's answer.
inline Json answer(int status, const Json& body, const Json& headers = Json::object()) {
  return Json::array({status, body, headers});
}
inline Json problem(int status, const std::string& code = "unavailable", const Json& headers = Json::object()) {
  return answer(status, {{"error", {{"code", code}, {"message", "payload.to: is missing"}}}}, headers);
}

class MisbehavingServer {
 public:
  explicit MisbehavingServer(const Json& script = Json::array())
      : process_({.arguments = {"/usr/bin/python3", "-B", WAYBILL_MISBEHAVING}, .out = out()}) {
    waybill::testing::eventually([&] { return waybill::testing::read_file(out()).ends_with('\n'); });
    port_ = static_cast<std::uint16_t>(std::stoi(waybill::testing::read_file(out())));
    then(script);
  }

  std::string url() const { return "http://localhost:" + std::to_string(port_); }
  void then(const Json& script) { waybill::testing::HttpClient(port_).request("POST", "/control", script.dump()); }
  // Each with connection, method, target, headers (by names in small letters) and body.
  Json requests() const { return waybill::testing::HttpClient(port_).get("/control").json().at("requests"); }

 private:
  std::filesystem::path out() const { return folder_.path() / "out"; }

  waybill::testing::TempFolder folder_;
  waybill::testing::Process process_;
  std::uint16_t port_ = 0;
};

}  // namespace waybill::client::testing
