// The HTTP server as a client on a socket sees it: requests, answers, errors and limits. M4 M14
#include "http/server.h"

#include <gtest/gtest.h>

#include "unit/http/server_story.h"

namespace waybill::http {
namespace {

using stories::Answer;
using stories::Client;
using stories::ServerStory;

class HttpServer : public ServerStory {};

std::string get(std::string_view target, std::string_view more = "") {
  return "GET " + std::string(target) + " HTTP/1.1\r\nHost: localhost\r\n" + std::string(more) + "\r\n";
}

std::string post(std::string_view body, std::string_view more = "") {
  return "POST /echo HTTP/1.1\r\nHost: localhost\r\n" + std::string(more) + "Content-Length: " + std::to_string(body.size()) +
         "\r\n\r\n" + std::string(body);
}

TEST_F(HttpServer, ManyRequestsShareAConnection) {
  start();
  auto peer = client();
  for (int i = 0; i < 3; ++i) {
    const auto answer = peer.exchange(get("/hello"));
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.headers.at("content-type"), "application/json");
    EXPECT_EQ(answer.body, "{\"hello\":1}");
    EXPECT_FALSE(answer.headers.contains("connection"));
  }
}

TEST_F(HttpServer, BodyTypeParametersAndQueryReachTheRoute) {
  start();
  const auto echoed = ask(post("{\"a\":1}", "Content-Type: application/json; odd=1\r\n"));
  EXPECT_EQ(echoed.status, 201);
  EXPECT_EQ(echoed.headers.at("content-type"), "application/json; odd=1");
  EXPECT_EQ(echoed.body, "{\"a\":1}");
  EXPECT_EQ(ask(get("/things/a%2Fb?q=%20")).body, "a/b|/things/a/b|q=%20");
}

// T21: what a route does not know, or nobody can read, is refused before the route sees it
TEST_F(HttpServer, AQueryThatTheRouteDoesNotTakeIsRefused) {
  start();
  for (const char* query : {"p=1", "q=%ff", "q=%00", "q=%", "%ff=1", "q=1&q=2", "q=1&Q=2", "q"}) {
    const auto answer = ask(get(std::string("/things/a?") + query));
    EXPECT_EQ(answer.status, std::string_view(query) == "q" ? 200 : 400) << query;
  }
  EXPECT_EQ(ask(get("/hello?q=1")).status, 400);
}

TEST_F(HttpServer, PipelinedRequestsAreAnsweredInOrder) {
  start();
  auto peer = client();
  std::string all;
  for (int i = 0; i < 200; ++i) all += get("/things/" + std::to_string(i)) + post(std::string(static_cast<std::size_t>(i), 'b'));
  ASSERT_TRUE(peer.send(all));
  for (int i = 0; i < 200; ++i) {
    const auto number = std::to_string(i);
    ASSERT_EQ(peer.receive().body, number + "|/things/" + number + "|");
    ASSERT_EQ(peer.receive().body.size(), static_cast<std::size_t>(i));
  }
}

TEST_F(HttpServer, ARequestMayComeByteByByte) {
  start();
  auto peer = client();
  for (const char c : "\r\n" + post("slow", "Content-Type: application/json\r\n")) ASSERT_TRUE(peer.send({&c, 1}));
  EXPECT_EQ(peer.receive().body, "slow");
}

TEST_F(HttpServer, AChunkedBodyIsPutTogether) {
  start();
  auto peer = client();
  const auto answer = peer.exchange(
      "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Type: application/json;a=b\r\nTransfer-Encoding: chunked\r\n\r\n"
      "4;note=\"x\"\r\nway-\r\n4\r\nbill\r\n0\r\nContent-Type: text/evil\r\n\r\n");
  EXPECT_EQ(answer.status, 201);
  EXPECT_EQ(answer.body, "way-bill");
  EXPECT_EQ(answer.headers.at("content-type"), "application/json;a=b") << "a trailer replaced a header";
  EXPECT_EQ(peer.exchange(get("/hello")).status, 200);
}

TEST_F(HttpServer, Http10ClosesUnlessAskedNotTo) {
  start();
  auto once = client();
  const auto answer = once.exchange("GET /hello HTTP/1.0\r\n\r\n");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.headers.at("connection"), "close");
  EXPECT_EQ(once.until_close(), "");
  auto kept = client();
  EXPECT_EQ(kept.exchange("GET /hello HTTP/1.0\r\nConnection: keep-alive\r\n\r\n").headers.at("connection"), "keep-alive");
  EXPECT_EQ(kept.exchange("GET /hello HTTP/1.0\r\n\r\n").status, 200);
}

