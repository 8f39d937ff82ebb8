// AWS Signature Version 4 on what plugins send: checked as a receiver checks it.  J3 H4
#include "support/sigv4.h"

#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "base/database_clock.h"
#include "services/http_client.h"
#include "unit/services/scripted_server.h"

namespace waybill {
namespace {

using testing::AwsAccount;
using testing::AwsRequest;
using testing::Connection;
using testing::fault_in_signature;
using testing::ScriptedServer;

const AwsAccount kAccount{"AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "us-east-1", "service"};

AwsRequest parsed(const std::string& bytes) {
  AwsRequest out;
  const auto line = bytes.substr(0, bytes.find("\r\n"));
  const auto head_end = bytes.find("\r\n\r\n");
  out.method = line.substr(0, line.find(' '));
  out.path = line.substr(out.method.size() + 1, line.rfind(' ') - out.method.size() - 1);
  out.head = bytes.substr(line.size() + 2, head_end - line.size());
  out.body = bytes.substr(head_end + 4);
  return out;
}

// The vectors that AWS publishes (aws-sig-v4-test-suite), so that the check itself is checked.
TEST(AwsSignatureCheck, TakesThePublishedVectorsAndNothingElse) {
  const auto vector = [](const char* method, const char* signature) {
    return AwsRequest{
        method, "/", "",
        "Host:example.amazonaws.com\r\nX-Amz-Date:20150830T123600Z\r\nAuthorization: AWS4-HMAC-SHA256 "
        "Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, SignedHeaders=host;x-amz-date, Signature=" +
            std::string(signature) + "\r\n",
        ""};
  };
  const auto get = vector("GET", "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31");
  const auto post = vector("POST", "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b");
  constexpr std::time_t kThen = 1'440'938'160;
  EXPECT_EQ(fault_in_signature(get, kAccount, kThen), "");
  EXPECT_EQ(fault_in_signature(post, kAccount, kThen), "");
  auto changed = post;
  changed.body = "x";
  EXPECT_EQ(fault_in_signature(changed, kAccount, kThen), "SignatureDoesNotMatch");
  auto other = kAccount;
  other.secret_key += 'x';
  EXPECT_EQ(fault_in_signature(get, other, kThen), "SignatureDoesNotMatch");
  EXPECT_EQ(fault_in_signature(get, kAccount, kThen + 301).substr(0, 20), "RequestTimeTooSkewed");
}

class SignedHttp : public ::testing::Test {
 protected:
  SignedHttp() {
    auto secrets = std::make_shared<const LiveSecrets>(Secrets(Secrets::Values{
        {"id", {Secret(kAccount.key_id)}}, {"key", {Secret(kAccount.secret_key)}}, {"token", {Secret("t0ken")}}}));
    client_ = std::make_unique<HttpClient>(loop_, clock_, secrets, HttpClientSettings{});
    thread_ = std::thread([this] { loop_.run(); });
  }
  ~SignedHttp() override {
    loop_.stop();
    thread_.join();
  }
  HttpRequest request(std::string body) {
    HttpRequest out;
    out.method = "POST";
    out.url = server_.url("/v2/things");
    out.headers = {{"Content-Type", "application/json"}, {"Accept", "application/json"}};
    out.body = std::move(body);
    out.deadline = clock_.now() + Seconds(60);
    out.sigv4 = SigV4{.region = "us-east-1", .service = "service", .key_id = "id", .secret_key = "key"};
    return out;
  }
  HttpResponse fetch(const HttpRequest& request) {
    std::promise<HttpResponse> promise;
    loop_.post(
        [&] { client_->fetch(request, [&](std::uint64_t, HttpResponse response) { promise.set_value(std::move(response)); }); });
    return promise.get_future().get();
  }
  AwsRequest received() {
    const std::lock_guard lock(mutex_);
    return parsed(received_.back());
  }

  std::mutex mutex_;
  std::vector<std::string> received_;
  ScriptedServer server_{[this](Connection& connection) {
    for (;;) {
      auto next = connection.receive();
      if (next.empty()) return;
      {
        const std::lock_guard lock(mutex_);
        received_.push_back(std::move(next));
      }
      connection.answer(200, "{}");
    }
  }};
  DatabaseClock clock_;
  EventLoop loop_;
  std::unique_ptr<HttpClient> client_;
  std::thread thread_;
};

TEST_F(SignedHttp, TheSignatureMatchesOneThatIsComputedFromWhatArrived) {
  ASSERT_EQ(fetch(request(R"({"a":"b"})")).status, 200);
  EXPECT_EQ(fault_in_signature(received(), kAccount, std::time(nullptr)), "") << received().head;
}

// curl leaves headers out by lines that it would sign, and asks before long bodies: neither may spoil the signature.
TEST_F(SignedHttp, SoItDoesForEveryKindOfRequest) {
  for (const auto& body : {std::string(), std::string(700'000, 'x'), std::string(3'000'000, 'y')}) {
    ASSERT_EQ(fetch(request(body)).status, 200) << body.size();
    EXPECT_EQ(fault_in_signature(received(), kAccount, std::time(nullptr)), "") << received().head;
    EXPECT_EQ(received().body.size(), body.size());
  }
  auto untyped = request("bytes");
  untyped.headers = {{"X-Amz-Security-Token", "{secret:token}"}};
  untyped.transport = std::make_shared<const Transport>(Transport{.insecure = true});
  ASSERT_EQ(fetch(untyped).status, 200);
  EXPECT_EQ(fault_in_signature(received(), kAccount, std::time(nullptr)), "") << received().head;
  EXPECT_NE(received().head.find("t0ken"), std::string::npos);
  auto get = request("");
  get.method = "GET";
  ASSERT_EQ(fetch(get).status, 200);
  EXPECT_EQ(fault_in_signature(received(), kAccount, std::time(nullptr)), "") << received().head;
  auto bare = request("");
  bare.headers.clear();
  ASSERT_EQ(fetch(bare).status, 200);
  EXPECT_EQ(fault_in_signature(received(), kAccount, std::time(nullptr)), "") << received().head;
}

TEST_F(SignedHttp, TheSignatureCarriesTheDatabasesTimeWhateverTheMachinesClockShows) {  // T24
  for (const auto off : {-600, 600, 40 * 86'400}) {
    const auto then = std::time(nullptr) + off;
    clock_.follow({static_cast<std::int64_t>(then) * 1'000'000}, clock_.now());
    ASSERT_EQ(fetch(request("x")).status, 200);
    EXPECT_EQ(fault_in_signature(received(), kAccount, then), "") << received().head;
    EXPECT_NE(fault_in_signature(received(), kAccount, std::time(nullptr)), "") << "that of the machine";
    auto get = request("");
    get.method = "GET";
    ASSERT_EQ(fetch(get).status, 200);
    EXPECT_EQ(fault_in_signature(received(), kAccount, then), "") << received().head;
  }
}

TEST_F(SignedHttp, PathsAndQueriesAreSignedInTheirCanonicalForm) {  // T24
  auto asked = request("");
  asked.method = "GET";
  asked.url = server_.url("/a%20b/c?b=2&a=x%2Fy&a=1&c");
  ASSERT_EQ(fetch(asked).status, 200);
  auto got = received();
  EXPECT_EQ(got.path, "/a%20b/c?b=2&a=x%2Fy&a=1&c") << "sent as it was";
  got.path = "/a%2520b/c";
  got.query = "a=1&a=x%2Fy&b=2&c=";
  EXPECT_EQ(fault_in_signature(got, kAccount, std::time(nullptr)), "") << got.head;
}

TEST_F(SignedHttp, TheNextRequestIsNotSigned) {
  ASSERT_EQ(fetch(request("one")).status, 200);
  auto plain = request("two");
  plain.sigv4.reset();
  ASSERT_EQ(fetch(plain).status, 200);
  EXPECT_EQ(received().body, "two");
  for (const auto* absent : {"Authorization", "X-Amz", "AKID"})
    EXPECT_EQ(received().head.find(absent), std::string::npos) << received().head;
}

TEST_F(SignedHttp, WhatCannotBeSignedIsRefusedBeforeAByteLeaves) {
  const auto refused = [&](const HttpRequest& one, const std::string& why) {
    const auto response = fetch(one);
    EXPECT_EQ(response.error, NetError::refused) << why;
    EXPECT_EQ(response.reach, Reach::not_sent);
    EXPECT_NE(response.error_text.find(why), std::string::npos) << response.error_text;
  };
  auto unknown = request("x");
  unknown.sigv4->secret_key = "nobody";
  refused(unknown, "unknown secret");
  auto half = request("x");
  half.sigv4->key_id.clear();
  refused(half, "unknown secret");
  for (const auto* bad : {"", "us east", "us:east", "US", "a\r\nb"}) {
    auto region = request("x");
    region.sigv4->region = bad;
    refused(region, "malformed");
  }
  auto empty_header = request("x");
  empty_header.headers.emplace_back("X-Empty", "");
  refused(empty_header, "empty headers");
  auto tenant = request("x");
  tenant.trust = Trust::tenant;
  refused(tenant, "unknown secret");
  EXPECT_EQ(server_.connections(), 0);
}

}  // namespace
}  // namespace waybill
