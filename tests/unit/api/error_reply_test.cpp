// Errors as every surface answers them, and a submission that was not accepted.  M2 M4 M12 F4
#include "api/error_reply.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support/call_builders.h"

namespace waybill {
namespace {

using nlohmann::json;

constexpr SubmitWords kWords{
    .reference = "intentId", .content = "submissionTarget or payload", .not_stored = "intent.not_stored"};

std::string code_of(const http::Response& response) {
  return std::to_string(response.status) + " " + json::parse(response.body)["error"]["code"].get<std::string>();
}

TEST(FailureResponse, OnlyWhatMayPassIsUnavailable) {  // M4
  const auto away = failure_response({Error::Kind::unavailable, "secret details"});
  EXPECT_EQ(away.status, 503);
  EXPECT_EQ(json::parse(away.body)["error"]["code"], "unavailable");
  EXPECT_EQ(away.body.find("secret"), std::string::npos);
  ASSERT_EQ(away.headers.size(), 1u);
  EXPECT_EQ(away.headers[0].first, "Retry-After");
  for (const auto kind : {Error::Kind::bug, Error::Kind::conflict, Error::Kind::invalid, Error::Kind::not_found}) {
    const auto ours = failure_response({kind, "secret details"});
    EXPECT_EQ(ours.status, 500);
    EXPECT_EQ(json::parse(ours.body)["error"]["code"], "internal_error");
    EXPECT_EQ(ours.body.find("secret"), std::string::npos);
  }
}

TEST(ErrorReplies, AreOneForEachKindOfError) {
  testing::KeptLog log;
  EXPECT_EQ(code_of(error_reply({Error::Kind::invalid, "what"}, log, "some.event")), "400 invalid_request");
  EXPECT_EQ(code_of(error_reply({Error::Kind::not_found, "what"}, log, "some.event")), "404 not_found");
  EXPECT_EQ(code_of(error_reply({Error::Kind::conflict, "what"}, log, "some.event")), "409 conflict");
  EXPECT_EQ(log.count("some.event"), 0u) << "the client's mistakes are not ours";
  const auto away = error_reply({Error::Kind::unavailable, "the password is wrong"}, log, "some.event");
  EXPECT_EQ(code_of(away), "503 unavailable");
  EXPECT_EQ(away.headers, (std::vector<std::pair<std::string, std::string>>{{"Retry-After", "1"}}));
  EXPECT_EQ(away.body.find("password"), std::string::npos) << "what failed inside is for the log";
  EXPECT_EQ(code_of(error_reply({Error::Kind::bug, "what"}, log, "some.event")), "500 internal_error");
  EXPECT_EQ(log.count("some.event"), 2u);
}

TEST(SubmitRefusals, AreOfWhatContradictsTheFirstAndOfWhatWasNotStored) {
  testing::KeptLog log;
  SubmitResult result{SubmitResult::How::created, {.client_ref = "order-1"}};
  EXPECT_FALSE(submit_refusal(result, kWords, log));
  result.how = SubmitResult::How::existing;
  EXPECT_FALSE(submit_refusal(result, kWords, log));
  result.how = SubmitResult::How::conflict;
  const auto conflict = submit_refusal(result, kWords, log);
  ASSERT_TRUE(conflict);
  EXPECT_EQ(code_of(*conflict), "409 idempotency_conflict");
  EXPECT_NE(conflict->body.find(R"(intentId \"order-1\" was handed in before with another submissionTarget or payload)"),
            std::string::npos)
      << conflict->body;
  const auto refused = [&](Error::Kind kind) { return code_of(*submit_refusal(fail(kind, "what"), kWords, log)); };
  EXPECT_EQ(refused(Error::Kind::conflict), "409 idempotency_conflict");
  EXPECT_EQ(refused(Error::Kind::invalid), "400 invalid_request");
  EXPECT_EQ(log.count("intent.not_stored"), 0u);
  EXPECT_EQ(refused(Error::Kind::unavailable), "503 unavailable");
  EXPECT_EQ(log.count("intent.not_stored"), 1u);
}

}  // namespace
}  // namespace waybill
