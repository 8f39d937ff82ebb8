// A host with forms whose mail goes to a server of the test's own.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/parsed_mail.h"
#include "support/smtp_sink.h"
#include "support/world.h"

namespace waybill::testing {

// One action of a form, as a line of its file.
std::string form_action(int order, const std::string& type, const std::string& destination, const std::string& more = {});
std::string form_file(const std::string& id, const std::vector<std::string>& actions);

// Forms of the registry, all with mail to `mail`:
//   one   email_raw to one@x.test
//   three email_template to a@x.test and b@x.test with template "hello", email_raw to raw@x.test, happyfox_template (not
//   configured)
// Links to attachments are signed with a key of this world's own.
class FormsWorld : public World {
 protected:
  FormsWorld();
  // Where mail goes instead, and where tickets do; before the host is first used.
  void relay_to(const std::string& url);
  void tickets_at(const std::string& url);

  static nlohmann::json submission(const std::string& id, const std::string& form, nlohmann::json fields = {{"name", "Zoë"}});
  static nlohmann::json attachment(const std::string& id);
  HttpResponse hand_in(const nlohmann::json& body);
  HttpResponse finalize(const std::string& id);
  HttpResponse scan(const std::string& attachment, const std::string& result);
  nlohmann::json submission_of(const std::string& id);
  nlohmann::json wait_for_form(const std::string& id);  // until it is routed or failed
  static std::string routing(
      const nlohmann::json& submission);  // "accepted, rejected invalid_recipient, deferred not_configured"
  static std::vector<std::string> audit(const nlohmann::json& submission);

  SmtpSink mail;

 private:
  void write_settings();

  TempFolder keys_;
  std::string relay_;
  std::string tickets_;  // "": happyfox_template is not configured
};

}  // namespace waybill::testing
