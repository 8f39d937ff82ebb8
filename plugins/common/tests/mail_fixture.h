// A sender of mail on the fake host. The including test defines `kMailType`.
#pragma once

#include "common/tests/form_jobs.h"
#include "common/tests/mail_reader.h"

namespace waybill::plugins::testing {

extern const char* const kMailType;

using testkit::Answer;
using testkit::MailAnswer;
using testkit::Outcome;

class MailTest : public ::testing::Test {
 protected:
  MailTest() { host_.set_unix_seconds(1'772'366'400); }  // Sun, 1 March 2026, 12:00 UTC

  Outcome composed(const Json& destination, const Json& context = contact_form()) {
    return sender_->compose(form_job(destination, context));
  }
  Json mail(const Json& destination, const Json& context = contact_form()) {
    const auto o = composed(destination, context);
    EXPECT_EQ(o.verdict, WB_ACCEPTED) << o;
    EXPECT_EQ(o.artifact_type, "message/rfc822");
    const auto read = read_mail(o.artifact);
    if (o.artifact.empty() || read.empty()) return Json::object();
    expect_well_formed(read);
    return read;
  }
  Outcome sent(const MailAnswer& answer, const std::string& progress = {}) {
    host_.mail_answer(answer);
    auto job = form_job({{"destination", "a@x.test, b@x.test, c@x.test"}});
    job.progress = progress;
    return sender_->attempt(job);
  }
  void expect_refused(const Outcome& o, const std::string& reason, const std::string& detail) {
    EXPECT_EQ(o.verdict, WB_REJECTED) << o;
    EXPECT_EQ(o.reason, reason) << o;
    EXPECT_EQ(o.reach, WB_NOT_SENT) << o;
    EXPECT_NE(o.detail.find(detail), std::string::npos) << o;
    EXPECT_TRUE(host_.mails().empty());
  }

  testkit::FakeHost host_{wb_plugin_v1()};
  std::unique_ptr<testkit::FakeSender> sender_ = host_.make_sender(kMailType, R"({"from":"Forms <forms@example.org>"})");
};

}  // namespace waybill::plugins::testing
