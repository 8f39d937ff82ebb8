// TLS and login at a relay: what is checked, what is refused, and that a secret goes to the relay and nowhere else.  H4 M8 S11
// S12
#include "services/smtp_client.h"
#include "unit/services/mail_world.h"

namespace waybill {
namespace {

using testing::RelayScript;
using testing::ScriptedRelay;
using testing::TlsIdentity;

class SmtpLogins : public testing::Mail {
 protected:
  SmtpMessage with_protected_login(std::string relay) {
    auto mail = message(std::move(relay));
    mail.user = "me";
    mail.password = "key";
    return mail;
  }
  // Of a sender whose operator wrote that the login needs no TLS.
  SmtpMessage with_login(std::string relay) {
    auto mail = with_protected_login(std::move(relay));
    mail.transport = std::make_shared<const Transport>(Transport{.unverified_login = true});
    return mail;
  }
};

const TlsIdentity& identity() {
  static const TlsIdentity identity;
  return identity;
}

TEST_F(SmtpLogins, TlsIsUsedWhenOfferedWhoeverSignedTheCertificate) {
  ScriptedRelay relay({.tls = &identity()});
  EXPECT_EQ(submit(message(relay.url())).answer.code, 250);
  EXPECT_EQ(relay.count("STARTTLS"), 1);
  EXPECT_EQ(relay.count("EHLO"), 2);
}

TEST_F(SmtpLogins, WhatWasOfferedInClearCountsForNothingUnderTls) {
  ScriptedRelay relay({.offers = {}, .offers_in_clear = {"SMTPUTF8", "SIZE 1000"}, .tls = &identity()});
  auto mail = message(relay.url());
  EXPECT_EQ(submit(mail).answer.code, 250);
  EXPECT_FALSE(relay.heard("MAIL FROM:<a@example.org> SIZE"));
  mail.recipients = {"m\xC3\xBCller@x"};
  EXPECT_EQ(submit(mail).answer.code, 553);
}

TEST_F(SmtpLogins, TlsThatIsNotOfferedOrNotWantedIsDoneWithout) {
  ScriptedRelay plain;
  EXPECT_EQ(submit(message(plain.url())).answer.code, 250);
  ScriptedRelay refusing({.says = {{"STARTTLS", "454 4.7.0 not now"}}, .tls = &identity()});
  EXPECT_EQ(submit(message(refusing.url())).answer.code, 250);
  ScriptedRelay offering({.tls = &identity()});
  auto mail = message(offering.url());
  mail.tls = Tls::never;
  EXPECT_EQ(submit(mail).answer.code, 250);
  EXPECT_FALSE(offering.heard("STARTTLS"));
}

TEST_F(SmtpLogins, RequiredTlsNeedsACertificateThatIsTrusted) {
  ScriptedRelay relay({.tls = &identity()});
  auto mail = with_login(relay.url());
  mail.tls = Tls::required;
  const auto reply = submit(mail);
  EXPECT_EQ(reply.error, NetError::tls);
  EXPECT_EQ(reply.reach, Reach::not_sent);
  EXPECT_NE(reply.error_text.find("certificate"), std::string::npos) << reply.error_text;
  EXPECT_FALSE(relay.heard("MAIL"));
  EXPECT_FALSE(relay.heard("AUTH"));
}

TEST_F(SmtpLogins, RequiredTlsTakesACertificateOfAKnownAuthorityForTheRelaysName) {
  ScriptedRelay relay({.tls = &identity()});
  auto mail = message(relay.url());
  mail.transport = identity().trust();
  mail.tls = Tls::required;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(submit(mail).answer.code, 250);
  EXPECT_EQ(relay.connections(), 1);
  // One that was opened without the check does not serve a message that asks for it, nor the other way round.
  mail.tls = Tls::if_offered;
  EXPECT_EQ(submit(mail).answer.code, 250);
  EXPECT_EQ(relay.connections(), 2);
}

TEST_F(SmtpLogins, RequiredTlsRefusesACertificateForAnotherName) {
  const TlsIdentity other("DNS:other.example");
  ScriptedRelay relay({.tls = &other});
  auto mail = message(relay.url());
  mail.transport = other.trust();
  mail.tls = Tls::required;
  EXPECT_EQ(submit(mail).error, NetError::tls);
}

TEST_F(SmtpLogins, RequiredTlsThatIsNotOfferedSaysNothing) {
  ScriptedRelay plain;
  auto mail = message(plain.url());
  mail.tls = Tls::required;
  const auto reply = submit(mail);
  EXPECT_EQ(reply.error, NetError::tls);
  EXPECT_EQ(reply.reach, Reach::not_sent);
  EXPECT_FALSE(plain.heard("MAIL"));

  ScriptedRelay refusing({.says = {{"STARTTLS", "454 4.7.0 not now"}}, .tls = &identity()});
  mail.relay = refusing.url();
  const auto refused = submit(mail);
  EXPECT_EQ(refused.error, NetError::ok);
  EXPECT_EQ(refused.stage, SmtpStage::connect);
  EXPECT_EQ(refused.answer.code, 454);

  ScriptedRelay old({.says = {{"EHLO", "502 5.5.1 what?"}}});
  mail.relay = old.url();
  const auto unknown = submit(mail);
  EXPECT_EQ(unknown.stage, SmtpStage::connect);
  EXPECT_EQ(unknown.answer.code, 502);
  EXPECT_FALSE(old.heard("MAIL"));
}

TEST_F(SmtpLogins, AnswersThatCameBeforeTlsAreNotTakenForLaterOnes) {
  ScriptedRelay relay({.says = {{"STARTTLS", "220 go ahead\r\n250-injected\r\n250 AUTH PLAIN"}}, .tls = &identity()});
  EXPECT_EQ(submit(message(relay.url())).error, NetError::broken);
  EXPECT_FALSE(relay.heard("MAIL"));
}

TEST_F(SmtpLogins, TlsFromTheFirstByteIsAlwaysChecked) {
  ScriptedRelay relay({.tls = &identity(), .tls_at_once = true});
  for (const auto tls : {Tls::if_offered, Tls::required, Tls::never}) {
    auto mail = message(relay.url("smtps"));
    mail.tls = tls;
    EXPECT_EQ(submit(mail).error, NetError::tls);
  }
  EXPECT_FALSE(relay.heard("EHLO"));
}

TEST_F(SmtpLogins, TlsFromTheFirstByteNeedsNoStarttls) {
  ScriptedRelay relay({.tls = &identity(), .tls_at_once = true});
  auto mail = message(relay.url("smtps"));
  mail.transport = identity().trust();
  EXPECT_EQ(submit(mail).answer.code, 250);
  EXPECT_FALSE(relay.heard("STARTTLS"));
}

TEST_F(SmtpLogins, ARelayThatBreaksOffUnderTlsIsToldLikeAnyOther) {
  for (const auto& [step, reach] : {std::pair{"MAIL", Reach::not_sent}, std::pair{".", Reach::maybe_sent}}) {
    ScriptedRelay relay({.says = {{step, RelayScript::kDrop}}, .tls = &identity()});
    const auto reply = submit(message(relay.url()));
    EXPECT_EQ(reply.error, NetError::broken) << step;
    EXPECT_EQ(reply.reach, reach) << step;
  }
}

TEST_F(SmtpLogins, ALargeMessageGoesThroughTls) {
  ScriptedRelay relay({.tls = &identity()});
  auto mail = message(relay.url());
  while (mail.data.size() < 5'000'000) mail.data += std::string(70, 'x') + "\r\n";
  EXPECT_EQ(submit(mail).answer.code, 250);
  ASSERT_EQ(relay.messages().size(), 1u);
  EXPECT_EQ(relay.messages()[0], mail.data);
}

TEST_F(SmtpLogins, TheUserLogsInWithTheNamedSecret) {
  ScriptedRelay plain({.offers = {"AUTH PLAIN LOGIN CRAM-MD5"}});
  EXPECT_EQ(submit(with_login(plain.url())).answer.code, 250);
  EXPECT_TRUE(plain.heard("AUTH PLAIN |me|hunter2"));
  ScriptedRelay login({.offers = {"AUTH LOGIN"}});
  EXPECT_EQ(submit(with_login(login.url())).answer.code, 250);
  EXPECT_TRUE(login.heard("AUTH LOGIN me hunter2"));
  // Who logs in does not share a connection with who does not.
  EXPECT_EQ(submit(message(login.url())).answer.code, 250);
  EXPECT_EQ(login.connections(), 2);
}

TEST_F(SmtpLogins, ALoginWaitsForTlsThatIsVerified) {  // S11
  const TlsIdentity nameless(testing::CertificateWish{.common_name = "127.0.0.1", .names = ""});
  const TlsIdentity expired(testing::CertificateWish{.names = "IP:127.0.0.1", .valid_until = -60});
  const TlsIdentity other("DNS:other.example");
  const auto expect_nothing_said = [&](ScriptedRelay& relay, const SmtpMessage& mail, NetError error) {
    const auto reply = submit(mail);
    EXPECT_EQ(reply.error, error) << reply.error_text;
    EXPECT_EQ(reply.reach, Reach::not_sent);
    for (const auto* word : {"AUTH", "MAIL"}) EXPECT_FALSE(relay.heard(word)) << word;
  };
  for (const auto tls : {Tls::if_offered, Tls::required}) {
    ScriptedRelay plain({.offers = {"AUTH PLAIN LOGIN"}});
    auto mail = with_protected_login(plain.url());
    mail.tls = tls;
    expect_nothing_said(plain, mail, NetError::tls);

    ScriptedRelay self_signed({.offers = {"AUTH PLAIN"}, .offers_in_clear = {"AUTH PLAIN"}, .tls = &identity()});
    mail.relay = self_signed.url();
    expect_nothing_said(self_signed, mail, NetError::tls);

    for (const auto* shown : {&nameless, &expired, &other}) {
      ScriptedRelay relay({.offers = {"AUTH PLAIN"}, .tls = shown});
      mail.relay = relay.url();
      mail.transport = shown->trust();
      expect_nothing_said(relay, mail, NetError::tls);
    }
    ScriptedRelay good({.offers = {"AUTH PLAIN"}, .tls = &identity()});
    mail.relay = good.url();
    mail.transport = identity().trust();
    EXPECT_EQ(submit(mail).answer.code, 250);
    EXPECT_TRUE(good.heard("AUTH PLAIN |me|hunter2"));
  }
  ScriptedRelay plain({.offers = {"AUTH PLAIN"}});
  auto never = with_protected_login(plain.url());
  never.tls = Tls::never;
  expect_nothing_said(plain, never, NetError::refused);
  EXPECT_EQ(plain.connections(), 0);
  EXPECT_NE(submit(never).error_text.find("does not go out in clear"), std::string::npos);

  ScriptedRelay at_once({.offers = {"AUTH PLAIN"}, .tls = &identity(), .tls_at_once = true});
  never.relay = at_once.url("smtps");
  expect_nothing_said(at_once, never, NetError::tls);
  never.transport = identity().trust();
  EXPECT_EQ(submit(never).answer.code, 250) << "smtps is never in clear";
}

TEST_F(SmtpLogins, OnlyTheOperatorsWordLetsALoginOutWithoutVerifiedTls) {  // S11
  ScriptedRelay self_signed({.offers = {"AUTH PLAIN"}, .tls = &identity()});
  EXPECT_EQ(submit(with_login(self_signed.url())).answer.code, 250);
  EXPECT_TRUE(self_signed.heard("AUTH PLAIN |me|hunter2"));
  EXPECT_TRUE(self_signed.heard("STARTTLS"));
  auto careful = with_protected_login(self_signed.url());
  EXPECT_EQ(submit(careful).error, NetError::tls) << "an open connection of the other kind does not serve it";
  EXPECT_EQ(self_signed.count("AUTH"), 1);
}

TEST_F(SmtpLogins, ConnectionsOfDifferentTransportsAreKeptApart) {  // S12
  ScriptedRelay relay({.tls = &identity()});
  const TlsIdentity other;
  auto mail = message(relay.url());
  mail.tls = Tls::required;
  mail.transport = identity().trust();
  EXPECT_EQ(submit(mail).answer.code, 250);
  mail.transport = other.trust();
  EXPECT_EQ(submit(mail).error, NetError::tls);
  mail.transport = identity().trust();
  EXPECT_EQ(submit(mail).answer.code, 250) << "read anew, with the same contents";
  EXPECT_EQ(relay.connections(), 2);
}

TEST_F(SmtpLogins, ARelayMustBeAsNewAsTheSenderSays) {  // S12
  const TlsIdentity old;
  SSL_CTX_set_security_level(old.context(), 0);
  SSL_CTX_set_cipher_list(old.context(), "ALL:@SECLEVEL=0");
  SSL_CTX_set_min_proto_version(old.context(), TLS1_VERSION);
  SSL_CTX_set_max_proto_version(old.context(), TLS1_1_VERSION);
  ScriptedRelay relay({.tls = &old});
  auto mail = message(relay.url());
  mail.tls = Tls::required;
  mail.transport = old.trust();
  EXPECT_EQ(submit(mail).error, NetError::tls);
  EXPECT_FALSE(relay.heard("MAIL"));
}

TEST_F(SmtpLogins, ARefusedLoginIsAnAnswerOfItsOwnStage) {
  for (const auto* text : {"535 5.7.8 wrong", "454 4.7.0 try later", "421 4.3.2 closing"}) {
    ScriptedRelay relay({.says = {{"AUTH", text}}, .offers = {"AUTH PLAIN"}});
    const auto reply = submit(with_login(relay.url()));
    EXPECT_EQ(reply.error, NetError::ok) << text;
    EXPECT_EQ(reply.stage, SmtpStage::auth) << text;
    EXPECT_EQ(std::to_string(reply.answer.code) + " " + reply.answer.text, text);
    EXPECT_FALSE(relay.heard("MAIL"));
  }
}

TEST_F(SmtpLogins, WithoutTheLoginThatWasAskedForNothingIsSent) {
  for (const RelayScript& script : {RelayScript{.offers = {}}, RelayScript{.offers = {"AUTH CRAM-MD5 NTLM"}},
                                    RelayScript{.says = {{"EHLO", "502 5.5.1 what?"}}}}) {
    ScriptedRelay relay(script);
    const auto reply = submit(with_login(relay.url()));
    EXPECT_EQ(reply.error, NetError::broken);
    EXPECT_EQ(reply.stage, SmtpStage::auth);
    EXPECT_EQ(reply.answer.code, 0);
    EXPECT_EQ(reply.reach, Reach::not_sent);
    EXPECT_NE(reply.error_text.find("login"), std::string::npos) << reply.error_text;
    EXPECT_FALSE(relay.heard("MAIL"));
  }
}

TEST_F(SmtpLogins, NothingThatComesBackHoldsTheSecret) {
  for (const auto* said : {"535 5.7.8 wrong", RelayScript::kDrop}) {
    ScriptedRelay relay({.says = {{"AUTH", said}}, .offers = {"AUTH PLAIN"}});
    const auto reply = submit(with_login(relay.url()));
    for (const auto* secret : {"hunter2", "AG1lAGh1bnRlcjI="}) {
      EXPECT_EQ(reply.error_text.find(secret), std::string::npos);
      EXPECT_EQ(reply.answer.text.find(secret), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace waybill
