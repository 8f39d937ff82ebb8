// Whatever a stranger hands in as a form, or an operator writes into its file: exactly the intended mail arrives, or a clear
// refusal.
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <set>

#include "base/names.h"
#include "common/tests/hostile_texts.h"
#include "support/forms_world.h"

namespace waybill::testing {
namespace {

using nlohmann::json;
using plugins::testing::as_lines;
using plugins::testing::as_one_line;
using plugins::testing::hostile_texts;
using Words = std::vector<std::string>;

struct Arrived {
  Words recipients;  // of the envelope
  ParsedMail mail;
};

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size()) text.replace(at, what.size(), by);
  return text;
}

// As the parser hands out the text that was meant by `text`.
std::string text_of(const std::string& text) { return replaced(as_lines(text), "\r\n", "\n"); }

std::string unescaped(std::string html) {
  for (const auto& [escape, character] :
       {std::pair{"&lt;", "<"}, {"&gt;", ">"}, {"&quot;", "\""}, {"&#39;", "'"}, {"&amp;", "&"}})
    html = replaced(std::move(html), escape, character);
  return html;
}

std::string or_unnamed(const std::string& text) { return text.empty() ? "(unnamed)" : text; }

// What submissionId and the texts of an attachment must be.
bool is_reference(const std::string& text) { return !text.empty() && text.size() <= 255 && !has_control_character(text); }

class HostileForms : public FormsWorld {
 protected:
  HostileForms() {
    EXPECT_EQ(texts.size(), 500u);
    setup.templates["values.txt"] = "{{fields.text}}";
    setup.templates["values.html"] = "{{fields.text}}";
    setup.templates["all.txt"] = "{{fields}}";
    setup.forms["values.yaml"] = form_file(
        "values", {form_action(1, "email_template", "to@x.test", "template_id: values, subject_template: \"{{fields.text}}\"")});
    setup.forms["all.yaml"] = form_file("all", {form_action(1, "email_raw", "to@x.test", "template_id: all")});
    setup.forms["plain.yaml"] = form_file("plain", {form_action(1, "email_raw", "to@x.test")});
  }

  void wait_for_all() {
    EXPECT_TRUE(
        eventually([&] { return sql().number("SELECT count(*) FROM waybill.submission_states WHERE completed_at IS NULL") == 0; },
                   std::chrono::seconds(300)));
  }

  // All that arrived, each well-formed and with our headers and no other.
  std::vector<Arrived> arrived() const {
    const auto received = mail.received();
    Words bytes;
    for (const auto& one : received) bytes.push_back(one.data);
    const auto parsed = parse_mails(bytes);
    std::vector<Arrived> all;
    for (std::size_t i = 0; i < received.size(); ++i) {
      SCOPED_TRACE(bytes[i].substr(0, 300));
      EXPECT_EQ(received[i].from, "forms@x.test");
      EXPECT_EQ(parsed[i].defects, Words{});
      Words names;
      for (const auto& [name, value] : parsed[i].headers) names.push_back(name);
      EXPECT_EQ(names, (Words{"From", "To", "Subject", "Date", "Message-ID", "Auto-Submitted", "X-Submission", "MIME-Version",
                              "Content-Type"}));
      EXPECT_EQ(parsed[i].from, "forms@x.test");
      EXPECT_EQ(parsed[i].to, received[i].recipients);
      all.push_back({received[i].recipients, parsed[i]});
    }
    return all;
  }

  // The same by submission, where each made one at the most.
  std::map<std::string, Arrived> arrived_by_submission() const {
    std::map<std::string, Arrived> by;
    for (auto& one : arrived()) {
      const auto id = one.mail.header("X-Submission");
      EXPECT_TRUE(by.emplace(id, std::move(one)).second) << id << " made two mails";
    }
    return by;
  }

