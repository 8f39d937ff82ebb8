// What strangers may cost: refusals come before bodies, and bytes and connections are counted for each address.  S2 S3 S5 S7
#include <gtest/gtest.h>

#include <atomic>

#include "unit/http/server_story.h"

namespace waybill::http {
namespace {

using stories::Client;
using stories::ServerStory;

std::string post_to(std::string_view path, std::string_view more, std::string_view body = "") {
  return "POST " + std::string(path) + " HTTP/1.1\r\nHost: localhost\r\n" + std::string(more) + "\r\n" + std::string(body);
}

class Door : public ServerStory {
 protected:
  // The token "good" is an admin's, all others are nobody's.
  void start_with_tokens() {
    start([](const Request& request, std::function<void(Admission)> done) {
      if (request.authorization == "Bearer good") return done(Principal{.org = OrgId{7}, .role = Role::admin, .name = "ci"});
      done(std::nullopt);
    });
  }
  // Bytes that the server holds for requests; asked through what a request of this size is told.
  int status_of_body(std::size_t size) {
    return client().exchange(post_to("/echo", "Content-Length: " + std::to_string(size) + "\r\n", std::string(size, 'x'))).status;
  }
};

TEST_F(Door, AStrangerIsRefusedAtTheEndOfTheHead) {  // S2
  start_with_tokens();
  auto peer = client();
  ASSERT_TRUE(peer.send(post_to("/for-admins", "Expect: 100-continue\r\nContent-Length: 1000000\r\n")));
  EXPECT_EQ(peer.receive().status, 405) << "only GET is known there";
  for (const char* token : {"", "Authorization: Bearer bad\r\n"}) {
    auto stranger = client();
    ASSERT_TRUE(stranger.send("GET /for-admins HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 1000000\r\n" +
                              std::string(token) + "\r\n"));
    const auto answer = stranger.receive();
    EXPECT_EQ(answer.status, 401) << "and not 100";
    EXPECT_EQ(answer.headers.at("connection"), "close");
  }
  auto friendly = client();
  ASSERT_TRUE(friendly.send(
      "GET /for-admins HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer good\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n"));
  EXPECT_EQ(friendly.receive().status, 100);
  EXPECT_EQ(friendly.exchange("ok").status, 200);
}

TEST_F(Door, AConnectionGoesOnAfterARefusalIfTheBodyIsThere) {  // S2
  start_with_tokens();
  auto peer = client();
  EXPECT_EQ(peer.exchange("GET /for-admins HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello").status, 401);
  EXPECT_EQ(peer.exchange(post_to("/nowhere", "Content-Length: 5\r\n", "hello")).status, 404);
  EXPECT_EQ(peer.exchange("GET /hello HTTP/1.1\r\nHost: x\r\n\r\n").status, 200);
}

// The body comes when the token has been revoked.
TEST_F(Door, ASlowBodyIsAdmittedAgainAtItsEnd) {  // S3
  std::atomic<bool> is_revoked = false;
  std::atomic<int> asked = 0;
  start([&](const Request&, std::function<void(Admission)> done) {
    ++asked;
    if (is_revoked) return done(std::nullopt);
    done(Principal{.org = OrgId{7}, .role = Role::admin, .name = "ci"});
  });
  auto peer = client();
  ASSERT_TRUE(peer.send(
      "GET /for-admins HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer good\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n"));
  ASSERT_EQ(peer.receive().status, 100);
  is_revoked = true;
  EXPECT_EQ(peer.exchange("ok").status, 401);
  EXPECT_EQ(asked, 2);
}

TEST_F(Door, NoByteBehindARefusedRequestIsExecuted) {  // S5
  start_with_tokens();
  for (const std::string& refused : {std::string("GET /for-admins HTTP/1.1\r\nHost: x\r\nContent-Length: 60\r\n\r\n"),
                                     post_to("/echo", "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n"),
                                     post_to("/for-admins", "Transfer-Encoding: chunked\r\n"),
                                     std::string("GET /hello HTTP/1.1\r\nHost: x\r\n folded: 1\r\n\r\n")}) {
    auto peer = client();
    const auto answer = peer.exchange(refused + "GET /things/smuggled HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_GE(answer.status, 400);
    peer.finish_sending();
    EXPECT_EQ(peer.until_close(), "") << refused;
  }
}

TEST_F(Door, BodiesOfOneAddressHaveAShareOfTheMemory) {  // S2
  config_.limits.body_bytes = 1 << 20;
  config_.limits.http_bytes = 8 << 20;
  config_.limits.http_bytes_per_address = 2 << 20;
  start();
  auto witness = client();  // so that the host does not forget the address with all that it holds
  ASSERT_EQ(witness.exchange("GET /hello HTTP/1.1\r\nHost: x\r\n\r\n").status, 200);
  std::vector<Client> slow;
  for (int i = 0; i < 2; ++i) {
    slow.push_back(client());
    ASSERT_TRUE(slow.back().send(post_to("/echo", "Expect: 100-continue\r\nContent-Length: 900000\r\n")));
    ASSERT_EQ(slow.back().receive().status, 100);
  }
  auto third = client();
  const auto answer = third.exchange(post_to("/echo", "Content-Length: 900000\r\n"));
  EXPECT_EQ(answer.status, 429);
  EXPECT_EQ(answer.code(), "too_many_bytes");
  EXPECT_EQ(answer.headers.at("retry-after"), "1");
  EXPECT_EQ(status_of_body(1000), 201) << "small requests go on";
  EXPECT_EQ(slow.front().exchange(std::string(900'000, 'x')).status, 201);
  slow.clear();
  EXPECT_EQ(status_of_body(900'000), 201) << "what was held is given back";
}

TEST_F(Door, BodiesOfAllAddressesShareTheMemory) {  // S2
  config_.limits.http_bytes = 1 << 20;
  config_.limits.http_bytes_per_address = 1 << 20;
  config_.trusted_proxies = {*parse_range("127.0.0.1")};
  start();
  auto slow = client();
  ASSERT_TRUE(slow.send(post_to("/echo", "X-Forwarded-For: 192.0.2.1\r\nExpect: 100-continue\r\nContent-Length: 700000\r\n")));
  ASSERT_EQ(slow.receive().status, 100);
  const auto answer = client().exchange(post_to("/echo", "X-Forwarded-For: 192.0.2.2\r\nContent-Length: 700000\r\n"));
  EXPECT_EQ(answer.status, 503);
  EXPECT_EQ(answer.code(), "unavailable");
}

TEST_F(Door, AChunkedBodyIsCountedAsItGrows) {  // S2
  config_.limits.body_bytes = 1 << 20;
  config_.limits.http_bytes = 1 << 20;
  config_.limits.http_bytes_per_address = 1 << 20;
  start();
  auto slow = client();
  ASSERT_TRUE(slow.send(post_to("/echo", "Expect: 100-continue\r\nContent-Length: 600000\r\n")));
  ASSERT_EQ(slow.receive().status, 100);
  auto peer = client();
  ASSERT_TRUE(peer.send(post_to("/echo", "Transfer-Encoding: chunked\r\n")));
  const std::string chunk = "10000\r\n" + std::string(0x10000, 'x') + "\r\n";
  for (int i = 0; i < 9; ++i) peer.send(chunk);
  EXPECT_EQ(peer.receive().status, 429);
}

TEST_F(Door, HeadsBeyondTheFirstBytesCountToo) {  // S2
  config_.limits.header_bytes = 700'000;
  config_.limits.http_bytes = 1 << 20;
  config_.limits.http_bytes_per_address = 1 << 20;
  start();
  auto peer = client();
  ASSERT_TRUE(peer.send("GET /hello HTTP/1.1\r\nX: " + std::string(5'000, 'x')));
  EXPECT_EQ(peer.receive().status, 429);
}

TEST_F(Door, OneAddressHasItsShareOfTheConnections) {  // S2
  config_.limits.http_connections_per_address = 2;
  start();
  auto first = client();
  auto second = client();
  EXPECT_EQ(first.exchange("GET /hello HTTP/1.1\r\nHost: x\r\n\r\n").status, 200);
  EXPECT_EQ(second.exchange("GET /hello HTTP/1.1\r\nHost: x\r\n\r\n").status, 200);
  auto third = client();
  const auto answer = third.receive();
  EXPECT_EQ(answer.status, 429);
  EXPECT_EQ(answer.code(), "too_many_connections");
  EXPECT_EQ(first.exchange("GET /hello HTTP/1.1\r\nHost: x\r\n\r\n").status, 200);
}

TEST_F(Door, TrustedProxiesHaveAllConnections) {  // S2 S14
  config_.limits.http_connections_per_address = 1;
  config_.trusted_proxies = {*parse_range("127.0.0.0/8")};
  start();
  std::vector<Client> many;
  for (int i = 0; i < 5; ++i) {
    many.push_back(client());
    EXPECT_EQ(many.back().exchange("GET /hello HTTP/1.1\r\nHost: x\r\n\r\n").status, 200);
  }
}

// What frames chunks, and what lies around requests, is not free.
TEST_F(Door, ExtensionsOfChunksCountAgainstTheLimits) {  // S3
  start();
  auto peer = client();
  ASSERT_TRUE(peer.send(post_to("/echo", "Transfer-Encoding: chunked\r\n")));
  const std::string chunk = "1;x=" + std::string(1'000, 'y') + "\r\nz\r\n";
  bool is_open = true;
  for (int i = 0; i < 1'000 && is_open; ++i) is_open = peer.send(chunk);
  EXPECT_EQ(peer.receive().status, 400);
}

TEST_F(Door, ChunksOfOneByteAreStillTaken) {  // S3
  start();
  std::string body;
  for (int i = 0; i < 20'000; ++i) body += "1\r\nz\r\n";
  EXPECT_EQ(client().exchange(post_to("/echo", "Transfer-Encoding: chunked\r\n", body + "0\r\n\r\n")).body.size(), 20'000u);
}

TEST_F(Door, TrailersAreReadAsStrictlyAsHeads) {  // S5
  start();
  for (const auto* trailers :
       {"A: b\r\n folded\r\n", " A: b\r\n", "A : b\r\n", "A\r\n", ": b\r\n", "A: \x01\r\n", "A: b\nC: d\r\n"}) {
    auto peer = client();
    EXPECT_EQ(
        peer.exchange(post_to("/echo", "Transfer-Encoding: chunked\r\n", "1\r\nz\r\n0;a=b\r\n" + std::string(trailers) + "\r\n"))
            .status,
        400)
        << trailers;
  }
  EXPECT_EQ(client().exchange(post_to("/echo", "Transfer-Encoding: chunked\r\n", "1\r\nz\r\n0\r\nA: b\r\nC: d\r\n\r\n")).status,
            201);
}

TEST_F(Door, AChunksLineThatEndsWithoutCrIsRefusedAtOnce) {  // T32: nothing more comes, and nobody waits for it
  start();
  for (const auto* rest : {"0\r\nA: b\n\n", "0\n\n", "1\nz", "0\r\nA: b\r\n\n"}) {
    auto peer = client();
    EXPECT_EQ(peer.exchange(post_to("/echo", "Transfer-Encoding: chunked\r\n", std::string("1\r\nz\r\n") + rest)).status, 400)
        << rest;
  }
  auto peer = client();
  EXPECT_EQ(peer.exchange(post_to("/echo", "Transfer-Encoding: chunked\r\n", "4\r\na\n\nb\r\n0\r\n\r\n")).body, "a\n\nb");
}

struct Refused {
  const char* name;
  std::string bytes;
};
class RefusedAtOnce : public ServerStory, public ::testing::WithParamInterface<Refused> {};

// The rest of the head never comes: nobody has to wait for it.
TEST_P(RefusedAtOnce, WithoutWaitingForTheRest) {  // S5
  start();
  auto peer = client();
  const auto answer = peer.exchange(GetParam().bytes);
  EXPECT_EQ(answer.status, 400) << answer.body;
  EXPECT_EQ(answer.headers.at("connection"), "close");
}

INSTANTIATE_TEST_SUITE_P(
    Http, RefusedAtOnce,
    ::testing::Values(Refused{"BareLineFeed", "GET /hello HTTP/1.1\n"},
                      Refused{"BareLineFeedInAHeader", "GET /hello HTTP/1.1\r\nA: b\n"},
                      Refused{"TrailingSpace", "GET /hello HTTP/1.1 "}, Refused{"TwoSpaces", "GET  /hello"},
                      Refused{"Fold", "GET /hello HTTP/1.1\r\nA: b\r\n "},
                      Refused{"FoldedLength", "POST /echo HTTP/1.1\r\nContent-Length:\r\n 5"}, Refused{"Tls", "\x16\x03\x01"},
                      Refused{"BadHost", "GET /hello HTTP/1.1\r\nHost: a b\r\n\r\n"},
                      Refused{"EmptyHost", "GET /hello HTTP/1.1\r\nHost:\r\n\r\n"},
                      Refused{"HostWithPath", "GET /hello HTTP/1.1\r\nHost: a/b\r\n\r\n"},
                      Refused{"HostWithBadPort", "GET /hello HTTP/1.1\r\nHost: a:99999\r\n\r\n"},
                      Refused{"AnotherScheme", "GET ftp://localhost/hello HTTP/1.1\r\nHost: localhost\r\n\r\n"},
                      Refused{"BadAuthority", "GET http://a b/ HTTP/1.1\r\n"},
                      Refused{"UserInAuthority", "GET http://u@x/hello HTTP/1.1\r\nHost: x\r\n\r\n"},
                      Refused{"TwoOrigins", "GET /hello HTTP/1.1\r\nHost: x\r\nOrigin: http://x\r\nOrigin: http://x\r\n\r\n"}),
    [](const auto& tried) { return tried.param.name; });

TEST_F(Door, AnAbsoluteTargetNamesTheHost) {  // S5
  start();
  EXPECT_EQ(ask("GET http://localhost/hello HTTP/1.1\r\nHost: other\r\n\r\n").status, 200);
  EXPECT_EQ(ask("GET http://evil.example/for-members HTTP/1.1\r\nHost: localhost\r\n\r\n").status, 403)
      << "the target's host counts";
}

TEST_F(Door, ExpectOfHttp10IsNoExpectation) {  // S5
  start();
  EXPECT_EQ(ask("POST /echo HTTP/1.0\r\nExpect: miracles\r\nContent-Length: 2\r\n\r\nok").body, "ok");
}

TEST_F(Door, WithoutTokensAPageElsewhereIsNotHeard) {  // S7
  start();
  EXPECT_EQ(ask("GET /for-members HTTP/1.1\r\nHost: localhost:1\r\n\r\n").status, 200);
  EXPECT_EQ(ask("GET /for-members HTTP/1.1\r\nHost: rebound.example\r\n\r\n").code(), "forbidden_host");
  EXPECT_EQ(ask("GET /for-members HTTP/1.1\r\nHost: localhost\r\nOrigin: http://evil.example\r\n\r\n").code(),
            "forbidden_origin");
  EXPECT_EQ(ask("GET /hello HTTP/1.1\r\nHost: rebound.example\r\n\r\n").status, 200) << "open to everybody";
}

TEST_F(Door, EveryAnswerSaysItsDateAndIsNotKeptOrGuessedAt) {  // S5
  start();
  for (const auto* request :
       {"GET /hello HTTP/1.1\r\nHost: x\r\n\r\n", "GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n", "nonsense\r\n"}) {
    const auto answer = ask(request);
    EXPECT_TRUE(answer.headers.at("date").ends_with(" GMT")) << request;
    EXPECT_EQ(answer.headers.at("date").size(), 29u);
    EXPECT_EQ(answer.headers.at("cache-control"), "no-store");
    EXPECT_EQ(answer.headers.at("x-content-type-options"), "nosniff");
  }
}

// The one connection that may be is free again, although its request is never answered.
TEST_F(Door, WhoHangsUpIsNotWaitedFor) {  // S1
  config_.limits.http_connections = 1;
  config_.timeouts.answer = Millis(3'600'000);
  start();
  auto peer = client();
  ASSERT_TRUE(peer.send("GET /held HTTP/1.1\r\nHost: x\r\n\r\n"));
  const auto held = held_.take();
  ASSERT_TRUE(held);
  peer.close();
  const auto patience = std::chrono::steady_clock::now() + std::chrono::milliseconds(stories::kPatienceMs);
  bool is_free = false;
  while (!is_free && std::chrono::steady_clock::now() < patience) is_free = alive();
  EXPECT_TRUE(is_free);
}

}  // namespace
}  // namespace waybill::http
