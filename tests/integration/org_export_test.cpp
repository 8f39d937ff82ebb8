// waybill org export as an operator uses it, beside a running host.  O7
#include <sstream>

#include "base/hex.h"
#include "domain/idempotency.h"
#include "support/world.h"

namespace waybill::testing {
namespace {

using nlohmann::json;

class Exporting : public World {
 protected:
  Exporting() { setup.auth = "tokens"; }
};

// O7: the file is whole by its own last line
TEST_F(Exporting, AFileHasWhatItHandedInAndWhatBecameOfIt) {
  ASSERT_EQ(installation().command({"org", "create", "acme"}).exit_code, 0);
  const auto made = installation().command({"token", "create", "ops", "--org", "acme", "--role", "owner", "--json"});
  const std::string token = json::parse(made.out).at("token");
  const auto answer = client().request("POST", "/v1/intents?waitSeconds=30", sms_intent("mine", "sms.once").dump(),
                                       {{"Authorization", "Bearer " + token}});
  ASSERT_EQ(answer.status, 200) << answer.body;

  const auto done = installation().command({"org", "export", "acme", "--actor", "ada"});
  ASSERT_EQ(done.exit_code, 0) << done.err;
  EXPECT_EQ(done.out.find(token), std::string::npos);
  std::map<std::string, std::vector<json>> rows;
  std::istringstream lines(done.out);
  std::string line, last;
  std::size_t before = 0;
  while (std::getline(lines, line)) {
    if (!last.empty()) before += last.size() + 1;
    last = line;
    const auto read = json::parse(line);
    if (read.contains("table")) rows[read["table"]].push_back(read["row"]);
  }
  EXPECT_EQ(json::parse(last)["sha256"], to_hex(as_view(sha256(std::string_view(done.out).substr(0, before)))));
  EXPECT_EQ(json::parse(done.out.substr(0, done.out.find('\n')))["actor"], "ada");
  ASSERT_EQ(rows["submissions"].size(), 1u);
  EXPECT_EQ(rows["submissions"][0]["client_ref"], "mine");
  ASSERT_EQ(rows["deliveries"].size(), 1u);
  EXPECT_EQ(rows["deliveries"][0]["status"], "accepted");
  EXPECT_EQ(rows["deliveries"][0]["submission_id"], rows["submissions"][0]["id"]);
  EXPECT_EQ(rows["attempts"].size(), 1u);
  EXPECT_FALSE(rows["audit_log"].empty());

  const auto file = (installation().folder() / "acme.jsonl").string();
  write_file(file, done.out);
  const auto verified = installation().command({"org", "verify", file, "--json"});
  ASSERT_EQ(verified.exit_code, 0) << verified.err;
  EXPECT_EQ(json::parse(verified.out)["organisation"], "acme");
  EXPECT_EQ(json::parse(verified.out)["tables"]["submissions"], 1);
  EXPECT_NE(installation().command({"org", "verify", file}).out.find("is whole: organisation acme"), std::string::npos);
  write_file(file, done.out.substr(0, before));
  const auto cut = installation().command({"org", "verify", file});
  EXPECT_EQ(cut.exit_code, 1);
  EXPECT_NE(cut.err.find("acme.jsonl: line "), std::string::npos) << cut.err;

  const auto unknown = installation().command({"org", "export", "nobody"});
  EXPECT_EQ(unknown.exit_code, 1);
  EXPECT_EQ(unknown.out, "");
  EXPECT_NE(unknown.err.find("there is no organisation \"nobody\""), std::string::npos) << unknown.err;
}

// O7
TEST_F(Exporting, WhatCannotBeWrittenIsAFailure) {
  const auto full = run({.arguments = {"/bin/sh", "-c", "exec \"$0\" \"$@\" > /dev/full", waybill_program().string(), "--config",
                                       installation().config().string(), "org", "export", "default"},
                         .folder = installation().folder()});
  EXPECT_EQ(full.exit_code, 1);
  EXPECT_NE(full.err.find("standard output cannot be written"), std::string::npos) << full.err;
  EXPECT_EQ(sql().number("SELECT count(*) FROM waybill.audit_log WHERE action = 'organisation_exported'"), 0);
}

}  // namespace
}  // namespace waybill::testing