  void expect_refused(const HttpResponse& response, const std::string& field) {
    EXPECT_EQ(response.status, 400) << response.body.substr(0, 300);
    EXPECT_EQ(response.error_code(), "invalid_request");
    EXPECT_NE(response.error_message().find(field), std::string::npos) << response.error_message();
  }

  const Words texts = hostile_texts();
};

// F8
TEST_F(HostileForms, ValuesOfFieldsComeOutInSubjectsAndTextsAsTheyWereMeant) {
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const auto response = hand_in(submission("s-" + std::to_string(i), "values", {{"text", texts[i]}}));
    ASSERT_EQ(response.status, 201) << i << " " << response.body.substr(0, 300);
  }
  wait_for_all();
  const auto by = arrived_by_submission();
  ASSERT_EQ(by.size(), texts.size());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    SCOPED_TRACE(i);
    const auto id = "s-" + std::to_string(i);
    const auto& [recipients, read] = by.at(id);
    const auto subject = as_one_line(texts[i], 500);
    EXPECT_EQ(recipients, Words{"to@x.test"});
    EXPECT_EQ(read.subject, subject.empty() ? "Form The form values: submission " + id : subject);
    ASSERT_EQ(read.parts.size(), 2u);
    EXPECT_EQ(read.parts[0].content_type, "text/plain");
    EXPECT_EQ(read.parts[0].text, text_of(texts[i]));
    EXPECT_EQ(read.parts[1].content_type, "text/html");
    EXPECT_EQ(read.parts[1].text.find_first_of("<>\""), std::string::npos);
    EXPECT_EQ(unescaped(read.parts[1].text), text_of(texts[i]));
  }
}

// F8
TEST_F(HostileForms, NamesOfFieldsAreNoMoreThanNames) {
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const auto response = hand_in(submission("s-" + std::to_string(i), "all", {{texts[i], texts[i]}, {"more", i}}));
    ASSERT_EQ(response.status, 201) << i << " " << response.body.substr(0, 300);
  }
  wait_for_all();
  const auto by = arrived_by_submission();
  ASSERT_EQ(by.size(), texts.size());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    SCOPED_TRACE(i);
    const auto& [recipients, read] = by.at("s-" + std::to_string(i));
    EXPECT_EQ(recipients, Words{"to@x.test"});
    ASSERT_EQ(read.parts.size(), 1u);
    EXPECT_EQ(json::parse(read.parts[0].text, nullptr, false), (json{{texts[i], texts[i]}, {"more", i}}));
  }
}

// F4 F8
TEST_F(HostileForms, IdsOfSubmissionsAreTakenAsTheyAreOrRefused) {
  std::multiset<Words> meant, told;  // the submission's header, the subject, the text
  for (const auto& text : texts) {
    const auto response = hand_in(submission(text, "plain"));
    if (!is_reference(text)) {
      expect_refused(response, "submissionId");
      continue;
    }
    ASSERT_EQ(response.status, 201) << response.body;
    EXPECT_EQ(submission_of(text).at("submissionId"), text);
    const auto id = as_one_line(text, 500);
    meant.insert({id, as_one_line("Form The form plain: submission " + text, 500),
                  "A form was submitted; details to follow.\n\nSubmission: " + id + "\nForm: The form plain\n"});
  }
  EXPECT_GT(meant.size(), 20u);
  wait_for_all();
  for (const auto& [recipients, read] : arrived()) {
    EXPECT_EQ(recipients, Words{"to@x.test"});
    told.insert({read.header("X-Submission"), read.subject, read.parts.at(0).text});
  }
  EXPECT_EQ(told, meant);
}

