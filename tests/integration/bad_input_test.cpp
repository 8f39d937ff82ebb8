// What no honest client would send: each is refused with the right status and a clear message, and the host lives on.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "support/world.h"

namespace waybill::testing {
namespace {

using nlohmann::json;
using namespace std::string_literals;

class BadInput : public World {
 protected:
  // Nothing was taken in, nothing went wrong inside, and the host still works.
  void TearDown() override {
    EXPECT_TRUE(host().running());
    EXPECT_EQ(sql().number("SELECT count(*) FROM waybill.submissions"), 0);
    EXPECT_EQ(post_intent(client(), sms_intent("good", "sms.deadline"), 30).json().at("status"), "accepted");
    const std::string answers = "submission_http_requests_total{route=\"/v1/intents\",status=";
    EXPECT_GE(metric(client(), answers + "\"200\"}"), 1) << "the good one";
    EXPECT_EQ(metric(client(), answers + "\"500\"}", 0), 0);
  }

  void expect_refusal(const HttpResponse& response, int status, const std::string& code, const std::string& name) {
    EXPECT_EQ(response.status, status) << name << ": " << response.body;
    EXPECT_EQ(response.error_code(), code) << name;
    EXPECT_GT(response.error_message().size(), 10u) << name << ": " << response.body;
    EXPECT_EQ(response.header("Content-Type").value_or("").substr(0, 16), "application/json") << name;
  }
};

std::string body_with_id(const std::string& id_as_json) {
  return R"({"submissionTarget":"sms.deadline","payload":{"to":"+15550100","message":"x"},"intentId":)" + id_as_json + "}";
}

std::string nested(std::size_t levels, const std::string& open, const std::string& close) {
  std::string text;
  for (std::size_t i = 0; i < levels; ++i) text += open;
  for (std::size_t i = 0; i < levels; ++i) text += close;
  return text;
}

std::string raw(const std::string& head, const std::string& body = "") {
  return head + "\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n" + body;
}

// M4
TEST_F(BadInput, BodiesThatAreNoIntentAreRefused) {
  const auto with = [](const std::string& more) { return R"({"intentId":"a","submissionTarget":"sms.deadline",)" + more + "}"; };
  const std::vector<std::pair<std::string, std::string>> bodies{
      {"empty", ""},
      {"blank", "  \n"},
      {"no json", "intentId=a"},
      {"truncated", R"({"intentId":"a","submissionTarget":"sms.dead)"},
      {"trailing text", R"({"intentId":"a","submissionTarget":"sms.deadline"} x)"},
      {"two values", R"({"intentId":"a","submissionTarget":"sms.deadline"}{})"},
      {"trailing comma", R"({"intentId":"a","submissionTarget":"sms.deadline",})"},
      {"comment", "{\"intentId\":\"a\", // hi\n\"submissionTarget\":\"sms.deadline\"}"},
      {"single quotes", "{'intentId':'a','submissionTarget':'sms.deadline'}"},
      {"byte order mark only", "\xef\xbb\xbf"},
      {"nan", with(R"("payload":NaN)")},
      {"huge exponent", R"({"intentId":1e999,"submissionTarget":"sms.deadline"})"},
      {"array", "[]"},
      {"string", R"("a")"},
      {"number", "1"},
      {"null", "null"},
      {"no fields", "{}"},
      {"no intentId", R"({"submissionTarget":"sms.deadline"})"},
      {"no submissionTarget", R"({"intentId":"a"})"},
      {"unknown target", R"({"intentId":"a","submissionTarget":"sms.nowhere"})"},
      {"empty target", R"({"intentId":"a","submissionTarget":""})"},
      {"target of another case", R"({"intentId":"a","submissionTarget":"SMS.deadline"})"},
      {"target number", R"({"intentId":"a","submissionTarget":7})"},
      {"target null", R"({"intentId":"a","submissionTarget":null})"},
      {"target object", R"({"intentId":"a","submissionTarget":{}})"},
      {"target with NUL", R"({"intentId":"a","submissionTarget":"sms.deadline\u0000"})"},
      {"target of 100 kB", R"({"intentId":"a","submissionTarget":")" + std::string(100'000, 'x') + "\"}"},
      {"unknown field", with(R"("priority":1)")},
      {"unknown field of the contract", with(R"("gatewayUrl":"http://127.0.0.1:1")")},
      {"field of another case", R"({"IntentId":"a","submissionTarget":"sms.deadline"})"},
      {"duplicate id", with(R"("intentId":"b")")},
      {"duplicate target", with(R"("submissionTarget":"sms.deadline")")},
      {"duplicate payload", with(R"("payload":{},"payload":{})")},
      {"id empty", body_with_id("\"\"")},
      {"id number", body_with_id("1")},
      {"id true", body_with_id("true")},
      {"id null", body_with_id("null")},
      {"id array", body_with_id("[\"a\"]")},
      {"id of 256 bytes", body_with_id("\"" + std::string(256, 'x') + "\"")},
      {"id of 128 two-byte letters and one", body_with_id("\"" + nested(128, "\xc3\xa9", "") + "\"")},
      {"id with NUL", body_with_id(R"("a\u0000b")")},
      {"id with a raw NUL", body_with_id("\"a\0b\""s)},
      {"id with a newline", body_with_id(R"("a\nb")")},
      {"id with a raw newline", body_with_id("\"a\nb\"")},
      {"id with DEL", body_with_id(R"("a\u007fb")")},
      {"id with invalid UTF-8", body_with_id("\"a\xff\"")},
      {"id with cut UTF-8", body_with_id("\"a\xc3\"")},
      {"id with overlong UTF-8", body_with_id("\"a\xc0\xaf\"")},
      {"id with a raw surrogate", body_with_id("\"a\xed\xa0\x80\"")},
      {"id with a lone surrogate", body_with_id(R"("a\ud800")")},
      {"payload with invalid UTF-8", with("\"payload\":\"\xfe\"")},
      {"payload with a raw NUL", with("\"payload\":\"\0\""s)},
      {"payload not JSON", with(R"("payload":hello)")},
      {"65 arrays", with("\"payload\":" + nested(65, "[", "]"))},
      {"65 objects", with("\"payload\":" + nested(65, "{\"a\":", "}").insert(65 * 5, "1"))},
      {"100,000 open arrays", with("\"payload\":" + nested(100'000, "[", ""))},
      {"100,000 open objects", with("\"payload\":" + nested(100'000, "{\"a\":", ""))},
      {"250,000 arrays", nested(250'000, "[", "]")},
  };
  for (const auto& [name, body] : bodies)
    expect_refusal(client().request("POST", "/v1/intents", body), 400, "invalid_request", name);
}

// M4: the message names what is wrong
TEST_F(BadInput, TheMessageNamesTheFieldAndWhatIsWrongWithIt) {
  const auto message = [&](const std::string& body) { return client().request("POST", "/v1/intents", body).error_message(); };
  EXPECT_NE(message(R"({"submissionTarget":"sms.deadline"})").find("intentId"), std::string::npos);
  EXPECT_NE(message(R"({"intentId":"a"})").find("submissionTarget"), std::string::npos);
  EXPECT_NE(message(R"({"intentId":"a","submissionTarget":"sms.nowhere"})").find("sms.nowhere"), std::string::npos);
  EXPECT_NE(message(R"({"intentId":"a","submissionTarget":"sms.deadline","colour":1})").find("colour"), std::string::npos);
}

// M5
TEST_F(BadInput, WaitSecondsIsANumberFromZeroToSixty) {
  const auto body = sms_intent("wait", "sms.deadline").dump();
  for (const auto* value : {"-1", "61", "1.5", "x", "", "99999999999999999999", "0x10", "1e1", "+5", "%31%00"})
    expect_refusal(client().request("POST", "/v1/intents?waitSeconds="s + value, body), 400, "invalid_request", value);
}

// M1: the largest id that is allowed, and everything about it
TEST_F(BadInput, WhatIsJustWithinTheLimitsIsTaken) {
  const std::vector<std::string> bodies{
      body_with_id("\"" + std::string(255, 'x') + "\""), body_with_id(R"("\u00e9 \ud83d\ude00")"),
      R"({"intentId":"deep","submissionTarget":"hook.once","payload":)" + nested(60, "[", "]") + "}",
      R"({"intentId":"big","submissionTarget":"hook.once","payload":")" + std::string(1'000'000, 'x') + "\"}"};
  for (const auto& body : bodies)
    EXPECT_EQ(client().request("POST", "/v1/intents?waitSeconds=30", body).status, 200) << body.substr(0, 300);
  EXPECT_EQ(client().get("/v1/intents/" + std::string(255, 'x')).status, 200);
  sql().execute("TRUNCATE waybill.submissions, waybill.deliveries, waybill.ready");  // for the check that all tests share
}

// M4
TEST_F(BadInput, WrongMethodsAndPathsAreRefused) {
  struct Case {
    std::string method, path;
    int status;
    std::string code;
  };
  const std::vector<Case> cases{{"GET", "/", 404, "not_found"},
                                {"GET", "/v1", 404, "not_found"},
                                {"GET", "/v1/intents/", 404, "not_found"},
                                {"GET", "/v1/intents/a/b", 404, "not_found"},
                                {"GET", "/v1/intents/a/history/b", 404, "not_found"},
                                {"GET", "/V1/intents/a", 404, "not_found"},
                                {"GET", "/v1//intents/a", 404, "not_found"},
                                {"GET", "/v1/intents/../intents/a", 404, "not_found"},
                                {"GET", "/v1/intents/%00", 404, "not_found"},
                                {"GET", "/" + std::string(5000, 'x'), 404, "not_found"},
                                {"DELETE", "/v1/intents/a", 405, "method_not_allowed"},
                                {"PUT", "/v1/intents", 405, "method_not_allowed"},
                                {"PATCH", "/v1/intents/a/history", 405, "method_not_allowed"},
                                {"POST", "/healthz", 405, "method_not_allowed"},
                                {"POST", "/metrics", 405, "method_not_allowed"},
                                {"GET", "/ui/history", 405, "method_not_allowed"}};
  for (const auto& c : cases) {
    const auto response = client().request(c.method, c.path);
    const auto name = c.method + " " + c.path.substr(0, 60);
    if (c.path.find("%00") != std::string::npos) {  // refused as an id or as unknown; both are right
      EXPECT_TRUE(response.status == 400 || response.status == 404) << name << ": " << response.status;
      continue;
    }
    expect_refusal(response, c.status, c.code, name);
    if (c.status == 405) {
      EXPECT_TRUE(response.header("Allow").has_value()) << name;
    }
  }
}

// M4
TEST_F(BadInput, WhatIsTooLargeIsRefusedBeforeItIsTaken) {
  const auto big_id = body_with_id("\"" + std::string(10 << 20, 'x') + "\"");
  HttpClient own(host().port());
  expect_refusal(own.request("POST", "/v1/intents", big_id), 413, "body_too_large", "id of 10 MB");
  HttpClient other(host().port());
  expect_refusal(other.request("POST", "/v1/intents", std::string((1 << 20) + 1, ' ')), 413, "body_too_large",
                 "one byte more than 1 MiB");
  HttpClient third(host().port());
  const auto head = third.request("GET", "/healthz", "", {{"X-Long", std::string(17 << 10, 'x')}});
  expect_refusal(head, 431, "headers_too_large", "header of 17 KiB");
  HttpClient fourth(host().port());
  const auto claimed = fourth.exchange(raw("POST /v1/intents HTTP/1.1\r\nContent-Length: 99999999999"));
  ASSERT_TRUE(claimed);
  expect_refusal(*claimed, 413, "body_too_large", "a length nobody sends");
  HttpClient fifth(host().port());
  const auto chunk = "100000\r\n" + std::string(1 << 20, ' ') + "\r\n";
  const auto chunked =
      fifth.exchange(raw("POST /v1/intents HTTP/1.1\r\nTransfer-Encoding: chunked", chunk + chunk + "0\r\n\r\n"));
  ASSERT_TRUE(chunked);
  expect_refusal(*chunked, 413, "body_too_large", "chunks of 2 MiB");
}

// M4
TEST_F(BadInput, BytesThatAreNotHttpAreRefused) {
  const std::vector<std::string> requests{"\r\n\r\n\r\n",
                                          "hello\r\n\r\n",
                                          "GET /healthz\r\n\r\n",
                                          "GET  /healthz HTTP/1.1\r\n\r\n",
                                          "GET /healthz HTTP/9.9\r\n\r\n",
                                          "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"s + std::string(600, '\0'),
                                          "G\0T /healthz HTTP/1.1\r\n\r\n"s,
                                          raw("POST /v1/intents HTTP/1.1\r\nContent-Length: -1"),
                                          raw("POST /v1/intents HTTP/1.1\r\nContent-Length: abc"),
                                          raw("POST /v1/intents HTTP/1.1\r\nContent-Length: 2\r\nContent-Length: 3", "{}x"),
                                          raw("POST /v1/intents HTTP/1.1\r\nTransfer-Encoding: chunked", "zz\r\n{}\r\n0\r\n\r\n"),
                                          raw("GET /healthz HTTP/1.1\r\nNo colon here"),
                                          raw("GET /v1/intents/%zz HTTP/1.1"),
                                          raw("GET /v1/intents/% HTTP/1.1"),
                                          raw("GET /v1/intents/%ff HTTP/1.1")};
  for (const auto& request : requests) {
    HttpClient own(host().port(), std::chrono::seconds(20));
    const auto response = own.exchange(request);
    ASSERT_TRUE(response) << "closed without a word: " << request.substr(0, 60);
    EXPECT_GE(response->status, 400) << request.substr(0, 60);
    EXPECT_TRUE(response->status < 500 || response->status == 505) << request.substr(0, 60);  // 505: HTTP of another version
    EXPECT_EQ(client().get("/healthz").status, 200) << request.substr(0, 60);
  }
}

// M4: a proxy that reads the one length and a host that reads the other would see different requests behind it
TEST_F(BadInput, ALengthAndChunksTogetherAreRefusedAndNothingBehindThemIsRead) {
  const auto intent = sms_intent("smuggled", "sms.deadline").dump();
  const auto hidden =
      "POST /v1/intents HTTP/1.1\r\nHost: a\r\nContent-Length: " + std::to_string(intent.size()) + "\r\n\r\n" + intent;
  const auto whole = "Content-Length: " + std::to_string(5 + hidden.size()) + "\r\n";
  for (const auto& lengths : {"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"s, "Transfer-Encoding: chunked\r\n" + whole,
                              whole + "Transfer-Encoding: chunked\r\n"}) {
    Socket own = Socket::connect(host().port());
    ASSERT_TRUE(own.send("POST /v1/intents HTTP/1.1\r\nHost: a\r\n" + lengths + "\r\n0\r\n\r\n" + hidden));
    std::string received;
    for (auto more = own.receive(kBound); more && !more->empty(); more = own.receive(kBound)) received += *more;
    EXPECT_TRUE(received.starts_with("HTTP/1.1 400 ")) << lengths << received;
    EXPECT_EQ(received.find("HTTP/1.1 ", 1), std::string::npos) << "two answers: " << lengths << received;
  }
}

// M4
TEST_F(BadInput, ASlowClientIsTimedOutAndDoesNotHoldUpOthers) {
  setup.more = "timeouts: {request_read: 1s}\n";
  Socket slow_head = Socket::connect(host().port());
  slow_head.send("POST /v1/intents HTTP/1.1\r\nHost: ");
  Socket slow_body = Socket::connect(host().port());
  slow_body.send("POST /v1/intents HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{");
  EXPECT_EQ(client().get("/healthz").status, 200);
  for (auto* slow : {&slow_head, &slow_body}) {
    std::string text;
    for (;;) {  // until the host closes
      const auto bytes = slow->receive(kBound);
      ASSERT_TRUE(bytes) << "the connection is still open";
      if (bytes->empty()) break;
      text += *bytes;
    }
    if (!text.empty()) {
      EXPECT_EQ(text.substr(0, 12), "HTTP/1.1 408");
    }
  }
}

// M4: a crowd of silent connections costs nobody anything
TEST_F(BadInput, ThousandsOfIdleConnectionsAreHeld) {
  const int crowd = all_rounds() ? 4000 : 2000;
  setup.more = "limits: { http_connections_per_address: 5000 }\n";
  client();  // started under the usual limit of open files, which the host has to lift by itself
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
  std::vector<Socket> idle;
  for (int i = 0; i < crowd; ++i) idle.push_back(Socket::connect(host().port()));
  EXPECT_EQ(client().get("/healthz").status, 200);
  for (auto* socket : {&idle.front(), &idle.back()}) {
    ASSERT_TRUE(socket->send("GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n"));
    EXPECT_EQ(socket->receive(kBound).value_or("").substr(0, 12), "HTTP/1.1 200");
  }
}

// M15
TEST_F(BadInput, TheHistoryFormRefusesWhatIsNoForm) {
  const HttpClient::Fields form{{"Content-Type", "application/x-www-form-urlencoded"}};
  for (const auto* body : {"", "intentId", "intentId=", "other=1", "intentId=%zz", "intentId=%00", "intentId=%ff"}) {
    const auto response = client().request("POST", "/ui/history", body, form);
    EXPECT_GE(response.status, 400) << body;
    EXPECT_LT(response.status, 500) << body;
  }
  for (const auto* body : {"intentId=a&intent=b", "intentId=a&x=%ff", "x=%zz&intentId=a", "intentId=%ff"})  // T21
    EXPECT_EQ(client().request("POST", "/ui/history", body, form).status, 400) << body;
}

}  // namespace
}  // namespace waybill::testing
