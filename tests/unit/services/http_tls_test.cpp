// HTTPS as it is by default, and as a target's or a sender's transport makes it: who is believed, who we are, what is refused,
// and that connections of different transports are kept apart.  S11 S12
#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "services/http_client.h"
#include "unit/services/tls_server.h"

namespace waybill {
namespace {

using testing::Connection;
using testing::ScriptedServer;
using testing::TestAuthority;
using testing::TlsServer;
using TransportPtr = std::shared_ptr<const Transport>;

class HttpTls : public ::testing::Test {
 protected:
  HttpTls() : thread_([this] { loop_.run(); }) {}
  ~HttpTls() override {
    loop_.stop();
    thread_.join();
  }
  HttpResponse fetch(HttpRequest request) {
    request.deadline = clock_.now() + Seconds(60);
    std::promise<HttpResponse> promise;
    loop_.post([&] {
      client_.fetch(std::move(request), [&](std::uint64_t, HttpResponse response) { promise.set_value(std::move(response)); });
    });
    return promise.get_future().get();
  }
  HttpResponse fetch(const std::string& url, TransportPtr transport = nullptr) {
    return fetch(HttpRequest{.url = url, .transport = std::move(transport)});
  }
  void expect_refused(const HttpResponse& response, std::string_view words) {
    EXPECT_EQ(response.error, NetError::tls) << response.error_text;
    EXPECT_EQ(response.reach, Reach::not_sent);
    EXPECT_NE(response.error_text.find(words), std::string::npos) << response.error_text;
  }
  static TransportPtr made(Transport transport) { return std::make_shared<const Transport>(std::move(transport)); }
  // The same with a certificate to show.
  TransportPtr as(const std::string& name) {
    auto transport = authority_.trust();
    const auto mine = authority_.issue({.common_name = name, .names = ""});
    transport.certificate = mine.pem();
    transport.key = Secret(mine.key_pem());
    transport.identity = name;
    return made(std::move(transport));
  }

  const TestAuthority authority_;
  const TransportPtr trust_ = made(authority_.trust());
  SystemClock clock_;
  EventLoop loop_;
  HttpClient client_{
      loop_, clock_,
      std::make_shared<const LiveSecrets>(Secrets(Secrets::Values{{"key", {Secret("hunter2")}}, {"me", {Secret("me")}}})),
      HttpClientSettings{}};
  std::thread thread_;
};

TEST_F(HttpTls, ACertificateOfAnAuthorityOfTheTargetIsBelieved) {  // S12
  TlsServer server(authority_.issue({}));
  EXPECT_EQ(fetch(server.url(), trust_).body, "0 -");
  EXPECT_EQ(fetch(server.url("localhost"), trust_).status, 200);
  expect_refused(fetch(server.url()), "certificate");
  EXPECT_EQ(server.requests(), 2);
}

TEST_F(HttpTls, CertificatesThatProveNothingAreRefused) {  // S12
  const TestAuthority other("other authority");
  const struct {
    testing::TestCertificate shown;
    std::string words;
  } rows[] = {
      {authority_.issue({.valid_until = -60}), "expired"},
      {authority_.issue({.valid_from = 1800}), "not yet valid"},
      {authority_.issue({.names = "DNS:other.example"}), "name"},
      {authority_.issue({.names = "IP:127.0.0.2"}), "name"},
      {authority_.issue({.common_name = "127.0.0.1", .names = ""}), "subject alternative names"},
      {authority_.issue({.common_name = "127.0.0.1", .names = "email:me@example.org"}), "subject alternative names"},
      {TestAuthority::self_signed({}), "self-signed"},
      {other.issue({}), "certificate"},
  };
  for (const auto& row : rows) {
    TlsServer server(row.shown);
    expect_refused(fetch(server.url(), trust_), row.words);
    EXPECT_EQ(server.requests(), 0) << row.words;
  }
}

TEST_F(HttpTls, ACommonNameIsNoName) {  // S12
  TlsServer server(authority_.issue({.common_name = "localhost", .names = ""}));
  expect_refused(fetch(server.url("localhost"), trust_), "names no host in its subject alternative names");
  EXPECT_EQ(server.requests(), 0);
}

TEST_F(HttpTls, AnAuthorityThatHasExpiredSignsNothing) {  // S12
  const TestAuthority old("old authority", -60);
  TlsServer server(old.issue({}));
  expect_refused(fetch(server.url(), made(old.trust())), "expired");
}

TEST_F(HttpTls, TlsIsAtLeastWhatTheTargetSays) {  // S12
  const auto shown = authority_.issue({});
  for (const int version : {TLS1_VERSION, TLS1_1_VERSION}) {
    TlsServer old(shown, {.least = TLS1_VERSION, .most = version});
    expect_refused(fetch(old.url(), trust_), "");
    EXPECT_EQ(old.handshakes(), 0);
  }
  auto late = authority_.trust();
  late.tls_min = TlsVersion::v1_3;
  TlsServer usual(shown, {.most = TLS1_2_VERSION}), both(shown);
  EXPECT_EQ(fetch(usual.url(), trust_).status, 200);
  expect_refused(fetch(usual.url(), made(late)), "");
  EXPECT_EQ(usual.requests(), 1) << "the connection that is kept does not serve it either";
  EXPECT_EQ(fetch(both.url(), made(late)).status, 200);
}

TEST_F(HttpTls, AServerMayDemandACertificate) {  // S12
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    TlsServer server(authority_.issue({}), {.least = version, .most = version, .clients_of = authority_.certificate()});
    expect_refused(fetch(server.url(), trust_), "alert");
    const TestAuthority other("other authority");
    auto wrong = authority_.trust();
    const auto mine = other.issue({.common_name = "billing", .names = ""});
    wrong.certificate = mine.pem();
    wrong.key = Secret(mine.key_pem());
    expect_refused(fetch(server.url(), made(wrong)), "alert");
    EXPECT_EQ(server.requests(), 0);
    EXPECT_TRUE(fetch(server.url(), as("billing")).body.ends_with(" billing"));
  }
}

TEST_F(HttpTls, NobodyRidesOnAConnectionOfAnotherTransport) {  // S12
  TlsServer server(authority_.issue({}), {.clients_of = authority_.certificate()});
  const auto billing = as("billing"), orders = as("orders");
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(fetch(server.url(), billing).body, "0 billing");
    EXPECT_EQ(fetch(server.url(), orders).body, "1 orders");
  }
  EXPECT_EQ(server.connections(), 2) << "each is kept for its own";
  EXPECT_NE(fetch(server.url(), trust_).error, NetError::ok);
  EXPECT_EQ(server.requests(), 6);