// F4 F8
TEST_F(HostileForms, NamesAndIdsOfAttachmentsStayOnTheirLineOrAreRefused) {
  std::size_t taken = 0;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    auto body = submission("s-" + std::to_string(i), "plain");
    auto one = attachment("a-" + std::to_string(i));
    for (const auto* field : {"attachmentId", "name", "contentType"}) {
      auto spoilt = one;
      spoilt[field] = texts[i];
      body["attachments"] = {spoilt};
      if (!is_reference(texts[i])) expect_refused(hand_in(body), std::string("attachments[0].") + field);
    }
    if (!is_reference(texts[i])) continue;
    ++taken;
    one["attachmentId"] = one["name"] = one["contentType"] = texts[i];
    body["attachments"] = {one};
    const auto response = hand_in(body);
    ASSERT_EQ(response.status, 201) << response.body;
    EXPECT_EQ(scan(texts[i], "clean").status, 200) << texts[i];
  }
  wait_for_all();
  const auto by = arrived_by_submission();
  EXPECT_EQ(by.size(), taken);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (!is_reference(texts[i])) continue;
    const auto& text = by.at("s-" + std::to_string(i)).mail.parts.at(0).text;
    EXPECT_NE(text.find("\nAttachments:\n- " + or_unnamed(as_one_line(texts[i], 200)) + " (1234 bytes, until "),
              std::string::npos)
        << text;
  }
}

// F4 F8 D2
TEST_F(HostileForms, ObjectsOfAttachmentsAreLinkedToAsTheyAreOrRefused) {
  static const std::regex kLink("\n  https://storage\\.googleapis\\.com/bucket/[A-Za-z0-9._~%/?&=-]+\n");
  std::set<std::string> taken;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const auto id = std::to_string(i);
    auto body = submission("s-" + id, "plain");
    auto one = attachment("a-" + id);
    one["objectUri"] = "gs://bucket/" + texts[i];
    body["attachments"] = {one};
    const auto response = hand_in(body);
    if (response.status == 201) {
      EXPECT_EQ(scan("a-" + id, "clean").status, 200);
      taken.insert("s-" + id);
    } else {
      expect_refused(response, "attachments[0].objectUri");
    }
  }
  EXPECT_GT(taken.size(), 20u);
  wait_for_all();
  const auto by = arrived_by_submission();
  for (const auto& id : taken) {
    EXPECT_EQ(routing(submission_of(id)), "accepted") << id << ": what could have no link was refused";
    ASSERT_TRUE(by.contains(id)) << id;
    EXPECT_TRUE(std::regex_search(by.at(id).mail.parts.at(0).text, kLink)) << by.at(id).mail.parts.at(0).text;
  }
}

// F4
TEST_F(HostileForms, NoTextIsTakenForAForm) {
  for (const auto& text : texts) expect_refused(hand_in(submission("s-1", text)), "formId");
  EXPECT_EQ(sql().number("SELECT count(*) FROM waybill.submissions"), 0);
}

// F4
TEST_F(HostileForms, WhatIsNoUnicodeIsRefused) {
  for (const std::string bad :
       {R"(\ud800)", R"(\udc00)", R"(\ud800\ud800)", "\xff", "\xc3", "\xed\xa0\x80", "\xc0\x80", "\xf5\x80\x80\x80"})
    expect_refused(client().request("POST", "/v1/submissions",
                                    R"({"submissionId":"s-1","formId":"values","fields":{"text":"a)" + bad + R"(b"}})"),
                   "JSON");
  EXPECT_EQ(sql().number("SELECT count(*) FROM waybill.submissions"), 0);
}

// ---- what an operator may write into a form's file ----

class HostileFiles : public HostileForms {
 protected:
  void add(const std::string& id, const std::string& name, const std::string& destination, const std::string& subject = {}) {
    const auto quoted = [](const std::string& text) { return json(text).dump(); };
    files.insert(id);
    setup.forms[id + ".yaml"] =
        "form_id: " + id + "\nname: " + quoted(name) + "\nactions:\n" +
        form_action(1, "email_raw", destination, subject.empty() ? "" : "subject_template: " + quoted(subject));
  }

