// Certificates and keys as files and secrets: what can be used, and the words about what cannot.  S12
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "services/secrets.h"
#include "services/transports.h"
#include "unit/services/test_authority.h"

namespace waybill {
namespace {

using testing::TestAuthority;

class TransportFiles : public ::testing::Test {
 protected:
  TransportFiles() {
    folder_ = ::testing::TempDir() + "transportXXXXXX";
    if (::mkdtemp(folder_.data()) == nullptr) throw std::runtime_error("no folder");
  }
  ~TransportFiles() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path file(const std::string& name, const std::string& text) const {
    const auto path = std::filesystem::path(folder_) / name;
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }
  tl::expected<std::shared_ptr<const Transport>, Problems> load(const TransportRules& rules, const Secrets& secrets = {}) {
    remarks_.clear();
    return TransportReader(secrets, remarks_).read(rules, {"targets.json", 7, "targets[2]", ""});
  }
  void expect_refused(const TransportRules& rules, const std::string& field, const std::string& words,
                      const Secrets& secrets = {}) {
    const auto loaded = load(rules, secrets);
    ASSERT_FALSE(loaded) << words;
    ASSERT_EQ(loaded.error().size(), 1u);
    const auto& problem = loaded.error()[0];
    EXPECT_EQ(problem.file, "targets.json");
    EXPECT_EQ(problem.line, 7);
    EXPECT_EQ(problem.field, "targets[2]." + field);
    EXPECT_NE(problem.message.find(words), std::string::npos) << problem.message;
  }

