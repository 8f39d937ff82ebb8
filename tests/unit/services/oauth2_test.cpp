// Tokens of OAuth2: asked for once, kept until shortly before their end, filled in, and what becomes of a request without.  D8
#include <gtest/gtest.h>

#include <future>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/base64.h"
#include "base/hex.h"
#include "services/authorized_http.h"
#include "services/oauth2_grant.h"
#include "support/service_account.h"
#include "unit/services/scripted_server.h"

namespace waybill {
namespace {

using namespace std::chrono_literals;
using testing::Connection;
using testing::ScriptedServer;
using testing::service_account;

TransportRules in_clear() {
  TransportRules rules;
  rules.insecure = true;
  return rules;
}

OAuth2Client client(std::string url) {
  return {.token_url = std::move(url),
          .client_id = "me & co",
          .client_secret = "crm",
          .scope = "read write",
          .transport = in_clear()};
}

Secrets known() { return Secrets(Secrets::Values{{"crm", {Secret("p+w")}}, {"robot", {Secret(service_account().json())}}}); }

std::string field(const HttpRequest& request, const std::string& name) {
  const auto body = "&" + request.body + "&";
  const auto at = body.find("&" + name + "=");
  return at == std::string::npos ? "" : body.substr(at + name.size() + 2, body.find('&', at + 1) - at - name.size() - 2);
}

TEST(TokenRequest, OfClientCredentialsIsAFormWithTheSecretInTheHeaderOrTheBody) {  // D8
  auto rules = client("http://id.test/token");
  rules.audience = "https://crm.test/";
  const auto basic = token_request(rules, known(), 0);
  ASSERT_TRUE(basic) << basic.error().what;
  EXPECT_EQ(basic->body, "grant_type=client_credentials&scope=read%20write&audience=https%3A%2F%2Fcrm.test%2F");
  EXPECT_EQ(basic->headers.back().second, "Basic " + encode_base64("me%20%26%20co:p%2Bw"));  // RFC 6749, 2.3.1
  rules.secret_in_body = true;
  const auto body = token_request(rules, known(), 0);
  EXPECT_EQ(field(*body, "client_id"), "me%20%26%20co");
  EXPECT_EQ(field(*body, "client_secret"), "p%2Bw");
  EXPECT_EQ(body->headers.size(), 2u);
}

TEST(TokenRequest, OfAServiceAccountIsASignedAssertion) {  // D8
  const auto request =
      token_request({.token_url = "https://id.test/token", .service_account = "robot", .subject = "ann@x.test", .scope = "mail"},
                    known(), 1000);
  ASSERT_TRUE(request) << request.error().what;
  EXPECT_EQ(field(*request, "grant_type"), "urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer");
  const auto assertion = field(*request, "assertion");
  const auto end = assertion.rfind('.');
  const auto decoded = [](std::string text) {
    for (auto& c : text) c = c == '-' ? '+' : c == '_' ? '/' : c;
    return decode_base64(text.append((4 - text.size() % 4) % 4, '=')).value_or("");
  };
  const auto claims = nlohmann::json::parse(decoded(assertion.substr(assertion.find('.') + 1, end - assertion.find('.') - 1)));
  EXPECT_EQ(claims, (nlohmann::json{{"iss", "robot@project.iam.gserviceaccount.com"},
                                    {"aud", "https://id.test/token"},
                                    {"iat", 1000},
                                    {"exp", 4600},
                                    {"scope", "mail"},
                                    {"sub", "ann@x.test"}}));
  EXPECT_TRUE(service_account().verifies(assertion.substr(0, end), to_hex(decoded(assertion.substr(end + 1)))));
}

TEST(TokenRequest, IsRefusedByName) {  // D8
  const auto why = [](const OAuth2Client& rules) {
    const auto request = token_request(rules, known(), 0);
    return request ? "" : request.error().what;
  };
  auto clear = client("http://id.test/");
  clear.transport.insecure = false;
  EXPECT_EQ(why(clear), "token_url: a secret does not go out in clear: use https, or write `insecure: true`");
  EXPECT_EQ(why({.token_url = "https://id.test/", .client_secret = "nobody"}), "client_secret names an unknown secret");
  EXPECT_EQ(why({.token_url = "https://id.test/", .service_account = "crm"}), "service_account is no service account in JSON");
  EXPECT_EQ(why({.service_account = "robot"}), "service_account has no token_uri, and there is no token_url");
  EXPECT_EQ(why(client("ftp://id.test/")).substr(0, 10), "token_url:");
}

TEST(TokenAnswer, IsATokenWithALittleLessThanItsTime) {  // D8
  const auto read = [](int status, std::string body) { return token_in({.status = status, .body = std::move(body)}); };
  EXPECT_EQ(read(200, R"({"access_token":"t","expires_in":3600})")->lifetime, 3540s);
  EXPECT_EQ(read(200, R"({"access_token":"t","expires_in":100})")->lifetime, 90s);
  EXPECT_EQ(read(200, R"({"access_token":"t","expires_in":-5})")->lifetime, 1s);
  EXPECT_EQ(read(200, R"({"access_token":"t"})")->lifetime, 270s);
  EXPECT_EQ(read(400, R"({"error":"invalid_client","error_description":"x"})").error().what,
            "the token endpoint answered 400 invalid_client");
  EXPECT_EQ(read(401, R"({"error":"<b>no</b>"})").error().what, "the token endpoint answered 401");
  for (const auto* body : {"", "[]", "{}", R"({"access_token":""})", R"({"access_token":"a\r\nb"})", R"({"access_token":7})"})
    EXPECT_FALSE(read(200, body)) << body;
}

// A token endpoint and a destination, both by script, and one strand.
class OAuth2 : public ::testing::Test {
 protected:
  ~OAuth2() override {
    std::promise<void> gone;
    loop_.post([&] {
      authorized_.reset();
      http_.reset();
      gone.set_value();
    });
    gone.get_future().wait();
    loop_.stop();
    thread_.join();
  }
  std::future<HttpResponse> begin(std::string header, Millis time = 60s, Trust trust = Trust::registry) {
    auto promise = std::make_shared<std::promise<HttpResponse>>();
    loop_.post([this, promise, header = std::move(header), time, trust] {
      HttpRequest request{.method = "POST", .url = destination_.url("/x"), .headers = {{"Authorization", header}}};
      request.deadline = clock_.now() + time;
      request.trust = trust;
      request.transport = std::make_shared<const Transport>(Transport{.insecure = true});
      authorized_->fetch(std::move(request), [promise](std::uint64_t, HttpResponse r) { promise->set_value(std::move(r)); });
    });
    return promise->get_future();
  }
  HttpResponse fetch(std::string header) { return begin(std::move(header)).get(); }
  int asked() {
    const std::lock_guard lock(mutex_);
    return asked_;
  }
  void endpoint_answers(int status, std::string body) {
    const std::lock_guard lock(mutex_);
    endpoint_status_ = status;
    endpoint_body_ = std::move(body);
  }
  void destination_answers(int status) {
    const std::lock_guard lock(mutex_);
    destination_status_ = status;
  }

