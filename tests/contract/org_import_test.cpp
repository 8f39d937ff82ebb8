// An exported organisation is imported whole, under new ids, or not at all.  O7
#include "base/version.h"
#include "contract/org_import_world.h"
#include "domain/channel.h"
#include "store/organisations/org_keys.h"

namespace waybill::testing {
namespace {

using nlohmann::json;

// Columns of numbers that mean the same everywhere. A new one stands here or among imported_columns().
const std::set<std::string> kPlainNumbers{"organisations.weight",
                                          "alerts.count",
                                          "alerts.told",
                                          "alerts.counted",
                                          "alerts.telling_count",
                                          "attachments.position",
                                          "attachments.size",
                                          "attempts.number",
                                          "attempts.code",
                                          "dead_letters.action_order",
                                          "deliveries.action_order",
                                          "deliveries.attempt_count",
                                          "deliveries.replay",
                                          "failure_digests.failures",
                                          "notifications.bytes",
                                          "pipeline_given.step",
                                          "pipeline_given.place",
                                          "pipeline_repairs.step",
                                          "pipeline_steps.step",
                                          "pipeline_steps.actions",
                                          "pipeline_steps.first_action",
                                          "pipeline_submissions.step",
                                          "pipeline_submissions.next_action",
                                          "pipeline_versions.number",
                                          "provider_failures.count",
                                          "rate_orders.count",
                                          "rate_orders.per",
                                          "ready.action_order",
                                          "ready.attempt_count",
                                          "ready.lease_lost",
                                          "ready.uncounted",
                                          "ready.replay"};
// Names that the organisation's own people chose, or that were made without regard to an installation.
const std::set<std::string> kPlainNames{
    "alert_events.rule_id",     "alert_events.event_id",           "alert_rules.rule_id",          "attachments.attachment_id",
    "channels.channel_id",      "notifications.channel_id",        "notification_windows.rule_id", "notifications.rule_id",
    "rule_channels.channel_id", "notification_windows.channel_id", "rule_channels.rule_id"};

// Rows as they are but for what an import may change: ids by their place among all of their kind.
Tables normal(const Lines& lines) {
  std::map<std::string, std::set<std::int64_t>> ids;
  const auto each_id = [&](json& row, const std::string& table, const std::function<void(json&, const std::string&)>& act) {
    for (const auto& column : imported_columns()) {
      if (column.table != table || !is_imported_id(column.kind) || !row.contains(column.column)) continue;
      json& value = row.at(std::string(column.column));
      if (value.is_array())
        for (json& one : value) act(one, std::string(column.kind));
      else if (!value.is_null())
        act(value, std::string(column.kind));
    }
  };
  Tables rows;
  for (std::size_t i = 1; i + 1 < lines.size(); ++i) {
    auto line = json::parse(lines[i]);
    rows[line.at("table")].push_back(line.at("row"));
  }
  for (auto& [table, all] : rows)
    for (auto& row : all)
      each_id(row, table, [&](json& id, const std::string& kind) { ids[kind].insert(id.get<std::int64_t>()); });
  for (auto& [table, all] : rows) {
    for (auto& row : all) {
      each_id(row, table, [&](json& id, const std::string& kind) {
        const auto& known = ids[kind];
        id = kind + " " + std::to_string(std::distance(known.begin(), known.find(id.get<std::int64_t>())));
      });
      for (const char* changed : {"org_id", "shard", "claim_token", "claimed_by"}) row.erase(changed);
      if (table == "audit_log" || table == "dead_letter_edits") row.erase("id");
      if (table == "channels")
        for (const char* changed : {"disabled_at", "disabled_reason", "failing_since"}) row.erase(changed);
      if (table == "pipeline_versions") row.erase("number");
      if (table == "pipeline_versions") row.erase("created_at");
    }
    std::sort(all.begin(), all.end());
  }
  return rows;
}

// O7: each row of each table comes back but for ids, shards and secrets
TEST_F(OrgImport, WhatIsExportedAgainIsWhatWasImported) {
  target.sql.execute("UPDATE installation SET shards = 16");
  const auto file = exported();
  const auto done = imported(file);
  ASSERT_TRUE(done) << done.error().what;
  EXPECT_EQ(done->org, OrgId{2}) << "no other organisation had the number";
  EXPECT_EQ(done->file.rows, static_cast<std::int64_t>(file.size()) - 2);
  const auto again = exported_from(target.address(kAdmin), "acme");
  auto before = normal(file), after = normal(again);
  for (const auto& table : tables(true)) {
    EXPECT_EQ(before[table], after[table]) << table;
    EXPECT_EQ(before[table].empty(),
              std::ranges::any_of(left_out_of_exports(), [&](const LeftOut& one) { return one.what == table; }))
        << table;
  }
  EXPECT_EQ(before["pipeline_versions"], after["pipeline_versions"]);
  EXPECT_EQ(before["pipeline_versions"].size(), 2u) << "also the one that the other one starts";
  EXPECT_EQ(before["organisations"], after["organisations"]);
  EXPECT_EQ(imported(file).error().what, "there is an organisation \"acme\" already: choose another name with --as");
}

// O7: nothing of the file's ids is left, and each id says where its row is
TEST_F(OrgImport, IdsAreNewAndTellTheShardOfTheirSubmission) {
  target.sql.execute("UPDATE installation SET shards = 16");
  const auto file = exported();
  ASSERT_TRUE(imported(file));
  auto before = rows_in(file), after = rows_in(exported_from(target.address(kAdmin), "acme"));
  std::map<std::string_view, std::set<std::int64_t>> old;
  const auto ids_of = [](const json& value) {
    std::vector<std::int64_t> ids;
    if (value.is_array()) return value.get<std::vector<std::int64_t>>();
    if (!value.is_null() && value != 0) ids.push_back(value);
    return ids;
  };
  for (const auto& column : imported_columns())
    if (is_imported_id(column.kind))
      for (const auto& row : before[std::string(column.table)])
        for (const auto id : ids_of(row.at(std::string(column.column)))) old[column.kind].insert(id);
  for (const auto& column : imported_columns()) {
    for (const auto& row : after[std::string(column.table)]) {
      if (!row.contains(column.column)) continue;  // left out
      const auto& value = row.at(std::string(column.column));
      if (is_imported_id(column.kind)) {
        for (const auto id : ids_of(value)) EXPECT_FALSE(old[column.kind].contains(id)) << column.table << "." << column.column;
      } else if (column.kind == imported::kShard) {
        EXPECT_EQ(value, row.at(std::string(column.source)).get<std::int64_t>() % 1024) << column.table;
      }
    }
  }
  for (const char* table : {"submissions", "archived_submissions", "dead_letters", "digest_failures"})
    for (const auto& row : after[table]) {
      if (row.value("kind", "") == "notification") continue;
      ASSERT_TRUE(row.at("client_ref").is_string()) << table;
      EXPECT_EQ(row.at("shard"), shard_for({2}, row.at("client_ref").get<std::string>(), 16)) << table;
    }
  ASSERT_EQ(after["channels"].size(), 1u);
  const auto of_channel = shard_for({2}, after["channels"][0].at("channel_id").get<std::string>(), 16);
  EXPECT_EQ(after["channels"][0].at("shard"), of_channel);
  EXPECT_EQ(
      target.sql.number("SELECT count(*) FROM submissions s JOIN notifications n ON n.shard = s.shard AND n.delivery_id = s.id "
                        "WHERE s.org_id = 2 AND s.kind = 'notification' AND s.shard = " +
                        std::to_string(of_channel)),
      1)
      << "a notification is where its channel is";
  for (const auto& row : after["deliveries"]) EXPECT_EQ(row.at("shard"), row.at("submission_id").get<std::int64_t>() % 1024);
}

// O7: whoever adds a column of numbers, or of ids, says what an import makes of it
TEST_F(OrgImport, EveryColumnOfIdsIsKnown) {
  std::set<std::string> known;
  for (const auto& column : imported_columns()) known.insert(std::string(column.table) + "." + std::string(column.column));
  std::set<std::string> left_out;
  for (const auto& one : left_out_of_exports()) left_out.emplace(one.what);
  std::set<std::string> all;
  for (const auto& row :
       sql.rows("SELECT c.relname, a.attname, a.attname ~ '_id$' AND a.atttypid IN ('text'::regtype, 'uuid'::regtype), "
                "EXISTS (SELECT FROM pg_constraint f WHERE f.contype = 'f' AND f.conrelid = c.oid AND a.attnum = ANY (f.conkey) "
                "AND f.confrelid <> 'channel_types'::regclass) "
                "FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped "
                "WHERE c.relnamespace = 'waybill'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition "
                "AND (c.relname IN ('organisations', 'pipeline_versions') "
                "     OR EXISTS (SELECT FROM pg_attribute o WHERE o.attrelid = c.oid AND o.attname = 'org_id')) "
                "AND (a.atttypid IN ('smallint'::regtype, 'integer'::regtype, 'bigint'::regtype, 'smallint[]'::regtype, "
                "                    'integer[]'::regtype, 'bigint[]'::regtype) "
                "     OR a.attname ~ '_id$' OR EXISTS (SELECT FROM pg_constraint f WHERE f.contype = 'f' AND f.conrelid = c.oid "
                "                                      AND a.attnum = ANY (f.conkey) AND f.confrelid <> "
                "'channel_types'::regclass))")) {
    const auto column = *row[0] + "." + *row[1];
    all.insert(column);
    if (left_out.contains(*row[0]) || *row[1] == "org_id") continue;
    const bool is_plain = (row[2] == "t" ? kPlainNames : kPlainNumbers).contains(column);
    EXPECT_NE(known.contains(column), is_plain) << column << ": is it an id of an object?";
  }
  known.erase("*.org_id");
  for (const auto& column : known)
    EXPECT_TRUE(all.contains(column) || column == "organisations.name" || column == "channels.secret") << column << " is gone";
  EXPECT_GE(known.size(), 60u);
}

// O7 N1: nothing goes to a receiver with a secret that it does not know
TEST_F(OrgImport, ChannelsArriveDisabledWithNewSecrets) {
  const auto done = imported(exported());
  ASSERT_TRUE(done) << done.error().what;
  EXPECT_EQ(done->channels, std::vector<std::string>{"1"});
  const auto rows = target.sql.rows(
      "SELECT c.channel_id, encode(c.secret, 'hex'), encode(k.sealed, 'hex'), c.disabled_reason FROM channels c JOIN org_keys k "
      "USING "
      "(org_id, key_id) WHERE c.org_id = 2 AND c.disabled_at IS NOT NULL AND c.secondary_secret IS NULL");
  ASSERT_EQ(rows.size(), 1u);
  const auto secret = vault->open({2}, 1, from_hex(*rows[0][2]), {{2}, *rows[0][0], kSecretField}, from_hex(*rows[0][1]));
  ASSERT_TRUE(secret) << secret.error().what;
  EXPECT_NE(rows[0][3]->find("give the receiver the new one"), std::string::npos);
}

// O7
TEST_F(OrgImport, WithoutAMasterKeyThereAreNoChannels) {
  vault = std::make_shared<const Vault>();
  const auto file = exported();
  EXPECT_NE(refusal(file).find("notify.key must name a secret"), std::string::npos);
  auto rest = file;
  for (const char* table : {"channels", "rule_channels"}) rest = without(rest, table);
  const auto done = imported(rest);
  EXPECT_TRUE(done) << done.error().what;
}

// O7: what a host of the other installation was sending may have been sent
TEST_F(OrgImport, WhatWasClaimedIsLeftToTheRescue) {
  ASSERT_TRUE(imported(exported()));
  EXPECT_EQ(
      target.sql.number("SELECT count(*) FROM ready r JOIN claims c ON c.shard = r.shard AND c.token = r.claim_token AND "
                        "r.delivery_id = ANY (c.deliveries) WHERE r.org_id = 2 AND r.status = 'claimed' AND r.claimed_by = 0 "
                        "AND c.token < 0 AND c.lease_until = 'epoch'"),
      rows_of(2).at("ready"));
}

// O7: keys have the number in them
TEST_F(OrgImport, AnotherNumberIsGivenOnlyToWhatHasNothingOpen) {
  target.sql.execute("INSERT INTO organisations (name) VALUES ('other')");
  const auto file = exported();
  EXPECT_NE(refusal(file).find("1 deliveries of the file are open: sms.primary (1). The organisation's number, 2, is or was"),
            std::string::npos);
  const auto done = imported(without(file, "ready"), {.name = "acme-2", .actor = "ada"});
  ASSERT_TRUE(done) << done.error().what;
  EXPECT_EQ(done->name, "acme-2");
  EXPECT_GT(done->org.value, 2);
  EXPECT_EQ(target.sql.number("SELECT org_id FROM organisations WHERE name = 'acme-2'"), done->org.value);
  EXPECT_EQ(target.sql.number("SELECT count(*) FROM submissions WHERE org_id = " + std::to_string(done->org.value)), 2);
}

// O7: nor is the number of an erased one used again
TEST_F(OrgImport, ANumberThatWasErasedIsNotUsedAgain) {
  target.sql.execute("INSERT INTO erasures (erased_org, table_name, rows, digest) VALUES (2, 'submissions', 1, '')");
  target.sql.execute("SELECT nextval('organisations_org_id_seq')");
  EXPECT_NE(refusal(exported()).find("is or was another's here"), std::string::npos);
}

// O7
TEST_F(OrgImport, OrganisationsToComeGetOtherNumbers) {
  ASSERT_TRUE(imported(exported()));
  EXPECT_GT(target.sql.number("INSERT INTO organisations (name) VALUES ('next') RETURNING org_id"), 2);
}

// O7: what a sequence has given does not come back
TEST_F(OrgImport, ARefusedFileUsesNoNumberUp) {
  auto lines = exported();
  change_row(lines, "attempts", [](json& row) { row["outcome"] = "fine"; });
  const std::string last = "SELECT last_value FROM organisations_org_id_seq";
  const auto before = target.sql.number(last);
  EXPECT_NE(refusal(lines), "");
  EXPECT_EQ(target.sql.number(last), before);
  auto high = json::parse(lines[0]);
  high["organisation"]["id"] = 2'000'000'001;
  lines[0] = high.dump();
  EXPECT_NE(refusal(sealed_again(lines)).find("line 1: 2000000001 is no number of an organisation"), std::string::npos);
}

// O7
TEST_F(OrgImport, WhatCannotBeHadHereIsRefused) {
  auto lines = exported();
  const auto with_header = [&](const std::function<void(json&)>& change) {
    auto changed = lines;
    auto header = json::parse(changed[0]);
    change(header);
    changed[0] = header.dump();
    return refusal(sealed_again(std::move(changed)));
  };
  EXPECT_NE(with_header([](json& header) { header["schema"] = program_version() + 1; }).find("upgrade Waybill here"),
            std::string::npos);
  EXPECT_NE(with_header([](json& header) { header["schema"] = program_version() - 1; }).find("export it anew"),
            std::string::npos);
  EXPECT_NE(with_header([](json& header) { header["organisation"]["name"] = "default"; }).find("every installation has"),
            std::string::npos);
  EXPECT_NE(with_header([](json& header) { header["organisation"]["id"] = 1; }).find("every installation has"),
            std::string::npos);
  EXPECT_NE(with_header([](json& header) { header["organisation"]["id"] = -1; }).find("line 1: -1 is no number"),
            std::string::npos);
  EXPECT_NE(refusal(lines, {.name = "default", .actor = "ada"}).find("is there already"), std::string::npos);
  EXPECT_NE(refusal(lines, {.name = "Not A Name", .actor = "ada"}).find("the name of an organisation is"), std::string::npos);
}

// O7: before anything of it is stored
TEST_F(OrgImport, AFileThatIsNotWholeIsRefused) {
  const auto lines = exported();
  auto cut = lines;
  cut.pop_back();
  EXPECT_NE(refusal(cut).find("line " + std::to_string(lines.size()) + ": the file ends without its last line"),
            std::string::npos);
  auto changed = lines;
  const auto at = changed[2].find("1");
  ASSERT_NE(at, std::string::npos);
  changed[2][at] = '2';
  EXPECT_NE(refusal(changed), "");
}

// O7
TEST_F(OrgImport, ABadRowIsNamedByItsLineAndColumn) {
  const auto lines = exported();
  const auto refused = [&](const std::string& table, const std::function<void(json&)>& change) {
    auto changed = lines;
    const auto line = std::to_string(change_row(changed, table, change));
    const auto said = refusal(changed);
    EXPECT_TRUE(said.starts_with("line " + line + ": ")) << line << " " << said;
    return said.substr(said.find(": ") + 2);
  };
  EXPECT_EQ(refused("attempts", [](json& row) { row["mood"] = "good"; }), "attempts has no column \"mood\" here");
  EXPECT_EQ(refused("attempts", [](json& row) { row.erase("reason"); }), "attempts: the column \"reason\" is missing");
  EXPECT_EQ(refused("attempts", [](json& row) { row["org_id"] = 1; }), "attempts: org_id: the row is of another organisation");
  EXPECT_EQ(refused("attempts", [](json& row) { row["delivery_id"] = "x"; }), "attempts: delivery_id: it is no id");
  EXPECT_EQ(refused("pipeline_submissions", [](json& row) { row["routes"] = 1; }), "pipeline_submissions: routes: it is no id");
  EXPECT_EQ(refused("submissions", [](json& row) { row["client_ref"] = 1; }), "submissions: client_ref: it is no text");
  EXPECT_TRUE(
      refused("form_submissions", [](json& row) { row["purged_at"] = "soon"; }).starts_with("form_submissions: purged_at: "));
  EXPECT_TRUE(refused("attempts", [](json& row) { row["outcome"] = "fine"; }).starts_with("attempts: "));
  for (const auto* never : {"infinity", "-infinity", "now"})
    EXPECT_EQ(refused("ready", [&](json& row) { row["due_at"] = never; }), "ready: due_at: it is no time") << never;
  EXPECT_EQ(refused("ready", [](json& row) { row["delivery_id"] = -4096; }), "ready: delivery_id: it is no id");
  EXPECT_EQ(refused("ready", [](json& row) { row["delivery_id"] = 18446744073709551615u; }), "ready: delivery_id: it is no id");
  for (const auto* bytes : {"\\x80ff", "\\x00", "{}"})
    EXPECT_EQ(refused("submissions", [&](json& row) { row["body"] = bytes; }), "submissions: body: it is no text") << bytes;
  for (const auto* contract : {"not json", "{}", "[]"})
    EXPECT_TRUE(refused("contract_snapshots", [&](json& row) { row["contract"] = contract; })
                    .starts_with("contract_snapshots: contract: "))
        << contract;
  EXPECT_TRUE(refused("alerts", [](json& row) { row["message"] = std::string("a\0b", 3); }).starts_with("alerts: "));
  EXPECT_NE(refused("pipeline_versions", [](json& row) { row["definition"] = row["definition"].get<std::string>() + " "; })
                .find("the definition is another one"),
            std::string::npos);
  auto foreign = lines;
  foreign[3] = R"({"table":"api_tokens","row":{"org_id":2}})";
  EXPECT_EQ(refusal(sealed_again(foreign)), "line 4: no organisation has rows of a table \"api_tokens\" here");
}

// O7: more than are inserted at once, of which a late one is refused
TEST_F(OrgImport, OneBadRowOfManyIsFound) {
  sql.execute(
      "INSERT INTO rate_orders (org_id, target, count, per, actor) SELECT 2, lpad(n::text, 4, '0'), 1, 1, 'a' FROM "
      "generate_series(1, 2500) n");
  auto lines = exported();
  EXPECT_TRUE(imported(lines, {.name = "", .actor = "ada", .is_rehearsal = true}));
  const auto bad =
      std::ranges::find_if(lines, [](const std::string& line) { return line.find("\"2222\"") != std::string::npos; });
  ASSERT_NE(bad, lines.end());
  auto row = json::parse(*bad);
  row["row"]["count"] = 0;
  *bad = row.dump();
  const auto number = std::to_string(bad - lines.begin() + 1);
  EXPECT_TRUE(refusal(sealed_again(lines)).starts_with("line " + number + ": rate_orders: "));
}

// O7: the session is ended while rows are inserted
TEST_F(OrgImport, AnImportThatIsCutOffLeavesNothing) {
  const auto file = exported();
  const auto before = state_of_target();
  bool is_cut = false;
  const auto done = imported(file, {.name = "", .actor = "ada"}, [&](std::int64_t) {
    if (!is_cut)
      is_cut = target.sql.number(
                   "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = "
                   "'waybill-import' AND datname = current_database()") == 1;
  });
  ASSERT_FALSE(done);
  EXPECT_TRUE(is_cut);
  EXPECT_EQ(done.error().kind, Error::Kind::unavailable) << done.error().what;
  EXPECT_EQ(state_of_target(), before);
  EXPECT_TRUE(imported(file)) << "it can be done again";
}

// O7
TEST_F(OrgImport, ARehearsalSaysTheSameAndLeavesNothing) {
  const auto file = exported();
  const auto before = state_of_target();
  const auto rehearsed = imported(file, {.name = "", .actor = "ada", .is_rehearsal = true});
  ASSERT_TRUE(rehearsed) << rehearsed.error().what;
  EXPECT_EQ(state_of_target(), before);
  const auto done = imported(file);
  ASSERT_TRUE(done) << done.error().what;
  EXPECT_EQ(rehearsed->org, done->org);
  EXPECT_EQ(rehearsed->file.rows, done->file.rows);
  EXPECT_EQ(rehearsed->open, done->open);
  EXPECT_EQ(rehearsed->channels, done->channels);
}

// O7
TEST_F(OrgImport, TheAuditSaysWhoImportedWhat) {
  sql.execute("UPDATE organisations SET disabled_at = now(), weight = 7 WHERE org_id = 2");
  const auto file = exported();
  const auto done = imported(file);
  ASSERT_TRUE(done) << done.error().what;
  EXPECT_TRUE(done->is_disabled);
  const auto said = json::parse(
      target.sql.text("SELECT metadata FROM audit_log WHERE org_id = 1 AND action = 'organisation_imported' AND actor = 'ada'"));
  EXPECT_EQ(said["organisation"], "acme");
  EXPECT_EQ(said["orgId"], 2);
  EXPECT_EQ(said["sha256"], json::parse(file.back())["sha256"]);
  EXPECT_EQ(said["rows"], file.size() - 2);
  EXPECT_EQ(said["from"]["orgId"], 2);
  EXPECT_EQ(target.sql.number("SELECT weight FROM organisations WHERE org_id = 2 AND disabled_at IS NOT NULL"), 7);
}

// O7: a version that is there already stays the only one
TEST_F(OrgImport, AVersionOfAPipelineIsFoundByItsContent) {
  const auto file = exported();
  ASSERT_TRUE(imported(file));
  EXPECT_EQ(target.sql.number("SELECT count(*) FROM pipeline_versions WHERE hash <> '\\x00'"), 2);
  EXPECT_EQ(target.sql.number("SELECT count(*) FROM pipeline_moves WHERE pipeline IN ('p', 'q') AND from_state = 's'"), 2);
  const auto done = imported(without(file, "ready"), {.name = "acme-2", .actor = "ada"});
  ASSERT_TRUE(done) << done.error().what;
  EXPECT_EQ(target.sql.number("SELECT count(*) FROM pipeline_versions WHERE hash <> '\\x00'"), 2);
  EXPECT_EQ(target.sql.number("SELECT count(DISTINCT version_id) FROM pipeline_submissions WHERE org_id > 1"), 1);
}

}  // namespace
}  // namespace waybill::testing
