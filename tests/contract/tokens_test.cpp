// Tokens as the database keeps them: their ends, scopes and uses, and what a host of the version before makes of them.  M1 S3 S8
#include <thread>

#include "base/hex.h"
#include "contract/store_world.h"
#include "support/eventually.h"

namespace waybill::testing {
namespace {

class Tokens : public StoreWorld {
 protected:
  static NewToken token(const std::string& name, const std::string& role = "member") {
    return {.org = "default", .name = name, .role = role, .id = id_of(name), .hash = sha256(name)};
  }
  static std::string id_of(const std::string& name) { return to_hex(as_view(sha256(name))).substr(0, 12); }
  TokenView found(const std::string& name) {
    const auto view = tokens->find(sha256(name));
    EXPECT_TRUE(view && *view) << name;
    return view && *view ? **view : TokenView{};
  }
  // What a host of version 23 answers: the role, or "" for an unknown token.
  std::string former_host(const std::string& name) {
    const auto rows = sql.rows(
        "SELECT t.role FROM api_tokens t JOIN organisations o ON o.org_id = t.org_id WHERE t.revoked_at IS NULL AND t.hash = "
        "'\\x" +
        to_hex(as_view(sha256(name))) + "'");
    return rows.empty() ? "" : *rows[0].at(0);
  }
  std::string used(const std::string& name) {
    return sql.text("SELECT coalesce((SELECT round(extract(epoch FROM now() - used_at))::text FROM token_uses WHERE token_id = " +
                    std::to_string(found(name).number) + "), 'never')");
  }
};

TEST_F(Tokens, ATokenIsFoundByItsHashAlsoWhenItIsRevoked) {
  EXPECT_FALSE(tokens->find(sha256("ci"))->has_value());
  ASSERT_TRUE(tokens->create(token("ci", "admin")));
  const auto live = found("ci");
  EXPECT_EQ(live.org, kDefaultOrg);
  EXPECT_EQ(live.name, "ci");
  EXPECT_EQ(live.role, "admin");
  EXPECT_EQ(live.id, id_of("ci"));
  EXPECT_EQ(live.state, TokenView::State::live);
  EXPECT_FALSE(live.lasts);
  EXPECT_TRUE(live.targets.empty() && live.paths.empty());
  auto again = token("other");
  again.name = "ci";
  EXPECT_EQ(tokens->create(again).error().kind, Error::Kind::conflict);
  again.org = "nobody";
  EXPECT_EQ(tokens->create(again).error().kind, Error::Kind::not_found);
  EXPECT_TRUE(*tokens->revoke("default", "ci"));
  EXPECT_EQ(found("ci").state, TokenView::State::revoked);
  EXPECT_FALSE(*tokens->revoke("default", "ci")) << "there is none any more";
  again.org = "default";
  ASSERT_TRUE(tokens->create(again)) << "the name is free again";
  EXPECT_EQ(found("other").role, "member");
  EXPECT_FALSE(tokens->create(token("x", "king")));
  EXPECT_EQ(sql.number("SELECT count(*) FROM api_tokens WHERE hash = convert_to('ci', 'UTF8')"), 0) << "only hashes are kept";
}

// S8
TEST_F(Tokens, ATokenMayBeRevokedByItsId) {
  ASSERT_TRUE(tokens->create(token("ci")));
  EXPECT_FALSE(*tokens->revoke_by_id("ci"));
  EXPECT_TRUE(*tokens->revoke_by_id(id_of("ci")));
  EXPECT_FALSE(*tokens->revoke_by_id(id_of("ci")));
  EXPECT_EQ(found("ci").state, TokenView::State::revoked);
}

// S8
TEST_F(Tokens, ATokenEndsAndItsNameIsFreeThen) {
  auto brief = token("ci");
  brief.lasts = Millis(3'600'000);
  const auto made = tokens->create(brief);
  ASSERT_TRUE(made) << made.error().what;
  ASSERT_TRUE(made->expires);
  EXPECT_EQ(*made->expires - made->created, Micros(Seconds(3600)));
  const auto live = found("ci");
  ASSERT_TRUE(live.lasts);
  EXPECT_LE(*live.lasts, Micros(Seconds(3600)));
  EXPECT_GT(*live.lasts, Micros(Seconds(3000)));
  sql.execute("UPDATE api_tokens SET expires_at = now() - interval '1 second'");
  EXPECT_EQ(found("ci").state, TokenView::State::expired);
  EXPECT_EQ((*make_org_store(address)->find("default"))->tokens, 0);
  auto next = token("next");
  next.name = "ci";
  ASSERT_TRUE(tokens->create(next));
  EXPECT_EQ(found("next").state, TokenView::State::live);
}

// S8
TEST_F(Tokens, AScopeIsKeptAsItWasGiven) {
  auto scoped = token("ci");
  scoped.targets = {"sms.primary", R"(odd "{name},\ one)"};
  scoped.paths = {"/v1/intents", "/orgs/default/channels"};
  ASSERT_TRUE(tokens->create(scoped));
  EXPECT_EQ(found("ci").targets, scoped.targets);
  EXPECT_EQ(found("ci").paths, scoped.paths);
  EXPECT_TRUE(refused("UPDATE api_tokens SET only_targets = '{}'", "only_targets")) << "an empty scope would be everything";
}

// S8
TEST_F(Tokens, AnOperatorIsOneOfTheOrganisationDefault) {
  ASSERT_TRUE(make_org_store(address)->create("acme"));
  ASSERT_TRUE(tokens->create(token("root", "operator")));
  ASSERT_TRUE(tokens->create(token("boss", "owner")));
  EXPECT_EQ(found("root").role, "operator");
  EXPECT_EQ(found("boss").role, "owner");
  auto foreign = token("eve", "operator");
  foreign.org = "acme";
  EXPECT_EQ(tokens->create(foreign).error().kind, Error::Kind::invalid);
  EXPECT_TRUE(refused("UPDATE api_tokens SET org_id = 2 WHERE operates", "check"));
}

// S8: what a host of version 23 would take for more than it is, it does not find
TEST_F(Tokens, AFormerHostFindsOnlyWhatItReadsRightly) {
  for (const char* role : {"member", "admin", "operator", "owner"}) ASSERT_TRUE(tokens->create(token(role, role)));
  ASSERT_TRUE(make_org_store(address)->create("acme"));
  auto theirs = token("theirs", "owner"), brief = token("brief"), one_target = token("target"), one_path = token("path");
  theirs.org = "acme";
  brief.lasts = Millis(60'000);
  one_target.targets = {"sms"};
  one_path.paths = {"/v1/intents"};
  for (const auto& one : {theirs, brief, one_target, one_path}) ASSERT_TRUE(tokens->create(one));
  EXPECT_EQ(former_host("member"), "member");
  EXPECT_EQ(former_host("admin"), "admin");
  EXPECT_EQ(former_host("operator"), "owner") << "of default: an operator to it";
  EXPECT_EQ(former_host("theirs"), "owner");
  for (const char* name : {"owner", "brief", "target", "path"}) {
    EXPECT_EQ(former_host(name), "") << name;
    EXPECT_EQ(found(name).name, name);
  }
}

// S8: and a token that such a host's command makes is as good as one of ours
TEST_F(Tokens, ATokenOfAFormerVersionGoesOnWorking) {
  sql.execute("INSERT INTO api_tokens (org_id, name, role, hash) VALUES (1, 'old', 'owner', '\\x" +
              to_hex(as_view(sha256("old"))) + "')");
  const auto old = found("old");
  EXPECT_EQ(old.role, "owner");
  EXPECT_EQ(old.id.size(), 12u);
  EXPECT_TRUE(*tokens->revoke_by_id(old.id));
}

// S8
TEST_F(Tokens, AListHasEverythingButTheSecrets) {
  ASSERT_TRUE(make_org_store(address)->create("acme"));
  auto theirs = token("theirs");
  theirs.org = "acme";
  theirs.lasts = Millis(60'000);
  for (const auto& one : {token("b"), token("a", "operator"), theirs}) ASSERT_TRUE(tokens->create(one));
  ASSERT_TRUE(tokens->revoke("default", "b"));
  const std::vector<TokenUse> uses{{found("a").number, Seconds(100)}};
  ASSERT_TRUE(tokens->note_uses(uses));
  const auto names = [](const Result<std::vector<TokenRow>>& rows) {
    std::vector<std::string> all;
    for (const auto& row : *rows) all.push_back(row.name);
    return all;
  };
  EXPECT_EQ(names(tokens->list("default", false)), (std::vector<std::string>{"a"}));
  EXPECT_EQ(names(tokens->list("default", true)), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(names(tokens->list(std::nullopt, true)), (std::vector<std::string>{"theirs", "a", "b"}));
  EXPECT_TRUE(tokens->list("nobody", true)->empty());
  const auto all = *tokens->list(std::nullopt, true);
  EXPECT_EQ(all[0].org, "acme");
  EXPECT_TRUE(all[0].expires);
  EXPECT_FALSE(all[0].used);
  EXPECT_EQ(all[1].role, "operator");
  EXPECT_EQ(all[1].id, id_of("a"));
  EXPECT_TRUE(all[1].used);
  EXPECT_FALSE(all[1].revoked);
  EXPECT_TRUE(all[2].revoked);
}

// S8
TEST_F(Tokens, TheLastUseOfAllHostsIsStoredOnceAMinute) {
  ASSERT_TRUE(tokens->create(token("ci")));
  const auto number = found("ci").number;
  const auto note = [&](Micros ago) {
    const std::vector<TokenUse> uses{{number, ago}};
    return tokens->note_uses(uses).has_value();
  };
  EXPECT_EQ(used("ci"), "never");
  EXPECT_TRUE(note(Seconds(600)));
  EXPECT_EQ(used("ci"), "600");
  EXPECT_TRUE(note(Seconds(570)));
  EXPECT_TRUE(note(Seconds(900)));
  EXPECT_EQ(used("ci"), "600") << "another host saw it a little later, or earlier";
  EXPECT_TRUE(note(Seconds(0)));
  EXPECT_EQ(used("ci"), "0");
  EXPECT_TRUE(tokens->note_uses({}));
}

// S8: a report or a dump that holds tokens holds up no use, and the other way round
TEST_F(Tokens, NeitherWaitsForTheOthersLocks) {
  ASSERT_TRUE(tokens->create(token("ci")));
  const auto number = found("ci").number;
  SqlClient person(url);
  person.execute(
      "SET search_path TO waybill; BEGIN; SELECT FROM api_tokens FOR UPDATE; LOCK TABLE api_tokens IN SHARE ROW EXCLUSIVE MODE;"
      " LOCK TABLE token_uses IN ACCESS EXCLUSIVE MODE");
  EXPECT_EQ(found("ci").name, "ci");
  const std::vector<TokenUse> uses{{number, Seconds(0)}};
  DatabaseAddress hasty = address;
  hasty.timeouts.lock = Millis(100);
  EXPECT_EQ(make_token_store(hasty, "tasks")->note_uses(uses).error().kind, Error::Kind::unavailable);
  person.execute("COMMIT; BEGIN; LOCK TABLE api_tokens IN ACCESS EXCLUSIVE MODE");
  EXPECT_TRUE(tokens->note_uses(uses));
  person.execute("COMMIT");
}

}  // namespace
}  // namespace waybill::testing