  std::mutex mutex_;
  int asked_ = 0;
  int endpoint_status_ = 200;
  std::string endpoint_body_ = R"({"access_token":"t#","expires_in":3600})";
  int destination_status_ = 200;
  ScriptedServer endpoint_{[this](Connection& connection) {
    while (!connection.receive().empty()) {
      const std::lock_guard lock(mutex_);
      auto body = endpoint_body_;
      ++asked_;
      if (const auto at = body.find('#'); at != std::string::npos) body.replace(at, 1, std::to_string(asked_));
      connection.answer(endpoint_status_, body);
    }
  }};
  ScriptedServer destination_{[this](Connection& connection) {  // repeats who asked
    for (auto got = connection.receive(); !got.empty(); got = connection.receive()) {
      const std::lock_guard lock(mutex_);
      const auto at = got.find("Authorization: ");
      connection.answer(destination_status_, at == std::string::npos ? "" : got.substr(at + 15, got.find('\r', at) - at - 15));
    }
  }};
  SystemClock clock_;
  EventLoop loop_;
  std::shared_ptr<LiveSecrets> secrets_ = std::make_shared<LiveSecrets>(known());
  std::shared_ptr<OAuth2Tokens> tokens_ = std::make_shared<OAuth2Tokens>(
      std::map<std::string, OAuth2Client>{{"crm", client(endpoint_.url("/token"))}, {"away", client("http://127.0.0.1:1/token")}},
      [](const std::string&) { return std::make_shared<const Transport>(Transport{.insecure = true}); });
  std::vector<std::string> refusals_;  // of the strand
  std::unique_ptr<HttpClient> http_ = std::make_unique<HttpClient>(loop_, clock_, secrets_, HttpClientSettings{});
  std::unique_ptr<AuthorizedHttp> authorized_ = std::make_unique<AuthorizedHttp>(
      loop_, clock_, *http_, secrets_, tokens_,
      [this](const std::string& name, const std::string& why) { refusals_.push_back(name + ": " + why); });
  std::thread thread_{[this] { loop_.run(); }};
};

TEST_F(OAuth2, OneTokenServesAllRequestsUntilItsEnd) {  // D8
  std::vector<std::future<HttpResponse>> many;
  for (int i = 0; i < 20; ++i) many.push_back(begin("Bearer {oauth2:crm}"));
  for (auto& one : many) EXPECT_EQ(one.get().body, "Bearer t1");
  EXPECT_EQ(asked(), 1);
  tokens_->save("crm", "old", clock_.now() - 1s);
  EXPECT_EQ(fetch("Bearer {oauth2:crm}").body, "Bearer t2");
  tokens_->forget("crm");
  EXPECT_EQ(fetch("Bearer {oauth2:crm}").body, "Bearer t3");
  EXPECT_EQ(fetch("plain").body, "plain");
}

TEST_F(OAuth2, ATokenThatTheDestinationRefusesIsNotUsedAgain) {  // D8
  destination_answers(401);
  EXPECT_EQ(fetch("Bearer {oauth2:crm}").status, 401);
  destination_answers(200);
  EXPECT_EQ(fetch("Bearer {oauth2:crm}").body, "Bearer t2");
}

TEST_F(OAuth2, WithoutATokenNothingIsSent) {  // D8
  endpoint_answers(400, R"({"error":"invalid_client"})");
  auto response = fetch("Bearer {oauth2:crm}");
  EXPECT_EQ(response.error, NetError::ok);
  EXPECT_EQ(response.status, 401);
  EXPECT_EQ(response.reach, Reach::not_sent);
  EXPECT_EQ(response.body, "oauth2 crm: the token endpoint answered 400 invalid_client");
  endpoint_answers(500, "");
  EXPECT_EQ(fetch("Bearer {oauth2:crm}").status, 503);
  endpoint_answers(200, "{}");
  EXPECT_EQ(fetch("Bearer {oauth2:crm}").status, 503);
  response = fetch("Bearer {oauth2:away}");
  EXPECT_EQ(response.error, NetError::connect);
  EXPECT_EQ(response.reach, Reach::not_sent);
  response = fetch("Bearer {oauth2:nobody}");
  EXPECT_EQ(response.error, NetError::refused);
  EXPECT_EQ(response.error_text, "a header names an unknown OAuth2 client");
  EXPECT_EQ(begin("Bearer {oauth2:crm}", 60s, Trust::tenant).get().error, NetError::refused) << "a tenant has none";
  EXPECT_EQ(destination_.connections(), 0);
  EXPECT_EQ(refusals_.size(), 4u);
}

TEST_F(OAuth2, ARequestWaitsForItsTokenOnlyUntilItsOwnDeadline) {  // D8
  ScriptedServer silent([](Connection& connection) { connection.hang(); });
  const auto tokens = std::make_shared<OAuth2Tokens>(
      std::map<std::string, OAuth2Client>{{"crm", client(silent.url("/token"))}},
      [](const std::string&) { return std::make_shared<const Transport>(Transport{.insecure = true}); });
  loop_.post([&] {
    authorized_ =
        std::make_unique<AuthorizedHttp>(loop_, clock_, *http_, secrets_, tokens, [](const std::string&, const std::string&) {});
  });
  const auto response = begin("Bearer {oauth2:crm}", 200ms).get();
  EXPECT_EQ(response.error, NetError::timeout);
  EXPECT_EQ(response.reach, Reach::not_sent);
  EXPECT_EQ(response.error_text, "no time was left to wait for a token");
}

TEST_F(OAuth2, ATokenDoesNotGoOutInClear) {  // D8
  std::promise<HttpResponse> promise;
  loop_.post([&] {
    HttpRequest request{.url = destination_.url("/x"), .headers = {{"Authorization", "Bearer {oauth2:crm}"}}};
    request.deadline = clock_.now() + 60s;
    authorized_->fetch(std::move(request), [&](std::uint64_t, HttpResponse r) { promise.set_value(std::move(r)); });
  });
  const auto response = promise.get_future().get();
  EXPECT_EQ(response.error, NetError::refused);
  EXPECT_NE(response.error_text.find("does not go out in clear"), std::string::npos) << response.error_text;
  EXPECT_EQ(destination_.connections(), 0);
}

}  // namespace
}  // namespace waybill