  // Takes out those that `waybill check` refuses, each with its place; then it finds nothing wrong. A mail of every other.
  std::map<std::string, Arrived> mails_of_those_that_load() {
    static const std::regex kPlace(R"(([a-z]+-[0-9-]+)\.yaml:([0-9]+))");
    for (;;) {  // it names the first hundred at a time
      const auto checked = installation().command({"check"});
      const auto said = checked.out + checked.err;
      const std::sregex_iterator first(said.begin(), said.end(), kPlace);
      if (checked.exit_code == 0 || first == std::sregex_iterator()) {
        EXPECT_EQ(checked.exit_code, 0) << said.substr(0, 1000);
        break;
      }
      for (auto it = first; it != std::sregex_iterator(); ++it) {
        std::filesystem::remove(installation().folder() / "registry/forms" / ((*it)[1].str() + ".yaml"));
        files.erase((*it)[1]);
      }
    }
    for (const auto& id : files) {
      const auto response = hand_in(submission(id, id));
      EXPECT_EQ(response.status, 201) << id << " " << response.body;
    }
    wait_for_all();
    return arrived_by_submission();
  }

  std::set<std::string> files;
};

// F8 F10
TEST_F(HostileFiles, RecipientsAreRefusedWhenTheFileIsReadOrAreExactlyThose) {
  std::map<std::string, std::string> addresses;  // what may be the recipient
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const auto& text = texts[i];
    const auto quoted = replaced(replaced(text, "\\", "\\\\"), "\"", "\\\"");
    int row = 0;
    for (const auto& [list, address] : {std::pair{text, text},
                                        {text + " <a@x.test>", "a@x.test"},
                                        {text + "@x.test", text + "@x.test"},
                                        {"a@" + text, "a@" + text},
                                        {'"' + quoted + "\" <a@x.test>", "a@x.test"}}) {
      const auto id = "to-" + std::to_string(i) + "-" + std::to_string(row++);
      add(id, "A form", list);
      addresses[id] = address;
    }
  }
  const auto by = mails_of_those_that_load();
  EXPECT_GT(files.size(), 40u);
  EXPECT_LT(files.size(), 1000u) << "most are no addresses";
  EXPECT_EQ(by.size(), files.size()) << "a mail of each";
  for (const auto& [id, one] : by) {
    ASSERT_EQ(one.recipients.size(), 1u) << id;
    EXPECT_NE(addresses.at(id).find(one.recipients[0]), std::string::npos) << id << " " << one.recipients[0];
  }
}

// F8 F10 D2: a subject that is no template is refused with its file
TEST_F(HostileFiles, NamesOfFormsAndTemplatesOfSubjectsStayOnTheirLineOrAreRefused) {
  for (std::size_t i = 0; i < texts.size(); ++i) {
    add("name-" + std::to_string(i), texts[i], "to@x.test");
    add("subject-" + std::to_string(i), "A form", "to@x.test", texts[i]);
  }
  const auto by = mails_of_those_that_load();
  EXPECT_GT(files.size(), 50u);
  for (const auto& id : files) {
    SCOPED_TRACE(id);
    const auto& text = texts.at(std::stoul(id.substr(id.find('-') + 1)));
    const bool is_name = id.starts_with("name");
    ASSERT_TRUE(by.contains(id));
    const auto& [recipients, read] = by.at(id);
    EXPECT_EQ(recipients, Words{"to@x.test"});
    const auto name = is_name ? or_unnamed(as_one_line(text, 500)) : "A form";
    EXPECT_EQ(read.parts.at(0).text, "A form was submitted; details to follow.\n\nSubmission: " + id + "\nForm: " + name + "\n");
    const auto subject = is_name ? "" : as_one_line(text, 500);
    if (is_name || text.find("{{") == std::string::npos) {
      EXPECT_EQ(read.subject, subject.empty() ? as_one_line("Form " + name + ": submission " + id, 500) : subject);
    }
  }
}

}  // namespace
}  // namespace waybill::testing
