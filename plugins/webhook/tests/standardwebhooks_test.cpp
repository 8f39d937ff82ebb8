// Signatures as receivers verify them: with the official package `standardwebhooks` of the npm registry.  N6
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

#include "waybill/testkit.hpp"

namespace waybill::plugins::testing {
namespace {

using Json = nlohmann::json;

constexpr const char* kNew = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
constexpr const char* kOld = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD";

// A folder with the package in it.
class Verifier {
 public:
  Verifier() {
    auto name = (std::filesystem::temp_directory_path() / "waybill-verifier-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no folder");
    folder_ = name;
    for (const auto* file : {"package.json", "package-lock.json", "verify.mjs"})
      std::filesystem::copy_file(std::filesystem::path(WAYBILL_VERIFIER) / file, folder_ / file);
  }
  ~Verifier() { std::filesystem::remove_all(folder_); }
  Verifier(const Verifier&) = delete;
  Verifier& operator=(const Verifier&) = delete;

  bool install() const { return run("npm ci --ignore-scripts --no-audit --no-fund --loglevel=error 2>&1") == 0; }
  Json verify(const Json& cases) const {
    std::ofstream(folder_ / "cases") << cases.dump();
    if (run("node verify.mjs <cases >verdicts") != 0) return {};
    std::ifstream verdicts(folder_ / "verdicts");
    return Json::parse(verdicts, nullptr, false);
  }

 private:
  int run(const std::string& command) const { return std::system(("cd '" + folder_.string() + "' && " + command).c_str()); }

  std::filesystem::path folder_;
};

Json sent(const std::vector<std::string>& secrets, const std::string& body) {
  testkit::FakeHost host(wb_plugin_v1());
  const auto sender = host.make_sender("webhook");
  host.secret("hook", secrets);
  host.set_unix_seconds(std::time(nullptr));
  host.answer(testkit::Answer::http(200));
  testkit::Job job;
  job.destination = R"({"url":"https://hook.test/in","secret":"hook"})";
  job.payload = body;
  job.idempotency_key = "1:ops:42";
  sender->attempt(job);
  const auto& request = host.requests().at(0);
  Json headers;
  for (const auto* name : {"webhook-id", "webhook-timestamp", "webhook-signature"})
    headers[name] = request.header(name).value_or("");
  return {{"secret", secrets.front()}, {"headers", headers}, {"body", request.body}};
}

Json with_secret(Json one, const char* secret) {
  one["secret"] = secret;
  return one;
}

void flip_bit(std::string& text, std::size_t at) { text[at] = static_cast<char>(text[at] ^ 1); }

TEST(StandardWebhooks, TheOfficialPackageVerifiesBothSecretsAndNoFlippedBit) {  // N6
  const Verifier verifier;
  if (!verifier.install()) {
    ASSERT_EQ(std::getenv("WAYBILL_TEST_MUST_RUN"), nullptr) << "npm cannot install the package standardwebhooks";
    GTEST_SKIP() << "npm cannot install the package standardwebhooks";
  }
  const std::string body = R"([{"cve":"CVE-2026-1","text":"Gr\u00fc\u00dfe, é"},{"cve":"CVE-2026-2"}])";
  const auto one = sent({kNew}, body), rotating = sent({kNew, kOld}, body);
  Json cases{one, rotating, with_secret(rotating, kOld)};
  Json expected{true, true, true};
  const auto expect_refused = [&](Json bad) {
    cases.push_back(std::move(bad));
    expected.push_back(false);
  };
  expect_refused(with_secret(one, kOld));
  for (const auto* part : {"webhook-id", "webhook-timestamp", "webhook-signature"}) {
    auto bad = one;
    auto text = bad["headers"][part].get<std::string>();
    flip_bit(text, part == std::string("webhook-signature") ? 10 : text.size() - 1);  // behind "v1,"
    bad["headers"][part] = text;
    expect_refused(std::move(bad));
  }
  auto bad_body = body;
  flip_bit(bad_body, body.find("2026"));
  auto bad = one;
  bad["body"] = bad_body;
  expect_refused(std::move(bad));
  EXPECT_EQ(verifier.verify(cases), expected) << cases.dump(1);
}

}  // namespace
}  // namespace waybill::plugins::testing
