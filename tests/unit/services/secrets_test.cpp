// Secrets by name, and signatures with them.  H4 (secrets never enter a plugin)
#include "services/secrets.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "services/sign.h"

namespace waybill {
namespace {

using Kind = SecretReference::Kind;

std::string hex(const Mac& mac) {
  std::string out;
  for (const auto byte : mac) {
    out += "0123456789abcdef"[byte >> 4];
    out += "0123456789abcdef"[byte & 15];
  }
  return out;
}

std::vector<std::string> sign(const Secrets& secrets, std::string_view name, std::vector<std::string_view> parts) {
  std::vector<std::string> macs;
  if (!sign_hmac_sha256(secrets, name, parts, [&](const Mac& mac) { macs.push_back(hex(mac)); })) macs.push_back("unknown");
  return macs;
}

class SecretFiles : public ::testing::Test {
 protected:
  SecretFiles() {
    std::string name = ::testing::TempDir() + "secretsXXXXXX";
    folder_ = mkdtemp(name.data());
  }
  ~SecretFiles() override { std::filesystem::remove_all(folder_); }
  std::string file(const std::string& name, const std::string& content) {
    const auto path = folder_ / name;
    std::ofstream(path, std::ios::binary) << content;
    return path.string();
  }
  std::filesystem::path folder_;
};

// J3: the key to sign with is the end of what the provider hands out
TEST_F(SecretFiles, MayBeTheLastBytesOfWhatTheReferenceHolds) {
  const auto key = file("api_key", "live-8b3aa916-ec82-434e-b0c5-d5d9b371d6a3-1b1c4b86-7f9c-4a1b-9c8d-2f8f0c1d9e11\n");
  const auto secrets = Secrets::resolve({{"a", {{Kind::file, key, 36}}}});
  ASSERT_TRUE(secrets);
  EXPECT_EQ(secrets->find("a")->front().expose(), "1b1c4b86-7f9c-4a1b-9c8d-2f8f0c1d9e11");
  const auto short_one = file("short", "abc");
  EXPECT_TRUE(Secrets::resolve({{"a", {{Kind::file, short_one, 3}}}}));
  const auto refused = Secrets::resolve({{"a", {{Kind::file, short_one, 4}}}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().front().field, "secrets.a");
  EXPECT_NE(refused.error().front().message.find("shorter than the last 4 bytes"), std::string::npos);
}

TEST_F(SecretFiles, ComeFromVariablesAndFilesWithoutTheTrailingNewline) {
  setenv("WAYBILL_UNIT_SECRET", "from the environment", 1);
  const auto secrets = Secrets::resolve({{"a", {{Kind::environment, "WAYBILL_UNIT_SECRET"}}},
                                         {"b", {{Kind::file, file("new", "newer\n")}, {Kind::file, file("old", "older\r\n")}}}});
  ASSERT_TRUE(secrets);
  EXPECT_EQ(secrets->find("a")->front().expose(), "from the environment");
  ASSERT_EQ(secrets->find("b")->size(), 2u);
  EXPECT_EQ(secrets->find("b")->at(0).expose(), "newer");
  EXPECT_EQ(secrets->find("b")->at(1).expose(), "older");
  EXPECT_EQ(secrets->find("c"), nullptr);
}

// O2: LoadCredential
TEST_F(SecretFiles, CredentialsComeFromTheFolderOfTheServiceManager) {
  setenv("CREDENTIALS_DIRECTORY", folder_.c_str(), 1);
  file("orders", "of the service\n");
  const auto secrets = Secrets::resolve({{"a", {{Kind::credential, "orders"}}}});
  const auto absent = Secrets::resolve({{"a", {{Kind::credential, "order"}}}}, "w.yaml");
  std::map<std::string, std::vector<SecretReference>> all{{"a", {{Kind::credential, "order"}}}};
  const auto aside = set_credentials_aside(all, "w.yaml");
  unsetenv("CREDENTIALS_DIRECTORY");
  ASSERT_TRUE(secrets);
  EXPECT_EQ(secrets->find("a")->front().expose(), "of the service");
  ASSERT_FALSE(absent);
  EXPECT_EQ(to_string(absent.error().front()), "w.yaml: secrets.a: credential order: file " + (folder_ / "order").string() +
                                                   " cannot be read; see LoadCredential= of the unit");
  EXPECT_TRUE(aside.empty());
  EXPECT_EQ(all.size(), 1u);
}

// O2: a command that people run has no credentials.
TEST_F(SecretFiles, OutsideOfTheServiceCredentialsAreUnknown) {
  unsetenv("CREDENTIALS_DIRECTORY");
  std::map<std::string, std::vector<SecretReference>> all{
      {"a", {{.kind = Kind::file, .name = file("old", "x")}, {.kind = Kind::credential, .name = "orders", .line = 7}}},
      {"b", {{.kind = Kind::file, .name = file("b", "x")}}}};
  const std::string why = "credential orders is known to the service only: CREDENTIALS_DIRECTORY is not set here";
  const auto refused = Secrets::resolve(all, "w.yaml");
  ASSERT_FALSE(refused);
  EXPECT_EQ(to_string(refused.error().front()), "w.yaml:7: secrets.a[1]: " + why);
  const auto aside = set_credentials_aside(all, "w.yaml");
  ASSERT_EQ(aside.size(), 1u);
  EXPECT_EQ(to_string(aside.front()), "w.yaml:7: secrets.a: " + why);
  EXPECT_TRUE(all.contains("b") && all.size() == 1);
}

TEST_F(SecretFiles, EveryMissingOneIsAProblemThatNamesItAndNoValue) {
  unsetenv("WAYBILL_UNIT_MISSING");
  const auto secrets = Secrets::resolve({{"a", {{Kind::environment, "WAYBILL_UNIT_MISSING"}}},
                                         {"b", {{Kind::file, "/nowhere/at/all"}}},
                                         {"c", {{Kind::file, file("empty", "\n")}}},
                                         {"d", {{Kind::file, file("broken", "whsec_hunter2!")}}}});
  ASSERT_FALSE(secrets);
  ASSERT_EQ(secrets.error().size(), 4u);
  EXPECT_EQ(secrets.error()[0].field, "secrets.a");
  EXPECT_NE(secrets.error()[0].message.find("WAYBILL_UNIT_MISSING"), std::string::npos);
  EXPECT_NE(secrets.error()[1].message.find("/nowhere/at/all"), std::string::npos);
  EXPECT_NE(secrets.error()[2].message.find("empty"), std::string::npos);
  EXPECT_EQ(secrets.error()[3].message.find("hunter2"), std::string::npos);
}

TEST(Signature, IsTheHmacOfTheJoinedParts) {
  // RFC 4231, test case 2
  const Secrets secrets(Secrets::Values{{"k", {Secret("Jefe")}}});
  const auto macs = sign(secrets, "k", {"what do ya want ", "", "for nothing?"});
  ASSERT_EQ(macs.size(), 1u);
  EXPECT_EQ(macs[0], "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
}

TEST(Signature, UsesAStandardWebhookSecretDecoded) {
  const Secrets secrets(Secrets::Values{{"hook", {Secret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")}}});
  const auto macs = sign(secrets, "hook", {"msg_p5jXN8AQM9LWM0D4loKWxJek", ".", "1614265330", ".", R"({"test": 2432232314})"});
  // base64 g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE= of the published example
  EXPECT_EQ(macs, std::vector<std::string>{"83484cf52b04f8e4cf2531adfed9882ad4b2665137b852442d594d20e2c9d4e1"});
}

TEST(Signature, IsMadeWithEverySecretOfARotationTheNewerFirst) {
  const Secrets both(Secrets::Values{{"k", {Secret("new"), Secret("old")}}});
  const Secrets apart(Secrets::Values{{"new", {Secret("new")}}, {"old", {Secret("old")}}});
  const auto macs = sign(both, "k", {"text"});
  EXPECT_EQ(macs, (std::vector<std::string>{sign(apart, "new", {"text"})[0], sign(apart, "old", {"text"})[0]}));
  EXPECT_EQ(sign(both, "other", {"text"}), std::vector<std::string>{"unknown"});
}

// The ids that go on record beside what was signed.
TEST(Secrets, KeysHaveTheirIdsBesideThem) {
  const Secrets secrets({{"hook", {Secret("whsec_bmV3"), Secret("old")}}, {"none", {}}, {"odd", {Secret("whsec_")}}});
  const auto* keys = secrets.signing_keys("hook");
  ASSERT_NE(keys, nullptr);
  EXPECT_EQ(keys->ids, key_id(Secret("new")) + " " + key_id(Secret("old")));
  EXPECT_EQ(ids_of(keys->keys), keys->ids);
  EXPECT_EQ(secrets.signing_keys("none"), nullptr);
  ASSERT_NE(secrets.signing_keys("odd"), nullptr);
  EXPECT_EQ(secrets.signing_keys("odd")->ids.size(), 16u);
}

}  // namespace
}  // namespace waybill
