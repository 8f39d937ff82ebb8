// The fragment for people: what comes from outside never becomes markup.  M15
#include "console/history_page.h"

#include <gtest/gtest.h>

namespace waybill {
namespace {

const std::string kNasty = "<script>alert('x')</script>\"&\"";
const std::string kHarmless = "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&quot;&amp;&quot;";

HistoryView history_of(const std::string& text) {
  return {.submission = {.id = {1024},
                         .org = kDefaultOrg,
                         .client_ref = text,
                         .target = text,
                         .state = text,
                         .reason = text,
                         .created = {0},
                         .completed = Timestamp{1'000'000}},
          .attempts = {{1, {0}, Timestamp{1'000'000}, text, text, text}}};
}

std::size_t occurrences(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++count;
  return count;
}

TEST(EscapeHtml, LeavesNothingThatMarkupIsMadeOf) {  // M15
  EXPECT_EQ(escape_html(kNasty), kHarmless);
  EXPECT_EQ(escape_html("&lt;"), "&amp;lt;");
  EXPECT_EQ(escape_html("Zoë 😀 plain"), "Zoë 😀 plain");
  EXPECT_EQ(escape_html(""), "");
}

TEST(HistoryFragment, EscapesEveryFieldThatComesFromOutside) {  // M15
  const auto html = history_fragment(history_of(kNasty));
  EXPECT_EQ(html.find("<script"), std::string::npos);
  EXPECT_EQ(occurrences(html, kHarmless), 7u) << "reference, target, state, reason; outcome, reason and error of the attempt";
}

TEST(HistoryFragment, HasASummaryAndARowForEachAttempt) {  // M15
  auto history = history_of("word");
  history.submission.reason.clear();
  history.attempts.push_back({2, {2'000'000}, std::nullopt, "unknown", "", "host 9 was lost"});
  const auto html = history_fragment(history);
  EXPECT_NE(html.find("<dt>Created</dt><dd>1970-01-01T00:00:00.000000Z</dd>"), std::string::npos) << html;
  EXPECT_NE(html.find("<dt>Completed</dt><dd>1970-01-01T00:00:01.000000Z</dd>"), std::string::npos);
  EXPECT_EQ(html.find("<dt>Reason</dt>"), std::string::npos) << "there is none";
  EXPECT_EQ(occurrences(html, "<tr><td>"), 2u);
  EXPECT_NE(html.find("<td>not seen</td>"), std::string::npos) << "nobody saw the end of the second attempt";
}

TEST(HistoryFragment, SaysSoWhenThereWasNoAttemptYet) {  // M15
  auto history = history_of("word");
  history.attempts.clear();
  EXPECT_NE(history_fragment(history).find("No attempt yet."), std::string::npos);
}

}  // namespace
}  // namespace waybill
