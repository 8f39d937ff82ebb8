// The rules are those of RFC 9112 and RFC 8259, and what is known of readers that break them.
#include "hostile/requests.h"

#include <array>
#include <random>
#include <string_view>
#include <vector>

namespace waybill::testing {
namespace {

using namespace std::string_literals;

std::string intent_of(const std::string& id) {
  return R"({"intentId":")" + id + R"(","submissionTarget":"sms.deadline","payload":{"to":"+15550100","message":"x"}})";
}

class Maker {
 public:
  Maker(std::uint64_t number, const std::string& own, const std::string& hidden)
      : random_(number), own_(own), hidden_(last_request(hidden)) {}

  HostileRequest make() {
    switch (random_() % 8) {
      case 0:
        return with_two_lengths();
      case 1:
        return with_odd_length();
      case 2:
        return with_odd_chunks();
      case 3:
        return with_damaged_head();
      case 4:
        return with_odd_host();
      case 5:
        return with_odd_target();
      case 6:
        return with_odd_size();
      default:
        return with_odd_body();
    }
  }

 private:
  template <class T, std::size_t size>
  const T& one_of(const std::array<T, size>& all) {
    return all[random_() % size];
  }
  std::string head(const std::string& lines, const std::string& host = "Host: localhost\r\n") {
    return "POST /v1/intents HTTP/1.1\r\n" + host + "Content-Type: application/json\r\n" + lines + "\r\n";
  }
  static std::string length(std::size_t size) { return "Content-Length: " + std::to_string(size) + "\r\n"; }
  static std::string chunk(const std::string& bytes) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string size;
    for (auto rest = bytes.size(); rest > 0; rest /= 16) size.insert(size.begin(), kDigits[rest % 16]);
    return size + "\r\n" + bytes + "\r\n";
  }

  // Each reader takes the length that it prefers; behind it lies the hidden request.
  HostileRequest with_two_lengths() {
    static const std::array<std::string, 6> kCodings{
        "Transfer-Encoding: chunked\r\n",    "transfer-encoding: Chunked\r\n",
        "Transfer-Encoding: identity\r\n",   "Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n",
        "Transfer-Encoding: x, chunked\r\n", "Transfer-Encoding:\tchunked \r\n"};
    const auto& coding = one_of(kCodings);
    const auto body = "0\r\n\r\n" + hidden_;
    const auto size = length(random_() % 2 == 0 ? body.size() : 5);
    switch (random_() % 4) {
      case 0:
        return {head(size + coding) + body, true};
      case 1:
        return {head(coding + size) + body, true};
      case 2:
        return {head(length(5) + length(body.size())) + body, true};
      default:
        return {head("Content-Length: 5, " + std::to_string(body.size()) + "\r\n") + body, true};
    }
  }

  HostileRequest with_odd_length() {
    static const std::array<std::string, 16> kLengths{
        "+5",  "0x5", "5;",    "5 5", "-1",   "5.0",     "5e0", "five", "99999999999999999999", "18446744073709551621",
        "5\v", "5\f", "\"5\"", "5-",  "5\0"s, "\xd9\xa5"};
    return {head("Content-Length: " + one_of(kLengths) + "\r\n") + "12345" + hidden_, true};
  }

  HostileRequest with_odd_chunks() {
    const auto coded = head("Transfer-Encoding: chunked\r\n");
    const auto body = intent_of(own_);
    static const std::array<std::string, 17> kBad{"5\n12345\r\n",
                                                  "5\r12345\r\n",
                                                  "0x5\r\n12345\r\n",
                                                  "+5\r\n12345\r\n",
                                                  " 5\r\n12345\r\n",
                                                  "5\r\n1234567\r\n",
                                                  "5\r\n12345",
                                                  "5;\n\r\n12345\r\n",
                                                  "-5\r\n12345\r\n",
                                                  "g\r\n",
                                                  "5\0\r\n12345\r\n"s,
                                                  "5;a=\"b\r\n12345\r\n",
                                                  "ffffffffffffffff5\r\n",
                                                  "\r\n",
                                                  "5 5\r\n12345\r\n",
                                                  "5,5\r\n12345\r\n",
                                                  "5;a=\x01\r\n12345\r\n"};
    static const std::array<std::string, 7> kBadTrailers{" folded: 1\r\n", "A: b\r\n c\r\n", "A : b\r\n", "A: b\n",
                                                         "A\r\n",          ": b\r\n",        "A: \0\r\n"s};
    switch (random_() % 4) {
      case 0:
        return {coded + one_of(kBad) + "0\r\n\r\n" + hidden_, true};
      case 1:
        return {coded + chunk(body) + "0\r\n" + one_of(kBadTrailers) + "\r\n" + hidden_, true};
      case 2:
        return {
            coded + chunk(body.substr(0, 9)) + chunk(body.substr(9)) + "0;x=\"y;z\"\r\nContent-Length: 9\r\nHost: evil\r\n\r\n",
            false};
      default:
        return {coded + chunk(hidden_) + "000\r\n\r\n", false};
    }
  }

  HostileRequest with_damaged_head() {
    const auto body = intent_of(own_);
    auto whole = head("X-Note: first\r\nX-More: second\r\n" + length(body.size()));
    static const std::array<std::string, 12> kBytes{"\0"s, "\n",   "\r",   "\r\n ",  "\r\n\t", "\v",
                                                    "\f",  "\x7f", "\x1b", "\r\r\n", "\n\r\n", "\x01"};
    const auto lines = whole.find("X-Note");
    const auto at = lines + random_() % (whole.size() - lines - 4);
    whole.insert(at, one_of(kBytes));
    return {whole + body + hidden_, true};
  }

