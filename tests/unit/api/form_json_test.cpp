// Bodies of the form surface: what is wrong is named, by its place.  F4
#include "api/form_json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace waybill {
namespace {

using nlohmann::json;

const json kAttachment{{"attachmentId", "a-1"},
                       {"name", "cv.pdf"},
                       {"contentType", "application/pdf"},
                       {"size", 1234},
                       {"objectUri", "gs://bucket/key"}};

json good() {
  return {
      {"submissionId", "s-1"}, {"formId", "contact"}, {"fields", {{"name", "Zoë"}}}, {"attachments", json::array({kAttachment})}};
}
json with(const char* field, const json& value) {
  json body = good();
  body[field] = value;
  return body;
}
json with_attachment(const char* field, const json& value) {
  json attachment = kAttachment;
  attachment[field] = value;
  return with("attachments", json::array({kAttachment, attachment}));
}
json without_attachment(const char* field) {
  json attachment = kAttachment;
  attachment.erase(field);
  return with("attachments", json::array({attachment}));
}

TEST(FormRequests, AreReadWhole) {  // F4
  const auto read = read_form_request(
      R"({"submissionId":"s-1","formId":"contact","fields":{"a": "\u0000 b"},"attachments":[],"retentionExpiresAt":"2027-01-15T08:00:00Z","finalize":true})");
  ASSERT_TRUE(read) << read.error().what;
  EXPECT_EQ(read->submission_id, "s-1");
  EXPECT_EQ(read->form_id, "contact");
  EXPECT_EQ(read->fields, R"({"a": "\u0000 b"})");  // byte for byte
  EXPECT_EQ(read->kept_until, (Timestamp{1'800'000'000'000'000}));
  EXPECT_TRUE(read->finalize);
  const auto attached = read_form_request(good().dump());
  ASSERT_TRUE(attached) << attached.error().what;
  ASSERT_EQ(attached->attachments.size(), 1u);
  EXPECT_EQ(attached->attachments[0].size, 1234);
  EXPECT_EQ(attached->attachments[0].object_uri, "gs://bucket/key");
  EXPECT_FALSE(attached->finalize);
  EXPECT_FALSE(attached->kept_until);
}

TEST(FormRequests, NameWhatIsWrongByItsPlace) {  // F4 D2
  json twice = with("attachments", json::array({kAttachment, kAttachment}));
  json no_fields = good();
  no_fields.erase("fields");
  json many = json::array();
  for (std::size_t i = 0; i <= kMaxAttachments; ++i) many.push_back(kAttachment);
  const std::vector<std::pair<std::string, std::string>> cases{
      {"[]", "the body must be a JSON object, not an array"},
      {with("submissionId", 7).dump(), "submissionId must be a string"},
      {with("submissionId", "").dump(), "submissionId must not be empty"},
      {with("submissionId", "a\nb").dump(), "submissionId must not hold control characters"},
      {with("formId", nullptr).dump(), "formId must be a string"},
      {no_fields.dump(), "fields is missing"},
      {with("fields", json::array()).dump(), "fields must be an object"},
      {with("fields", "x").dump(), "fields must be an object"},
      {with("colour", 1).dump(), "unknown field \"colour\""},
      {with("finalize", "yes").dump(), "finalize must be true or false"},
      {with("retentionExpiresAt", "tomorrow").dump(), "retentionExpiresAt must be an RFC 3339 time"},
      {with("retentionExpiresAt", 5).dump(), "retentionExpiresAt must be a string"},
      {with("attachments", json::object()).dump(), "attachments must be an array"},
      {with("attachments", many).dump(), "attachments must not be more than 100"},
      {with("attachments", json::array({1})).dump(), "attachments[0] must be an object"},
      {twice.dump(), "attachments[1].attachmentId \"a-1\" stands twice"},
      {with_attachment("attachmentId", "").dump(), "attachments[1].attachmentId must not be empty"},
      {with_attachment("name", "a\r\nb").dump(), "attachments[1].name must not hold control characters"},
      {with_attachment("size", -1).dump(), "attachments[1].size must be a whole number of bytes"},
      {with_attachment("size", "12").dump(), "attachments[1].size must be a whole number of bytes"},
      {with_attachment("objectUri", "https://example.org/x").dump(), "attachments[1].objectUri must be gs://BUCKET/OBJECT"},
      {with_attachment("objectUri", "gs:///x").dump(), "attachments[1].objectUri must be gs://BUCKET/OBJECT"},
      {with_attachment("objectUri", "gs://bucket/").dump(), "attachments[1].objectUri must be gs://BUCKET/OBJECT"},
      {with_attachment("objectUri", std::string("gs://bucket/a\0b", 15)).dump(),
       "attachments[1].objectUri must be gs://BUCKET/OBJECT"},
      {with_attachment("objectUri", "gs://bucket/a\r\nb").dump(), "attachments[1].objectUri must be gs://BUCKET/OBJECT"},
      {with_attachment("objectUri", "gs://user@bucket/a").dump(), "attachments[1].objectUri must be gs://BUCKET/OBJECT"},
      {with_attachment("objectUri", "gs://Bucket/a").dump(), "attachments[1].objectUri must be gs://BUCKET/OBJECT"},
      {with_attachment("objectUri", "gs://192.168.5.4/a").dump(), "attachments[1].objectUri must be gs://BUCKET/OBJECT"},
      {with_attachment("objectUri", "gs://goog-a/b").dump(), "attachments[1].objectUri must be gs://BUCKET/OBJECT"},
      {with_attachment("objectUri", "gs://bucket/a/../b").dump(), "attachments[1].objectUri must be gs://BUCKET/OBJECT"},
      {with_attachment("objectUri", "gs://bucket/a/\x01").dump(), "attachments[1].objectUri must be gs://BUCKET/OBJECT"},
      {R"({"submissionId":"s-1","formId":"contact","fields":{"a":{"b":1,"b":2}}})", "fields: "},
      {with_attachment("sha", "x").dump(), "attachments[1] has an unknown field \"sha\""},
      {without_attachment("name").dump(), "attachments[0].name is missing"},
      {without_attachment("size").dump(), "attachments[0].size is missing"}};
  for (const auto& [body, wanted] : cases) {
    const auto read = read_form_request(body);
    ASSERT_FALSE(read) << body;
    EXPECT_EQ(read.error().kind, Error::Kind::invalid);
    EXPECT_TRUE(read.error().what.starts_with(wanted)) << body << "\n" << read.error().what;
  }
}

TEST(FormRequests, AreTheSameWhenAllButFinalizeIs) {  // F4
  const auto hash = [](const json& body) { return content_hash(*read_form_request(body.dump())); };
  EXPECT_EQ(hash(good()), hash(with("finalize", true)));
  EXPECT_NE(hash(good()), hash(with("formId", "other")));
  EXPECT_NE(hash(good()), hash(with("fields", json{{"name", "Zoe"}})));
  EXPECT_NE(hash(good()), hash(with("attachments", json::array())));
  EXPECT_NE(hash(good()), hash(with("retentionExpiresAt", "2027-01-15T08:00:00Z")));
}

TEST(ScanResults, AreCleanOrInfected) {  // F4
  EXPECT_EQ(read_scan_result(R"({"clamavStatus":"clean"})"), Scan::clean);
  EXPECT_EQ(read_scan_result(R"({"clamavStatus":"infected"})"), Scan::infected);
  for (const char* bad :
       {"{}", R"({"clamavStatus":"pending"})", R"({"clamavStatus":true})", R"({"clamavStatus":"clean","x":1})", ""})
    EXPECT_FALSE(read_scan_result(bad)) << bad;
}

TEST(FormViews, CountTheLastReplayOfAnAction) {  // F4 F7
  FormView view{.submission = {.client_ref = "s-1", .target = "contact", .state = "processing"}};
  view.deliveries = {
      {{.action_order = 1, .action_type = "letter", .status = Status::rejected, .reason = "bad", .attempts = 2}, "", ""},
      {{.action_order = 1, .replay = 1, .action_type = "letter", .status = Status::claimed, .attempts = 0}, "", ""},
      {{.action_order = 2,
        .action_type = "ticket",
        .status = Status::accepted,
        .attempts = 1,
        .provider_ref = "T-7",
        .result = R"({"ticketId":"7"})"},
       "ticketStatus",
       "ticketRef"}};
  const auto shown = json::parse(form_view_json(view));
  EXPECT_EQ(shown["routingResult"]["1"]["status"], "pending");
  EXPECT_EQ(shown["routingResult"]["2"]["status"], "accepted");
  EXPECT_EQ(shown["deliveries"].size(), 3u);
  EXPECT_EQ(shown["deliveries"][1]["replay"], 1);
  EXPECT_EQ(shown["deliveries"][2]["result"]["ticketId"], "7");
  EXPECT_EQ(shown["ticketStatus"], "accepted");
  EXPECT_EQ(shown["ticketRef"], "T-7");
}

}  // namespace
}  // namespace waybill
