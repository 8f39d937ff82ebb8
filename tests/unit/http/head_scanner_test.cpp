// The grammar of heads and trailers: what passes, what is refused, and that it does not matter in which pieces the bytes come. S5
#include "http/head_scanner.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

namespace waybill::http {
namespace {

using Begin = HeadScanner::Begin;
using Verdict = HeadScanner::Verdict;

Verdict verdict_of(std::string_view bytes, Begin begin = Begin::request_line) { return HeadScanner(begin).scan(bytes); }

std::string with_line(std::string_view line) { return "GET / HTTP/1.1\r\nHost: x\r\n" + std::string(line) + "\r\n\r\n"; }

TEST(HeadScanner, TakesWhatTheGrammarAllows) {  // S5
  for (const std::string head :
       {"GET / HTTP/1.1\r\n\r\n", "M-SEARCH * HTTP/1.0\r\n\r\n", "GET http://a/b?c HTTP/1.1\r\nA:\r\nB: \r\nC:\t d\te \r\n\r\n",
        "P!#$%&'*+-.^_`|~ /~!@ HTTP/1.1\r\nX: \x80\xff\r\n\r\n"}) {
    HeadScanner scanner;
    EXPECT_EQ(scanner.scan(head + "rest"), Verdict::complete) << head;
    EXPECT_EQ(scanner.size(), head.size());
  }
}

TEST(HeadScanner, RefusesWhatTwoReadersCouldTakeDifferently) {  // S5
  const std::string nul("\0", 1);
  for (const std::string& head : {std::string(" GET / HTTP/1.1\r\n"),
                                  std::string("GET  / HTTP/1.1\r\n"),
                                  std::string("GET /  HTTP/1.1\r\n"),
                                  std::string("GET / HTTP/1.1 \r\n"),
                                  std::string("GET\t/ HTTP/1.1\r\n"),
                                  std::string("GET /\x7f HTTP/1.1\r\n"),
                                  std::string("GET /\xc3\xa9 HTTP/1.1\r\n"),
                                  std::string("GET / http/1.1\r\n"),
                                  std::string("GET / HTTP/11\r\n"),
                                  std::string("GET / HTTP/1.10\r\n"),
                                  std::string("GET /\r\n"),
                                  std::string("GET / HTTP/1.1\n"),
                                  std::string("GET / HTTP/1.1\rX"),
                                  std::string("G(T / HTTP/1.1\r\n"),
                                  "G" + nul,
                                  "GET /" + nul,
                                  std::string("\x16\x03\x01"),
                                  with_line(" folded"),
                                  with_line("\tfolded"),
                                  with_line("A: b\r\n c"),
                                  with_line(": empty"),
                                  with_line("A b: c"),
                                  with_line("A : b"),
                                  with_line("A"),
                                  with_line("A: b\nC: d"),
                                  with_line("A: b\rC: d"),
                                  with_line("A: " + nul),
                                  with_line("A: \x01"),
                                  with_line("A: \x7f"),
                                  with_line("A" + nul + ": b"),
                                  with_line("\xc3\xa9: b"),
                                  with_line("A\": b")}) {
    HeadScanner scanner;
    EXPECT_EQ(scanner.scan(head), Verdict::fault) << ::testing::PrintToString(head);
    EXPECT_NE(scanner.fault(), "");
  }
}

TEST(HeadScanner, TellsAnotherVersionFromNone) {  // S5
  for (const char* line : {"GET / HTTP/2.0\r\n", "GET / HTTP/0.9\r\n", "GET / HTTP/1.2\r\n", "PRI * HTTP/2.0\r\n"})
    EXPECT_EQ(verdict_of(line), Verdict::other_version) << line;
}

TEST(HeadScanner, ReadsTrailersByTheSameRules) {  // S5
  EXPECT_EQ(verdict_of("\r\n", Begin::fields), Verdict::complete);
  EXPECT_EQ(verdict_of("A: b\r\nC: d\r\n\r\n", Begin::fields), Verdict::complete);
  EXPECT_EQ(verdict_of("A: b\r\n c\r\n\r\n", Begin::fields), Verdict::fault);
  EXPECT_EQ(verdict_of(" A: b\r\n\r\n", Begin::fields), Verdict::fault);
  EXPECT_EQ(verdict_of("A: b\n\r\n", Begin::fields), Verdict::fault);
}

// S5: nothing depends on where a packet ends, and nothing that is refused is taken once more has come.
RC_GTEST_PROP(HeadScanner, ThePiecesMakeNoDifference, ()) {
  const auto parts = *rc::gen::container<std::vector<std::string>>(
      rc::gen::elementOf(std::vector<std::string>{"GET", " ", "/", "HTTP/1.1", "\r\n", "\r", "\n", "\t", ":", "A", "b",
                                                  std::string("\0", 1), "Host: x\r\n", "GET / HTTP/1.1\r\n", "\r\n\r\n"}));
  std::string head;
  for (const auto& part : parts) head += part;
  HeadScanner whole;
  const auto verdict = whole.scan(head);
  HeadScanner in_pieces;
  auto piecewise = Verdict::more;
  for (std::size_t size = 1; size <= head.size() && piecewise == Verdict::more; ++size)
    piecewise = in_pieces.scan(std::string_view(head).substr(0, size));
  RC_ASSERT(piecewise == verdict);
  RC_ASSERT(in_pieces.size() == whole.size());
  if (verdict == Verdict::complete) RC_ASSERT(head.substr(0, whole.size()).ends_with("\r\n\r\n"));
}

}  // namespace
}  // namespace waybill::http