  TlsServer open(authority_.issue({}));
  const TestAuthority other("other authority");
  EXPECT_EQ(fetch(open.url(), trust_).body, "0 -");
  expect_refused(fetch(open.url(), made(other.trust())), "certificate");
  expect_refused(fetch(open.url()), "certificate");
  EXPECT_EQ(fetch(open.url(), trust_).body, "0 -");
  EXPECT_EQ(open.requests(), 2);
}

TEST_F(HttpTls, ALaterConnectionResumesTheSessionOfAnEarlierOne) {  // T22
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    TlsServer server(authority_.issue({}), {.least = version, .most = version, .one_request = true});
    for (int i = 0; i < 10; ++i) EXPECT_EQ(fetch(server.url(), trust_).body, std::to_string(i) + " -");
    EXPECT_EQ(server.handshakes(), 10);
    if (version == TLS1_3_VERSION)
      EXPECT_EQ(server.resumed(), 9);
    else
      EXPECT_GT(server.resumed(), 0);  // this curl gives up some sessions of TLS 1.2, and makes new ones
  }
}

TEST_F(HttpTls, NobodyResumesASessionOfAnotherTransport) {  // T22
  TlsServer server(authority_.issue({}), {.clients_of = authority_.certificate(), .one_request = true});
  const auto billing = as("billing"), orders = as("orders");
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(fetch(server.url(), billing).body, std::to_string(2 * i) + " billing");
    EXPECT_EQ(fetch(server.url(), orders).body, std::to_string(2 * i + 1) + " orders");
  }
  EXPECT_EQ(server.resumed(), 4);
  EXPECT_NE(fetch(server.url(), trust_).error, NetError::ok);
  EXPECT_EQ(server.requests(), 6);

  TlsServer open(authority_.issue({}), {.one_request = true});
  const TestAuthority other("other authority");
  EXPECT_EQ(fetch(open.url(), trust_).body, "0 -");
  expect_refused(fetch(open.url(), made(other.trust())), "certificate");
  expect_refused(fetch(open.url()), "certificate");
  EXPECT_EQ(open.requests(), 1) << "what was verified for one is not verified for another";
}

