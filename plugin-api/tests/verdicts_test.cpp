// The verdicts that HTTP destinations share, row by row. H3
#include <gtest/gtest.h>

#include "waybill/plugin.hpp"

namespace waybill::plugin {
namespace {

struct Row {
  int status;
  wb_verdict verdict;
  wb_scope scope;
  const char* reason;
};

constexpr Row kRows[] = {
    {200, WB_ACCEPTED, WB_THIS_JOB, ""},
    {204, WB_ACCEPTED, WB_THIS_JOB, ""},
    {299, WB_ACCEPTED, WB_THIS_JOB, ""},
    {100, WB_TRANSIENT, WB_THIS_JOB, "invalid_answer"},
    {302, WB_TRANSIENT, WB_THIS_JOB, "invalid_answer"},
    {400, WB_REJECTED, WB_THIS_JOB, "refused"},
    {401, WB_TRANSIENT, WB_WHOLE_TARGET, "unauthorized"},
    {403, WB_TRANSIENT, WB_WHOLE_TARGET, "unauthorized"},
    {404, WB_REJECTED, WB_THIS_JOB, "refused"},
    {408, WB_TRANSIENT, WB_THIS_JOB, "try_later"},
    {410, WB_REJECTED, WB_THIS_JOB, "refused"},
    {422, WB_REJECTED, WB_THIS_JOB, "refused"},
    {425, WB_TRANSIENT, WB_THIS_JOB, "try_later"},
    {429, WB_TRANSIENT, WB_WHOLE_TARGET, "try_later"},
    {500, WB_TRANSIENT, WB_THIS_JOB, "server_error"},
    {501, WB_TRANSIENT, WB_THIS_JOB, "server_error"},
    {502, WB_TRANSIENT, WB_WHOLE_TARGET, "server_error"},  // T14: a proxy's word for a service that is away
    {503, WB_TRANSIENT, WB_WHOLE_TARGET, "server_error"},
    {504, WB_TRANSIENT, WB_WHOLE_TARGET, "server_error"},
    {505, WB_TRANSIENT, WB_THIS_JOB, "server_error"},
    {600, WB_TRANSIENT, WB_THIS_JOB, "invalid_answer"},
};

TEST(Verdicts, EveryStatusHasItsOwn) {
  for (const auto& row : kRows) {
    Response response;
    response.status = row.status;
    response.reach = Reach::answered;
    response.retry_after = std::chrono::milliseconds(7000);
    const auto outcome = judge(response, "refused");
    const auto raw = outcome.raw();
    EXPECT_EQ(raw.verdict, row.verdict) << row.status;
    EXPECT_EQ(raw.scope, row.scope) << row.status;
    EXPECT_EQ(view(raw.reason), row.reason) << row.status;
    EXPECT_EQ(raw.reach, WB_ANSWERED) << row.status;
    EXPECT_EQ(raw.code, row.status);
    EXPECT_EQ(raw.retry_after_ms, row.verdict == WB_ACCEPTED ? -1 : 7000) << row.status;
    EXPECT_EQ(view(raw.detail), row.verdict == WB_ACCEPTED ? "" : "status " + std::to_string(row.status));
  }
}

TEST(Verdicts, WithoutAnAnswerTheHostsReachCounts) {
  const std::pair<NetError, const char*> rows[] = {
      {NetError::refused, "refused_by_host"}, {NetError::resolve, "resolve_failed"}, {NetError::connect, "connect_failed"},
      {NetError::tls, "tls_failed"},          {NetError::timeout, "timeout"},        {NetError::broken, "connection_broken"},
      {NetError::cancelled, "cancelled"},     {NetError{999}, "connection_broken"},
  };
  for (const auto& [error, reason] : rows)
    for (const auto reach : {Reach::not_sent, Reach::maybe_sent, Reach::answered}) {
      Response response;
      response.error = error;
      response.reach = reach;
      response.error_text = "as the host saw it";
      const auto outcome = judge(response, "refused");
      const auto raw = outcome.raw();
      EXPECT_EQ(raw.verdict, WB_TRANSIENT) << reason;
      EXPECT_EQ(view(raw.reason), reason);
      EXPECT_EQ(raw.reach, static_cast<wb_reach>(reach)) << reason;
      const bool is_outage = reach == Reach::not_sent && error != NetError::refused && error != NetError::cancelled;
      EXPECT_EQ(raw.scope, is_outage ? WB_WHOLE_TARGET : WB_THIS_JOB)
          << reason << ": whoever cannot be reached, nobody can reach";
      EXPECT_EQ(view(raw.detail), "as the host saw it");
    }
}

}  // namespace
}  // namespace waybill::plugin