TEST_F(HttpServer, ConnectionCloseIsHonoured) {
  start();
  auto peer = client();
  EXPECT_EQ(peer.exchange(get("/hello", "Connection: close\r\n")).headers.at("connection"), "close");
  EXPECT_EQ(peer.until_close(), "");
}

TEST_F(HttpServer, HeadIsGetWithoutTheBody) {
  start();
  auto peer = client();
  ASSERT_TRUE(peer.send("HEAD /hello HTTP/1.1\r\nHost: x\r\n\r\n" + get("/things/next")));
  const auto head = peer.receive(true);
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.headers.at("content-length"), "11");
  EXPECT_EQ(peer.receive().body, "next|/things/next|");
}

TEST_F(HttpServer, ExpectContinueIsToldToGoOn) {
  start();
  auto peer = client();
  ASSERT_TRUE(peer.send("POST /echo HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n"));
  EXPECT_EQ(peer.receive().status, 100);
  EXPECT_EQ(peer.exchange("ok").body, "ok");
  const auto refused =
      client().exchange("POST /echo HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 99999999\r\n\r\n");
  EXPECT_EQ(refused.status, 413) << "the body must not be asked for";
  EXPECT_EQ(ask("POST /echo HTTP/1.1\r\nHost: x\r\nExpect: miracles\r\nContent-Length: 2\r\n\r\nok").status, 417);
}

