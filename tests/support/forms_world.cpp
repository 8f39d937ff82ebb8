// The world of forms.
#include "support/forms_world.h"

#include "support/service_account.h"

namespace waybill::testing {

using nlohmann::json;

std::string form_action(int order, const std::string& type, const std::string& destination, const std::string& more) {
  return "  - {action_order: " + std::to_string(order) + ", action_type: " + type + ", destination: " + json(destination).dump() +
         (more.empty() ? "" : ", " + more) + "}\n";
}

std::string form_file(const std::string& id, const std::vector<std::string>& actions) {
  std::string text = "form_id: " + id + "\nname: The form " + id + "\nactions:\n";
  for (const auto& action : actions) text += action;
  return text;
}

FormsWorld::FormsWorld() {
  setup.plugins = {"email_template", "email_raw", "happyfox_template", "webhook"};
  setup.registry = registry_of({target("hook", "webhook", gateway.url(), "max_attempts", 3, {"gone"})});
  setup.forms["one.yaml"] = form_file("one", {form_action(1, "email_raw", "one@x.test")});
  setup.forms["three.yaml"] =
      form_file("three", {form_action(10, "email_template", "a@x.test, b@x.test",
                                      "template_id: hello, subject_template: \"Message from {{fields.name}}\""),
                          form_action(20, "email_raw", "raw@x.test"),
                          form_action(30, "happyfox_template", "support", "template_id: hello, happyfox_category: \"3\"")});
  setup.templates["hello.txt"] = "Hello {{fields.name}}\n{{#links}}{{name}}: {{{url}}}\n{{/links}}";
  setup.templates["hello.html"] = "<p>Hello {{fields.name}}</p>{{#links}}<a href=\"{{url}}\">{{name}}</a>{{/links}}";
  setup.templates["hello.subject"] = "Hello {{fields.name}}";
  relay_to(mail.url());
}

void FormsWorld::relay_to(const std::string& url) {
  relay_ = url;
  write_settings();
}

void FormsWorld::tickets_at(const std::string& url) {
  tickets_ = url;
  write_settings();
}

void FormsWorld::write_settings() {
  const std::string mail_settings = "{relay: \"" + relay_ + "\", from: \"Forms <forms@x.test>\"}";
  setup.more = "senders:\n  email_template: " + mail_settings + "\n  email_raw: " + mail_settings + "\n";
  if (!tickets_.empty())
    setup.more += "  happyfox_template: {base_url: \"" + tickets_ +
                  "\", insecure: true, api_key_secret: tickets, auth_code_secret: tickets}\n";
  write_file(keys_.path() / "links.json", service_account().json());
  write_file(keys_.path() / "tickets", "a key");
  const auto file = [&](const char* name) { return "{file: \"" + (keys_.path() / name).string() + "\"}"; };
  setup.more += "secrets: {links: " + file("links.json") + ", tickets: " + file("tickets") + "}\nlinks: {key: links}\n";
}

json FormsWorld::submission(const std::string& id, const std::string& form, json fields) {
  return {{"submissionId", id}, {"formId", form}, {"fields", std::move(fields)}, {"finalize", true}};
}

json FormsWorld::attachment(const std::string& id) {
  return {{"attachmentId", id},
          {"name", id + ".pdf"},
          {"contentType", "application/pdf"},
          {"size", 1234},
          {"objectUri", "gs://bucket/uploads/" + id}};
}

HttpResponse FormsWorld::hand_in(const json& body) { return client().request("POST", "/v1/submissions", body.dump()); }

HttpResponse FormsWorld::finalize(const std::string& id) {
  return client().request("POST", "/v1/submissions/" + escaped(id) + "/finalize", "");
}

HttpResponse FormsWorld::scan(const std::string& attachment, const std::string& result) {
  return client().request("POST", "/v1/attachments/" + escaped(attachment) + "/scan-result",
                          json{{"clamavStatus", result}}.dump());
}

json FormsWorld::submission_of(const std::string& id) {
  const auto response = client().get("/v1/submissions/" + escaped(id));
  if (response.status != 200)
    throw std::runtime_error("GET submission " + id + ": " + std::to_string(response.status) + " " + response.body);
  return response.json();
}

json FormsWorld::wait_for_form(const std::string& id) {
  json last;
  if (!eventually([&] {
        last = submission_of(id);
        return last.at("status") == "routed" || last.at("status") == "failed";
      }))
    ADD_FAILURE() << "submission " << id << " is still " << last.dump();
  return last;
}

std::string FormsWorld::routing(const json& submission) {
  std::map<int, std::string> words;
  for (const auto& [order, action] : submission.at("routingResult").items()) {
    std::string text = action.at("status");
    if (action.at("reason").is_string()) text += " " + action.at("reason").get<std::string>();
    words[std::stoi(order)] = text;
  }
  std::string all;
  for (const auto& [order, text] : words) all += (all.empty() ? "" : ", ") + text;
  return all;
}

std::vector<std::string> FormsWorld::audit(const json& submission) {
  std::vector<std::string> actions;
  for (const auto& row : submission.at("audit")) actions.push_back(row.at("action"));
  return actions;
}

}  // namespace waybill::testing
