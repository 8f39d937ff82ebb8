// What a plugin may ask for over HTTP, and what is refused before a byte leaves.  H4 H5 M8
#include "services/http_message.h"

#include <gtest/gtest.h>

namespace waybill {
namespace {

const Secrets& secrets() {
  static const Secrets secrets(Secrets::Values{{"api", {Secret("s3cret"), Secret("old")}}, {"bad", {Secret("a\r\nX-Evil: 1")}}});
  return secrets;
}

TEST(Url, AGoodOneNamesItsHostAndPort) {
  EXPECT_EQ(endpoint_of("http://Example.org/x?y=1")->authority, "example.org:80");
  EXPECT_EQ(endpoint_of("https://example.org")->authority, "example.org:443");
  EXPECT_EQ(endpoint_of("http://[::1]:8080/")->authority, "[::1]:8080");
}

TEST(Url, AnythingElseIsRefused) {
  for (const auto* url : {"", "example.org/x", "ftp://example.org/", "file:///etc/passwd", "http://",
                          "http://user:word@example.org/", "http://user@example.org/", "http://example.org/a b",
                          "http://example.org/\r\nX: y", "http:/nohost", "gopher://example.org", "http://example.org:99999/"})
    EXPECT_FALSE(endpoint_of(url)) << url;
  EXPECT_TRUE(endpoint_of("http://example.org/" + std::string(8000, 'x')));
  EXPECT_FALSE(endpoint_of("http://example.org/" + std::string(8192, 'x')));
  EXPECT_FALSE(endpoint_of(std::string_view("http://example.org/\0x", 21)));
}

TEST(Method, IsAFewCapitalsAndNoTunnel) {
  for (const auto* method : {"GET", "POST", "PATCH", "DELETE"}) EXPECT_FALSE(fault_in_method(method)) << method;
  for (const auto* method : {"", "get", "CONNECT", "TRACE", "GET /", "P\r\nOST", "ABCDEFGHIJKLMNOPQ"})
    EXPECT_TRUE(fault_in_method(method)) << method;
}

TEST(Header, ASecretIsFilledInByNameOnTheWayOut) {
  EXPECT_EQ(header_line("Authorization", "Bearer {secret:api}", secrets()).value(), "Authorization: Bearer s3cret");
  EXPECT_EQ(header_line("X", "{secret:api}{secret:api}.", secrets()).value(), "X: s3crets3cret.");
  EXPECT_EQ(header_line("X", "{not a secret}", secrets()).value(), "X: {not a secret}");
  EXPECT_EQ(header_line("X-Empty", "", secrets()).value(), "X-Empty;");
}

TEST(Header, WhatCouldSmuggleARequestIsRefusedWithoutShowingTheValue) {
  for (const auto* name :
       {"", "X Y", "X:", "X\r\nY", "Host", "content-length", "Transfer-Encoding", "CONNECTION", "Expect", "Upgrade", "TE"})
    EXPECT_FALSE(header_line(name, "v", secrets())) << name;
  for (const auto* value : {"a\r\nb", "a\nb", "a\x01", "a\x7f", "{secret:unknown}", "{secret:api", "{secret:bad}"}) {
    const auto line = header_line("X-Good", value, secrets());
    ASSERT_FALSE(line) << value;
    EXPECT_EQ(line.error().what.find("Evil"), std::string::npos);
  }
  EXPECT_FALSE(header_line("X", std::string_view("a\0b", 3), secrets()));
  EXPECT_FALSE(header_line("X", std::string(20'000, 'x'), secrets()));
}

TEST(BasicAuthentication, IsTwoSecretsByName) {
  const Secrets both(Secrets::Values{{"user", {Secret("Aladdin")}}, {"word", {Secret("open sesame")}}, {"odd", {Secret("a:b")}}});
  EXPECT_EQ(basic_line("user", "word", both).value(), "Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");  // RFC 7617, 2
  for (const auto& [user, password] : {std::pair{"user", ""}, {"", "word"}, {"user", "nobody"}, {"odd", "word"}})
    EXPECT_FALSE(basic_line(user, password, both)) << user << ":" << password;
  EXPECT_TRUE(basic_line("word", "odd", both)) << "a password may hold a colon";
}

TEST(RetryAfter, IsSecondsOrADateAndAtMostADay) {
  constexpr std::int64_t kNow = 1'445'412'480;  // Wed, 21 Oct 2015 07:28:00 GMT
  EXPECT_EQ(parse_retry_after("120", kNow), Millis(120'000));
  EXPECT_EQ(parse_retry_after(" 0 ", kNow), Millis(0));
  EXPECT_EQ(parse_retry_after("999999", kNow), Millis(86'400'000));
  EXPECT_EQ(parse_retry_after("99999999999999999999999999", kNow), Millis(86'400'000));
  EXPECT_EQ(parse_retry_after("Wed, 21 Oct 2015 07:28:30 GMT", kNow), Millis(30'000));
  EXPECT_EQ(parse_retry_after("Wed, 21 Oct 2015 07:27:00 GMT", kNow), Millis(0));
  EXPECT_EQ(parse_retry_after("Fri, 31 Dec 2100 23:59:59 GMT", kNow), Millis(86'400'000));
  for (const auto* value : {"", "soon", "-5", "1.5", "12 apples"}) EXPECT_FALSE(parse_retry_after(value, kNow)) << value;
}

}  // namespace
}  // namespace waybill