TEST_F(HttpServer, UnknownPathsAndMethodsAreToldApart) {  // M3
  start();
  auto peer = client();
  const auto missing = peer.exchange(get("/nowhere"));
  EXPECT_EQ(missing.status, 404);
  EXPECT_EQ(missing.code(), "not_found");
  const auto wrong = peer.exchange("DELETE /hello HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(wrong.status, 405);
  EXPECT_EQ(wrong.code(), "method_not_allowed");
  EXPECT_EQ(wrong.headers.at("allow"), "GET, HEAD");
  EXPECT_EQ(peer.exchange(get("/hello")).status, 200) << "the connection goes on";
}

struct Bad {
  const char* name;
  std::string bytes;
  int status;
};

class BadRequest : public ServerStory, public ::testing::WithParamInterface<Bad> {};

TEST_P(BadRequest, IsRefusedInJsonAndTheConnectionClosed) {  // M4
  start();
  auto peer = client();
  const auto answer = peer.exchange(GetParam().bytes);
  EXPECT_EQ(answer.status, GetParam().status) << answer.body;
  EXPECT_EQ(answer.headers.at("content-type"), "application/json");
  EXPECT_EQ(answer.code(), GetParam().status == 505 ? "version_not_supported" : "invalid_request");
  EXPECT_EQ(answer.headers.at("connection"), "close");
  peer.finish_sending();
  EXPECT_EQ(peer.until_close(), "");
  EXPECT_FALSE(peer.was_reset());
  EXPECT_TRUE(alive());
}

INSTANTIATE_TEST_SUITE_P(
    Http, BadRequest,
    ::testing::Values(
        Bad{"Garbage", "\x16\x03\x01\x02 hello\r\n\r\n", 400}, Bad{"NoVersion", "GET /hello\r\n\r\n", 400},
        Bad{"NotHttp", "GET /hello SMTP/1.0\r\n\r\n", 400}, Bad{"Http2", "GET /hello HTTP/2.0\r\nHost: x\r\n\r\n", 505},
        Bad{"Http2Preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505}, Bad{"Http09", "GET /hello HTTP/0.9\r\n\r\n", 505},
        Bad{"BareLineFeed", "GET /hello HTTP/1.1\nHost: x\n\n", 400},
        Bad{"SpaceInName", "GET /hello HTTP/1.1\r\nHost: x\r\nBad Name: 1\r\n\r\n", 400},
        Bad{"SpaceBeforeColon", "GET /hello HTTP/1.1\r\nHost : x\r\n\r\n", 400},
        Bad{"NulInValue", std::string("GET /hello HTTP/1.1\r\nHost: x\r\nA: b\0c\r\n\r\n", 40), 400},
        Bad{"NoHost", "GET /hello HTTP/1.1\r\n\r\n", 400},
        Bad{"TwoHosts", "GET /hello HTTP/1.1\r\nHost: x\r\nHost: x\r\n\r\n", 400},
        Bad{"HostIsUrl", "GET /hello HTTP/1.1\r\nHost: a/b\r\n\r\n", 400},
        Bad{"TwoAuthorizations", "GET /hello HTTP/1.1\r\nHost: x\r\nAuthorization: a\r\nAuthorization: b\r\n\r\n", 400},
        Bad{"BadLength", "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n", 400},
        Bad{"HugeLength", "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999999\r\n\r\n", 400},
        Bad{"TwoLengths", "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", 400},
        Bad{"LengthThenCoding",
            "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
        Bad{"CodingThenLength",
            "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n", 400},
        Bad{"LengthAndOtherCoding", "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\nContent-Length: 2\r\n\r\nab",
            400},
        Bad{"OtherCoding", "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n", 400},
        Bad{"ChunkedNotLast", "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n", 400},
        Bad{"TwoCodings", "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 400},
        Bad{"CodingInHttp10", "POST /echo HTTP/1.0\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
        Bad{"BadChunk", "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400},
        Bad{"ChunkTooLongForItself", "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n0\r\n\r\n",
            400}),
    [](const auto& tried) { return tried.param.name; });

TEST_F(HttpServer, PathsThatAreNoTextAreRefused) {  // M4
  start();
  auto peer = client();
  for (const char* target : {"/things/%00", "/things/%ff", "/things/%zz", "/things/%2"}) {
    const auto answer = peer.exchange(get(target));
    EXPECT_EQ(answer.status, 400) << target;
    EXPECT_EQ(answer.code(), "invalid_request");
  }
}

TEST_F(HttpServer, HeadersBeyondTheLimitAreRefused) {
  config_.limits.header_bytes = 1000;
  start();
  for (const std::string& request : {get("/hello", "X: " + std::string(1000, 'x') + "\r\n"), "GET /" + std::string(70'000, 'x'),
                                     get("/hello", "X: " + std::string(300'000, 'x') + "\r\n")}) {
    auto peer = client();
    const auto answer = peer.exchange(request);
    EXPECT_EQ(answer.status, 431);
    EXPECT_EQ(answer.code(), "headers_too_large");
    peer.finish_sending();
    EXPECT_EQ(peer.until_close(), "");
    EXPECT_FALSE(peer.was_reset());
  }
  EXPECT_EQ(ask(get("/hello", "X: " + std::string(900, 'x') + "\r\n")).status, 200);
}

TEST_F(HttpServer, RequestLineAndHeadersCountTogether) {
  config_.limits.header_bytes = 1000;
  start();
  EXPECT_EQ(ask(get("/" + std::string(600, 'x'), "X: " + std::string(600, 'x') + "\r\n")).status, 431);
  EXPECT_EQ(ask(get("/" + std::string(400, 'x'), "X: " + std::string(400, 'x') + "\r\n")).status, 404);
}

TEST_F(HttpServer, ABodyBeyondTheLimitIsRefusedAndTheClientSeesWhy) {
  config_.limits.body_bytes = 1000;
  start();
  EXPECT_EQ(ask(post(std::string(1000, 'x'))).status, 201);
  const auto whole = post(std::string(2'000'000, 'x'));
  auto peer = client();
  ASSERT_TRUE(peer.send(whole.substr(0, 200)));
  const auto answer = peer.receive();
  EXPECT_EQ(answer.status, 413);
  EXPECT_EQ(answer.code(), "body_too_large");
  for (std::size_t at = 200; at < whole.size(); at += 1'000)
    ASSERT_TRUE(peer.send(whole.substr(at, 1'000))) << "the server must take in the rest: a reset can overtake its answer";
  peer.finish_sending();
  EXPECT_EQ(peer.until_close(), "");
  EXPECT_FALSE(peer.was_reset());
}

TEST_F(HttpServer, AChunkedBodyIsCountedAsItComes) {
  config_.limits.body_bytes = 1000;
  start();
  auto peer = client();
  ASSERT_TRUE(peer.send("POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"));
  for (int i = 0; i < 101; ++i) peer.send("a\r\n0123456789\r\n");
  EXPECT_EQ(peer.receive().status, 413);
  EXPECT_EQ(ask("POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nffffffffff\r\n").status, 413);
}

TEST_F(HttpServer, ThrowingRoutesAnswerAndAreLogged) {  // M4 H5
  start();
  auto peer = client();
  for (const char* target : {"/throws", "/throws-int"}) {
    const auto answer = peer.exchange(get(target));
    EXPECT_EQ(answer.status, 500);
    EXPECT_EQ(answer.code(), "internal_error");
    EXPECT_EQ(answer.body.find("secret detail"), std::string::npos);
  }
  EXPECT_TRUE(log_.wait_for("http.route_failed"));
  EXPECT_EQ(peer.exchange(get("/hello")).status, 200);
}

TEST_F(HttpServer, AnUnansweredRequestIsAnInternalErrorAndLogged) {  // M4 T21
  start();
  auto peer = client();
  EXPECT_EQ(peer.exchange(get("/drops")).code(), "internal_error");
  EXPECT_TRUE(log_.wait_for("http.reply_dropped"));
  EXPECT_EQ(peer.exchange(get("/twice")).body, "first");
  EXPECT_EQ(peer.exchange(get("/hello")).body, "{\"hello\":1}") << "a second reply must not answer the next request";
}

TEST_F(HttpServer, AWrongResponseCannotBreakTheFraming) {
  start();
  auto peer = client();
  const auto odd = peer.exchange(get("/odd-headers"));
  EXPECT_EQ(odd.status, 500);
  EXPECT_EQ(odd.headers.at("content-length"), "1");
  EXPECT_EQ(odd.headers.at("x-good"), "3");
  EXPECT_FALSE(odd.headers.contains("x-injected"));
  const auto nothing = peer.exchange(get("/nothing"));
  EXPECT_EQ(nothing.status, 204);
  EXPECT_FALSE(nothing.headers.contains("content-length"));
  EXPECT_EQ(peer.exchange(get("/hello")).status, 200);
}

TEST_F(HttpServer, WithoutAuthenticationEverybodyIsAnOwner) {
  start();
  EXPECT_EQ(ask(get("/for-owners")).body, "@1");
}

TEST_F(HttpServer, ATokensRoleDecides) {
  start([](const Request& request, std::function<void(Admission)> done) {
    std::thread([token = request.authorization.substr(7), done = std::move(done)] {
      if (token == "good") return done(Principal{.org = OrgId{7}, .role = Role::admin, .name = "ci"});
      if (token == "silent") return;
      if (token == "down") return done(error_response(503, "unavailable", "the tokens cannot be looked up"));
      done(std::nullopt);
    }).detach();
  });
  auto peer = client();
  for (const char* header :
       {"", "Authorization: Basic Z29vZA==\r\n", "Authorization: Bearer \r\n", "Authorization: Bearer bad\r\n"}) {
    const auto answer = peer.exchange(get("/for-members", header));
    EXPECT_EQ(answer.status, 401) << header;
    EXPECT_EQ(answer.code(), "unauthorized");
    EXPECT_EQ(answer.headers.at("www-authenticate"), "Bearer");
  }
  const auto good = "Authorization: bearer good\r\n";
  EXPECT_EQ(peer.exchange(get("/for-members", good)).body, "ci@7");
  EXPECT_EQ(peer.exchange(get("/for-admins", good)).status, 200);
  const auto refused = peer.exchange(get("/for-owners", good));
  EXPECT_EQ(refused.code(), "forbidden");
  EXPECT_NE(refused.body.find("needs the role owner, and the token has "), std::string::npos) << refused.body;
  EXPECT_EQ(peer.exchange(get("/hello")).status, 200) << "an open route needs no token";
  EXPECT_EQ(peer.exchange(get("/for-members", "Authorization: Bearer silent\r\n")).status, 500);
  EXPECT_EQ(peer.exchange(get("/for-members", "Authorization: Bearer down\r\n")).code(), "unavailable");
}

TEST_F(HttpServer, EveryAnswerIsCountedByRouteAndStatus) {  // M14
  start();
  ask(get("/things/7"));
  ask(get("/things/8"));
  ask(get("/nowhere"));
  ask("DELETE /hello HTTP/1.1\r\nHost: x\r\n\r\n");
  ask("nonsense\r\n\r\n");
  const auto text = metrics_.text();
  for (const char* line : {"{route=\"/things/{id}\",status=\"200\"} 2", "{route=\"unmatched\",status=\"404\"} 1",
                           "{route=\"/hello\",status=\"405\"} 1", "{route=\"unmatched\",status=\"400\"} 1"})
    EXPECT_NE(text.find("submission_http_requests_total" + std::string(line)), std::string::npos) << line << "\n" << text;
}

TEST_F(HttpServer, AnAddressInUseIsNamed) {
  start();
  config_.listen.port = server_->port();
  const auto second = Server::listen(config_, routes(), nullptr, log_, metrics_);
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().what.find("127.0.0.1:" + std::to_string(server_->port())), std::string::npos) << second.error().what;
  EXPECT_NE(second.error().what.find("in use"), std::string::npos) << second.error().what;
  config_.listen.host = "no such host";
  EXPECT_FALSE(Server::listen(config_, routes(), nullptr, log_, metrics_));
}

}  // namespace
}  // namespace waybill::http
