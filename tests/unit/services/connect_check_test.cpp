// What `waybill check --online` finds at a server or a relay, without sending anything.
#include "services/connect_check.h"

#include <gtest/gtest.h>

#include "unit/services/scripted_relay.h"
#include "unit/services/tls_server.h"

namespace waybill {
namespace {

using testing::RelayScript;
using testing::ScriptedRelay;
using testing::TestAuthority;
using testing::TlsServer;

constexpr Millis kPatience{30'000};

std::string found(const Result<void>& tried) { return tried ? "good" : tried.error().what; }
bool holds(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

class RelayCheck : public ::testing::Test {
 protected:
  std::string at(const ScriptedRelay& relay, Tls tls = Tls::if_offered, const std::string& user = {},
                 Millis at_most = kPatience) {
    SmtpLogin login{.relay = relay.url(), .tls = tls, .user = user, .addresses = {}};
    if (!user.empty()) login.password = std::make_shared<const Secret>("hunter2");
    return found(try_relay(login, policy_, at_most));
  }
  const std::shared_ptr<const EgressPolicy> policy_ = std::make_shared<const EgressPolicy>();
};

TEST_F(RelayCheck, GreetsAndSaysGoodbye) {  // D11
  const ScriptedRelay relay;
  EXPECT_EQ(at(relay), "good");
  EXPECT_TRUE(relay.heard("EHLO"));
  EXPECT_TRUE(relay.heard("QUIT"));
  EXPECT_FALSE(relay.heard("MAIL"));
}

TEST_F(RelayCheck, LogsIn) {  // D11
  const ScriptedRelay relay({.offers = {"AUTH PLAIN"}});
  EXPECT_EQ(at(relay, Tls::if_offered, "me"), "good");
  const ScriptedRelay refusing({.says = {{"AUTH", "535 5.7.8 no"}}, .offers = {"AUTH PLAIN"}});
  const auto said = at(refusing, Tls::if_offered, "me");
  EXPECT_TRUE(holds(said, "535") && holds(said, "AUTH")) << said;
  EXPECT_FALSE(holds(said, "hunter2")) << said;
}

TEST_F(RelayCheck, NamesWhatIsMissing) {  // D11
  const ScriptedRelay plain;
  EXPECT_NE(at(plain, Tls::required), "good") << "it offers no TLS";
  const ScriptedRelay busy({.says = {{"greeting", "421 4.3.2 come back later"}}});
  EXPECT_NE(at(busy), "good");
  const ScriptedRelay silent({.says = {{"greeting", RelayScript::kSilence}}});
  EXPECT_EQ(at(silent, Tls::if_offered, "", Millis{200}), "no answer within 200 ms");
  EXPECT_NE(found(try_relay({.relay = "smtp://127.0.0.1:1", .addresses = {}}, policy_, kPatience)), "good");
}

class ServerCheck : public ::testing::Test {
 protected:
  std::string at(const std::string& url, std::shared_ptr<const Transport> transport = nullptr) {
    return found(try_connect(url, std::move(transport), policy_, kPatience));
  }
  const TestAuthority authority_;
  const std::shared_ptr<const Transport> trust_ = std::make_shared<const Transport>(authority_.trust());
  const EgressPolicy policy_;
};

TEST_F(ServerCheck, ShakesHandsAndAsksNothing) {  // D11
  const TlsServer server(authority_.issue({}));
  EXPECT_EQ(at(server.url() + "path?of=target", trust_), "good");
  EXPECT_EQ(server.requests(), 0);
  EXPECT_TRUE(holds(at(server.url()), "certificate")) << at(server.url());
  const TlsServer old(authority_.issue({.valid_from = -9000, .valid_until = -60}));
  EXPECT_TRUE(holds(at(old.url(), trust_), "expired")) << at(old.url(), trust_);
}

TEST_F(ServerCheck, NamesWhatStopsIt) {  // D11
  EXPECT_NE(at("http://127.0.0.1:1/"), "good");
  EXPECT_NE(at("http://no-such-host.invalid/"), "good");
  EXPECT_NE(at("ftp://127.0.0.1/"), "good");
  EXPECT_TRUE(holds(at("http://169.254.169.254/"), "not allowed")) << at("http://169.254.169.254/");
}

}  // namespace
}  // namespace waybill
