// What a form's file says about its mail, on a running host.
#include <gtest/gtest.h>

#include "support/forms_world.h"

namespace waybill::testing {
namespace {

using nlohmann::json;
using Words = std::vector<std::string>;

class FormMail : public FormsWorld {
 protected:
  std::string refusal(const HttpResponse& response) {
    return std::to_string(response.status) + " " + response.json().at("error").at("message").get<std::string>();
  }
};

// D1
TEST_F(FormMail, AnAttachmentWithoutAKeyForLinksHoldsUpNobodyElsesMail) {
  setup.more.erase(setup.more.find("links: {key: links}"));
  setup.forms["other.yaml"] = form_file("other", {form_action(1, "email_raw", "other@x.test")});
  auto body = submission("with", "one");
  body["attachments"] = json::array({attachment("a-1")});
  EXPECT_EQ(hand_in(body).status, 201);
  EXPECT_EQ(scan("a-1", "clean").json().at("status"), "processing");
  json with;
  ASSERT_TRUE(eventually([&] {
    return (with = submission_of("with")).at("deliveries").at(0).at("attempts") > 0 || with.at("status") != "processing" ||
           sql().number("SELECT count(*) FROM waybill.target_rests") > 0;
  })) << with;
  EXPECT_EQ(hand_in(submission("without", "other")).status, 201);
  EXPECT_EQ(routing(wait_for_form("without")), "accepted");
  EXPECT_EQ(routing(wait_for_form("with")), "exhausted max_attempts") << "it fails alone";
  EXPECT_EQ(sql().number("SELECT count(*) FROM waybill.target_rests"), 0) << "the sender of all forms does not cool down";
  EXPECT_EQ(sql().text("SELECT DISTINCT error FROM waybill.attempts WHERE outcome = 'error'"),
            "no_link_key: this host has no key to sign links to attachments with (links.key)");
}

// D2
TEST_F(FormMail, WhatCouldOnlyFailLaterIsRefusedAndNothingIsStored) {
  auto body = submission("s-1", "one");
  for (const char* uri : {"gs://Bucket/a", "gs://10.0.0.1/a", "gs://user@bucket/a", "gs://goog-bucket/a", "gs://a..b/c",
                          "gs://bucket/a/../b", "gs://bucket/./a", "gs://ab/c"}) {
    auto one = attachment("a-1");
    one["objectUri"] = uri;
    body["attachments"] = json::array({one});
    EXPECT_TRUE(refusal(hand_in(body)).starts_with("400 attachments[0].objectUri must be gs://BUCKET/OBJECT")) << uri;
  }
  body = submission("s-1", "one");
  body["retentionExpiresAt"] = "2020-01-01T00:00:00Z";
  EXPECT_TRUE(refusal(hand_in(body)).starts_with("400 retentionExpiresAt is past: 2020-01-01T00:00:00.000000Z is not after "))
      << refusal(hand_in(body));
  const auto doubled = client().request("POST", "/v1/submissions",
                                        R"({"submissionId":"s-1","formId":"one","fields":{"to":{"email":"a","email":"b"}}})");
  EXPECT_TRUE(refusal(doubled).starts_with("400 fields: ")) << doubled.body;
  EXPECT_NE(doubled.body.find("email"), std::string::npos) << "the name that stands twice is told";
  EXPECT_EQ(sql().number("SELECT (SELECT count(*) FROM waybill.submissions) + (SELECT count(*) FROM waybill.ready)"), 0);

  installation().write_form(
      "bad.yaml", form_file("bad", {form_action(1, "email_raw", "a@x.test", "subject_template: \"From {{fields.name\"")}));
  const auto checked = installation().command({"check"});
  EXPECT_EQ(checked.exit_code, 1);
  EXPECT_NE(checked.err.find("bad.yaml:4: actions[0].subject_template: a tag is not closed"), std::string::npos) << checked.err;
  const auto reloaded = client().request("POST", "/v1/admin/reload", "");
  EXPECT_EQ(reloaded.status, 422);
  EXPECT_NE(reloaded.body.find("actions[0].subject_template"), std::string::npos) << reloaded.body;
}

}  // namespace
}  // namespace waybill::testing