TEST_F(HttpTls, AnAuthorityMayBeAnIntermediateOneAndOneOfMany) {  // S12
  const TestAuthority root("root");
  const auto middle = root.issue_authority("middle");
  TlsServer server(middle.issue({}));
  EXPECT_EQ(fetch(server.url(), made(middle.trust())).status, 200);
  auto several = authority_.trust();
  several.authorities = authorities_in(authority_.pem() + "a comment\n" + middle.pem());
  EXPECT_EQ(fetch(server.url(), made(several)).status, 200);
  expect_refused(fetch(server.url(), trust_), "certificate");
}

TEST_F(HttpTls, AHandshakeThatHangsIsATimeout) {  // S12
  ScriptedServer silent([](Connection& connection) { connection.hang(); });
  HttpRequest request{.url = "https://127.0.0.1:" + std::to_string(silent.port()) + "/", .timeout = Millis(100)};
  const auto response = fetch(std::move(request));
  EXPECT_EQ(response.error, NetError::timeout);
  EXPECT_EQ(response.reach, Reach::not_sent);
}

TEST_F(HttpTls, ASecretInAHeaderDoesNotGoOutInClear) {  // S11
  std::atomic<int> heard{0};
  ScriptedServer server([&](Connection& connection) {
    while (!connection.receive().empty()) {
      ++heard;
      connection.answer(200);
    }
  });
  const auto allowed = [] {
    Transport transport;
    transport.insecure = true;
    return made(std::move(transport));
  };
  HttpRequest header{.url = server.url(), .headers = {{"X-A", "1"}, {"Authorization", "Bearer {secret:key}"}}};
  HttpRequest basic{.url = server.url()};
  basic.basic_user = "me";
  basic.basic_password = "key";
  for (auto request : {header, basic}) {
    for (const auto* scheme : {"http", "HTTP", "hTtP"}) {
      request.url = scheme + server.url().substr(4);
      request.transport = nullptr;
      const auto refused = fetch(request);
      EXPECT_EQ(refused.error, NetError::refused);
      EXPECT_EQ(refused.reach, Reach::not_sent);
      EXPECT_NE(refused.error_text.find("insecure: true"), std::string::npos) << refused.error_text;
      EXPECT_EQ(refused.error_text.find("hunter2"), std::string::npos);
      request.transport = trust_;
      EXPECT_EQ(fetch(request).error, NetError::refused) << "other settings do not allow it";
    }
    EXPECT_EQ(server.connections(), heard == 0 ? 0 : 1);
    request.transport = allowed();
    EXPECT_EQ(fetch(request).status, 200);
  }
  EXPECT_EQ(heard, 2);

  TlsServer tls(authority_.issue({}));
  header.url = tls.url();
  header.transport = trust_;
  EXPECT_EQ(fetch(header).status, 200) << "under TLS it goes";
}

TEST_F(HttpTls, AHeaderWithoutAnEndHasAnErrorOfItsOwn) {  // S12
  const auto answer = [&](std::string_view head, std::string_view over_and_over) {
    ScriptedServer server([&](Connection& connection) {
      connection.receive();
      const std::string piece(over_and_over);
      connection.send(head);
      for (std::string many; connection.send(many);)
        if (many.empty())
          while (many.size() < 16384) many += piece;
    });
    return fetch(server.url());
  };
  const struct {
    std::string_view head, over_and_over, words;
  } rows[] = {
      {"HTTP/1.1 200 OK\r\nX-Long: ", "x", "header line of more than 100 KiB, which may have no end"},
      {"HTTP/1.1 200 OK\r\nX", "y", "header line of more than 100 KiB, which may have no end"},
      {"HTTP/1.1 200 OK\r\n", "X-Many: 1\r\n", "headers are longer than 32 KiB"},
      {"", "HTTP/1.1 100 Continue\r\n\r\n", "headers are longer than 32 KiB"},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", "X-Trailer: 1\r\n", "headers are longer than 32 KiB"},
  };
  for (const auto& row : rows) {
    const auto response = answer(row.head, row.over_and_over);
    EXPECT_EQ(response.error, NetError::broken) << row.head;
    EXPECT_NE(response.error_text.find(row.words), std::string::npos) << row.head << " -> " << response.error_text;
  }
}

}  // namespace
}  // namespace waybill