  const TestAuthority authority_;
  const testing::TestCertificate mine_ = authority_.issue({.common_name = "me", .names = ""});
  std::string folder_;
  Problems remarks_;
};

TEST_F(TransportFiles, AreReadOnce) {  // S12
  const auto ca = file("ca.pem", authority_.pem());
  const auto certificate = file("me.pem", mine_.pem() + authority_.pem());
  const auto key = file("me.key", mine_.key_pem());
  TransportRules rules{.ca_file = ca, .client_certificate = certificate, .client_key = key, .tls_min = TlsVersion::v1_3};
  const auto first = load(rules);
  ASSERT_TRUE(first);
  EXPECT_TRUE((*first)->authorities);
  EXPECT_EQ((*first)->certificate, mine_.pem() + authority_.pem());
  EXPECT_EQ((*first)->key.expose(), mine_.key_pem());
  EXPECT_EQ((*first)->tls_min, TlsVersion::v1_3);
  EXPECT_FALSE((*first)->insecure);
  EXPECT_TRUE(remarks_.empty());
  EXPECT_EQ((*load(rules))->identity, (*first)->identity);
  file("ca.pem", "# the same\n" + authority_.pem());
  EXPECT_NE((*load(rules))->identity, (*first)->identity);
}

TEST_F(TransportFiles, AKeyMayBeASecretOrStandWithItsCertificate) {  // S12
  const auto alone = file("me.pem", mine_.pem());
  const Secrets secrets(Secrets::Values{{"key", {Secret(mine_.key_pem())}}});
  EXPECT_EQ((*load({.client_certificate = alone, .client_key = "{secret:key}"}, secrets))->key.expose(), mine_.key_pem());
  expect_refused({.client_certificate = alone, .client_key = "{secret:nobody}"}, "client_key", "no secret \"nobody\"", secrets);
  const auto both = file("both.pem", mine_.pem() + mine_.key_pem());
  EXPECT_TRUE(load({.client_certificate = both}));
}

TEST_F(TransportFiles, ThatCannotBeUsedAreNamed) {  // S12
  const auto ca = file("ca.pem", authority_.pem());
  const auto certificate = file("me.pem", mine_.pem());
  const auto key = file("me.key", mine_.key_pem()).string();
  const auto other = file("other.key", authority_.issue({}).key_pem()).string();
  const auto locked = file("locked.key", mine_.key_pem("hunter2")).string();
  const auto garbage = file("garbage.pem", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
  const auto half = file("half.pem", authority_.pem() + "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
  const auto empty = file("empty.pem", "");
  const std::filesystem::path nowhere = folder_ + "/nowhere.pem";

  expect_refused({.ca_file = nowhere}, "ca_file", "file " + nowhere.string() + " cannot be read: No such file");
  expect_refused({.ca_file = folder_}, "ca_file", "it is not a file");
  for (const auto& bad : {garbage, half, empty, std::filesystem::path(key)})
    expect_refused({.ca_file = bad}, "ca_file", "file " + bad.string() + " holds no certificates");
  expect_refused({.client_certificate = garbage, .client_key = key}, "client_certificate", "holds no certificate");
  expect_refused({.client_certificate = certificate, .client_key = nowhere.string()}, "client_key", "cannot be read");
  expect_refused({.client_certificate = certificate}, "client_key", "is no private key");
  expect_refused({.client_certificate = certificate, .client_key = locked}, "client_key", "one with a password");
  expect_refused({.client_certificate = certificate, .client_key = other}, "client_key", "is not the key of the certificate");
  expect_refused({.client_key = key}, "client_key", "without client_certificate");
  const auto huge = file("huge.pem", std::string(5 << 20, 'x'));
  expect_refused({.ca_file = huge}, "ca_file", "longer than 4 MiB");
  EXPECT_TRUE(load({.ca_file = ca}));
}

TEST_F(TransportFiles, ThatHaveExpiredAreARemark) {  // S12
  const auto old = authority_.issue({.names = "", .valid_until = -60});
  const auto certificate = file("old.pem", old.pem() + old.key_pem());
  ASSERT_TRUE(load({.client_certificate = certificate}));
  ASSERT_EQ(remarks_.size(), 1u);
  EXPECT_EQ(remarks_[0].field, "targets[2].client_certificate");
  EXPECT_NE(remarks_[0].message.find("has expired"), std::string::npos);
  const auto ca = file("ca.pem", TestAuthority("old", -60).pem());
  ASSERT_TRUE(load({.ca_file = ca}));
  EXPECT_EQ(remarks_.size(), 1u);
}

TEST_F(TransportFiles, ThatManyTargetsNameAreReadOnce) {  // S12
  const auto ca = file("ca.pem", authority_.pem());
  TransportReader reader({}, remarks_);
  const auto first = reader.read({.ca_file = ca}, {});
  file("ca.pem", "");
  const auto second = reader.read({.ca_file = ca, .tls_min = TlsVersion::v1_3}, {});
  ASSERT_TRUE(first && second);
  EXPECT_EQ((*first)->authorities, (*second)->authorities);
  EXPECT_LT((*first)->authorities->mark.size(), 4096u) << "curl copies it for each connection";
  EXPECT_FALSE(load({.ca_file = ca}));
}

TEST_F(TransportFiles, BelongToATargetElseToItsSender) {  // S12
  Problems remarks;
  TargetTransports targets{{"with", {{}, TransportRules{.tls_min = TlsVersion::v1_3}}}, {"without", {}}};
  const auto loaded = Transports::load({{"webhook", {.insecure = true}}}, {}, "waybill.yaml", targets, {}, remarks);
  ASSERT_TRUE(loaded);
  EXPECT_EQ(loaded->of({.target = "with", .action_type = "webhook"})->tls_min, TlsVersion::v1_3);
  EXPECT_FALSE(loaded->of({.target = "with", .action_type = "webhook"})->insecure) << "it takes nothing from its sender";
  EXPECT_TRUE(loaded->of({.target = "without", .action_type = "webhook"})->insecure);
  EXPECT_TRUE(loaded->of({.target = "gone", .action_type = "webhook"})->insecure);
  EXPECT_EQ(loaded->of({.target = "gone", .action_type = "sms"}), nullptr);
  EXPECT_TRUE(loaded->of({.target = "with", .action_type = "webhook", .form_id = "contact"})->insecure) << "a form's action";
  EXPECT_EQ(loaded->of({.target = "with", .action_type = "webhook", .channel = "c"}), nullptr)
      << "a tenant's channel of its name";
}

}  // namespace
}  // namespace waybill
