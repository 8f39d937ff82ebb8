// Where mail may go: the operator's relays and tenants'.  N7
#include "unit/services/mail_world.h"

namespace waybill {
namespace {

using testing::ScriptedRelay;

class MailEgress : public testing::Mail {
 protected:
  void begin_with(std::initializer_list<std::string> allow, HostLookup::Resolver resolver = &look_up_host) {
    EgressRules rules;
    for (const auto& entry : allow) rules.allow.push_back(parse_egress_exception(entry).value());
    start({.egress = std::make_shared<const EgressPolicy>(rules), .resolver = std::move(resolver)});
  }
  SmtpReply send(const std::string& relay, Trust trust) {
    auto one = message(relay);
    one.trust = trust;
    return submit(std::move(one));
  }
};

std::string at(const ScriptedRelay& relay) { return relay.url().substr(std::string("smtp://").size()); }

TEST_F(MailEgress, TheRegistrysRelayMayBeLocalAndATenantsMayNot) {  // N7
  ScriptedRelay relay;
  begin_with({});
  EXPECT_EQ(send(relay.url(), Trust::registry).error, NetError::ok);
  const auto refused = send(relay.url(), Trust::tenant);
  EXPECT_EQ(refused.error, NetError::refused);
  EXPECT_EQ(refused.reach, Reach::not_sent);
  EXPECT_EQ(refused.error_text, at(relay) + ": the address is not allowed");
  ASSERT_TRUE(refused.refusal);
  EXPECT_EQ(refused.refusal->why, "loopback");
  EXPECT_EQ(relay.connections(), 1) << "the operator's connection is there, and not a tenant's to use";
  EXPECT_EQ(send("smtp://169.254.169.254", Trust::registry).refusal.value_or(AddressRefusal{}).why, "metadata");
}

TEST_F(MailEgress, ATenantsRelayIsResolvedOnceAndOnlyWhatWasJudgedIsConnectedTo) {  // N7
  ScriptedRelay relay;
  const auto port = at(relay).substr(at(relay).find(':'));
  begin_with({at(relay)}, [](const std::string& host) {
    std::vector<IpAddress> found{*parse_address("127.0.0.1")};
    if (host == "mixed.example.org") found.push_back(*parse_address("10.0.0.5"));
    return HostAddresses{HostAddresses::Answer::found, found};
  });
  EXPECT_EQ(send("smtp://mx.example.org" + port, Trust::tenant).error, NetError::ok) << "no other resolver knows this name";
  const auto mixed = send("smtp://mixed.example.org" + port, Trust::tenant);
  EXPECT_EQ(mixed.error, NetError::refused);
  EXPECT_EQ(mixed.refusal.value_or(AddressRefusal{}).address, "10.0.0.5");
  EXPECT_EQ(relay.connections(), 1);
}

TEST_F(MailEgress, ATenantAndTheOperatorShareNoConnection) {  // N7
  ScriptedRelay relay;
  begin_with({at(relay)});
  for (const auto trust : {Trust::registry, Trust::tenant, Trust::registry, Trust::tenant})
    EXPECT_EQ(send(relay.url(), trust).error, NetError::ok);
  EXPECT_EQ(relay.connections(), 2);
}

TEST_F(MailEgress, ATenantsMessageLogsInWithNoSecret) {  // N7
  ScriptedRelay relay;
  begin_with({at(relay)});
  auto one = message(relay.url());
  one.trust = Trust::tenant;
  one.user = "me";
  one.password = "key";
  const auto reply = submit(std::move(one));
  EXPECT_EQ(reply.error, NetError::refused);
  EXPECT_FALSE(reply.refusal);
  EXPECT_EQ(relay.connections(), 0);
}

}  // namespace
}  // namespace waybill