  HostileRequest with_odd_host() {
    const auto body = intent_of(own_);
    static const std::array<std::string, 14> kHosts{"Host: a b\r\n",
                                                    "Host:\r\n",
                                                    "",
                                                    "Host: localhost\r\nHost: localhost\r\n",
                                                    "Host: localhost/x\r\n",
                                                    "Host: u@localhost\r\n",
                                                    "Host: localhost:99999\r\n",
                                                    "Host: localhost:\r\n",
                                                    "Host: [::1\r\n",
                                                    "Host: localhost, evil\r\n",
                                                    "Host: local%68ost\r\n",
                                                    "Host : localhost\r\n",
                                                    "Host: \xc3\xa9\r\n",
                                                    " Host: localhost\r\n"};
    static const std::array<std::string, 4> kElsewhere{"Host: evil.example\r\n", "Host: localhost.evil.example\r\n",
                                                       "Host: 0.0.0.0\r\n", "Host: LOCALHOST:1\r\n"};
    if (random_() % 3 == 0) return {head(length(body.size()), one_of(kElsewhere)) + body, false};
    return {head(length(body.size()), one_of(kHosts)) + body + hidden_, true};
  }

  HostileRequest with_odd_target() {
    static const std::array<std::string, 12> kBad{"GET  /healthz HTTP/1.1",
                                                  "GET /healthz HTTP/1.1 ",
                                                  "GET /healthz  HTTP/1.1",
                                                  "GET\t/healthz HTTP/1.1",
                                                  " GET /healthz HTTP/1.1",
                                                  "GET ftp://localhost/ HTTP/1.1",
                                                  "GET http://u@localhost/ HTTP/1.1",
                                                  "GET localhost:80 HTTP/1.1",
                                                  "GET * HTTP/1.1",
                                                  "GET /\x80 HTTP/1.1",
                                                  "GET /healthz http/1.1",
                                                  "G@T /healthz HTTP/1.1"};
    static const std::array<std::string, 12> kOdd{"GET /%00 HTTP/1.1",
                                                  "GET /%zz HTTP/1.1",
                                                  "GET /v1/intents/%2e%2e%2fhealthz HTTP/1.1",
                                                  "GET //healthz HTTP/1.1",
                                                  "GET /../healthz HTTP/1.1",
                                                  "GET /healthz#x HTTP/1.1",
                                                  "GET http://evil.example/v1/stats HTTP/1.1",
                                                  "TRACE /healthz HTTP/1.1",
                                                  "CONNECT /healthz HTTP/1.1",
                                                  "OPTIONS /healthz HTTP/1.1",
                                                  "GET /v1/intents/%c0%ae HTTP/1.1",
                                                  "GET /v1/intents?cursor=%ff&cursor=a HTTP/1.1"};
    if (random_() % 2 == 0) return {one_of(kBad) + "\r\nHost: localhost\r\n\r\n" + hidden_, true};
    return {one_of(kOdd) + "\r\nHost: localhost\r\n\r\n", false};
  }

  HostileRequest with_odd_size() {
    switch (random_() % 4) {
      case 0:
        return {head("X: " + std::string(20'000 + random_() % 20'000, 'x') + "\r\n"), false};
      case 1: {
        std::string many;
        for (std::size_t i = 0, count = random_() % 4'000; i < count; ++i) many += "a:\r\n";
        return {head(many + length(0)), false};
      }
      case 2:
        return {head(length(std::size_t{1} << (20 + random_() % 30))) + hidden_, false};
      default: {
        std::string empty_lines;
        for (std::size_t i = 0, count = random_() % 3'000; i < count; ++i) empty_lines += "\r\n";
        return {empty_lines + "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", false};
      }
    }
  }

  HostileRequest with_odd_body() {
    const auto good = intent_of(own_);
    static const std::array<std::string, 18> kBodies{
        "",
        "{",
        "[]",
        "null",
        "{\"intentId\":1}",
        "{\"intentId\":\"a\",\"intentId\":\"b\",\"submissionTarget\":\"sms.deadline\"}",
        "\xef\xbb\xbf{}",
        "{\"intentId\":\"\\ud800\"}",
        "{\"intentId\":\"\xff\"}",
        "{\"a\":01}",
        "{\"a\":1,}",
        "{/**/}",
        "{'a':1}",
        "{\"a\":NaN}",
        "{\"intentId\":\"\\u0000\",\"submissionTarget\":\"sms.deadline\"}",
        "{\"intentId\":\"\xc2\x85\",\"submissionTarget\":\"sms.deadline\"}",
        "\"",
        "{\"a\":1e999999}"};
    std::string body;
    switch (random_() % 5) {
      case 0:
        body = one_of(kBodies);
        break;
      case 1:
        body = good + "\0"s + hidden_;
        break;
      case 2:
        body = std::string(5'000, '[') + std::string(5'000, ']');
        break;
      case 3:
        body = good.substr(0, random_() % good.size());
        break;
      default:
        body = good;
        body[random_() % body.size()] = static_cast<char>(random_() % 256);
        if (body.find(own_) == std::string::npos) body = "{}";  // whose id it became is nobody's
    }
    return {head(length(body.size())) + body, false};
  }

  std::mt19937_64 random_;
  const std::string& own_;
  const std::string hidden_;
};

}  // namespace

std::string last_request(const std::string& intent_id) {
  const auto body = intent_of(intent_id);
  return "POST /v1/intents HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nConnection: "
         "close\r\nContent-Length: " +
         std::to_string(body.size()) + "\r\n\r\n" + body;
}

HostileRequest hostile_request(std::uint64_t number, const std::string& own, const std::string& hidden) {
  return Maker(number, own, hidden).make();
}

}  // namespace waybill::testing
