// The gauges of what waits, on a running host.
#include <gtest/gtest.h>

#include "support/forms_world.h"

namespace waybill::testing {
namespace {

class StandingMetrics : public FormsWorld {
 protected:
  StandingMetrics() {
    setup.plugins.emplace_back("sms");
    setup.plugins.emplace_back("push");
    auto targets = standard_targets(gateway.url());
    targets.push_back(target("fax", "fax", gateway.url(), "max_attempts", 3, {"gone"}));
    setup.registry = registry_of(targets);
  }
  bool shows(const std::string& name, double value) {
    return eventually([&] { return metric(client(), name, -1) == value; });
  }
};

// D13
TEST_F(StandingMetrics, WhatWaitsIsShownAndGoesAway) {
  EXPECT_EQ(metric(client(), "waybill_plugin_missing{action_type=\"fax\"}"), 1) << "from the first scrape on";
  EXPECT_TRUE(shows("submission_dead_letters_waiting", 0));
  EXPECT_TRUE(shows("submissions_unfinished{pipeline=\"intent\",state=\"pending\"}", 0));
  post_intent(client(), sms_intent("waits", "fax"));
  auto waiting = submission("with-file", "one");
  waiting["attachments"] = nlohmann::json::array({attachment("file-1")});
  EXPECT_EQ(hand_in(waiting).status, 201);
  sql().execute(
      "INSERT INTO waybill.dead_letters (shard, id, org_id, submission_id, kind, client_ref, target, action_order, action_type, "
      "reason, "
      "died_at) VALUES (0, 1, 1, 1, 'form', 'dead', 'one', 1, 'email_raw', 'rejected', now())");
  sql().execute(
      "INSERT INTO waybill.target_outages (org_id, target, until, reason) VALUES (1, 'sms.once', now() + interval '1 hour', "
      "'busy')");
  EXPECT_TRUE(shows("submission_dead_letters_waiting", 1));
  EXPECT_TRUE(shows("submission_targets_cooling", 1));
  EXPECT_TRUE(shows("submissions_unfinished{pipeline=\"intent\",state=\"pending\"}", 1));
  EXPECT_TRUE(shows("submissions_unfinished{pipeline=\"form\",state=\"received\"}", 1));
  EXPECT_EQ(scan("file-1", "clean").status, 200);
  EXPECT_EQ(wait_for_form("with-file").at("status"), "routed");
  sql().execute("UPDATE waybill.dead_letters SET replayed_at = now() WHERE client_ref = 'dead'");
  EXPECT_TRUE(shows("submission_dead_letters_waiting", 0));
  EXPECT_TRUE(shows("submissions_unfinished{pipeline=\"form\",state=\"received\"}", 0));
}

// D13
TEST_F(StandingMetrics, TheHostTellsItsVersionAndItsMemory) {
  const auto text = client().get("/metrics").body;
  const auto at = text.find("waybill_build_info{");
  ASSERT_NE(at, std::string::npos);
  const auto line = text.substr(at, text.find('\n', at) - at);
  const auto version = run({.arguments = {waybill_program().string(), "--version"}}).out;
  EXPECT_NE(line.find("version=\"" + version.substr(0, version.find('\n')) + "\""), std::string::npos) << line;
  EXPECT_TRUE(line.ends_with("} 1")) << line;
  EXPECT_GT(metric(client(), "process_resident_memory_bytes"), 1e6);
  EXPECT_GT(metric(client(), "process_start_time_seconds"), 1.7e9);
  EXPECT_GT(metric(client(), "process_open_fds"), 3);
}

}  // namespace
}  // namespace waybill::testing
