// Mails as an independent parser reads them: Python's `email`.
#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace waybill::plugins::testing {

// In their order; fails the test if the parser did.
inline nlohmann::json read_mails(const std::vector<std::string>& mails) {
  std::string name = (std::filesystem::temp_directory_path() / "waybill-mails-XXXXXX").string();
  if (!mkdtemp(name.data())) return ADD_FAILURE() << "no folder for the mails", nlohmann::json::array();
  const std::filesystem::path folder = name;
  for (std::size_t i = 0; i < mails.size(); ++i)
    std::ofstream(folder / std::to_string(1'000'000 + i), std::ios::binary) << mails[i];
  std::string out;
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> parser(
      popen(("python3 '" WAYBILL_MAIL_READER "' '" + name + "'").c_str(), "r"), &pclose);
  char part[4096];
  for (std::size_t got = 0; parser && (got = std::fread(part, 1, sizeof part, parser.get())) != 0;) out.append(part, got);
  std::filesystem::remove_all(folder);
  auto read = nlohmann::json::parse(out, nullptr, false);
  if (!read.is_array() || read.size() != mails.size())
    return ADD_FAILURE() << "the parser did not read the mails", nlohmann::json::array();
  return read;
}

inline nlohmann::json read_mail(const std::string& mail) {
  const auto read = read_mails({mail});
  return read.empty() ? nlohmann::json::object() : read.front();
}

// What holds for every mail, whatever was handed in.
inline void expect_well_formed(const nlohmann::json& mail) {
  EXPECT_EQ(mail.at("faults"), nlohmann::json::array());
  EXPECT_LE(mail.at("longest_line"), 76);
  auto headers = nlohmann::json::array();
  for (const auto& name : mail.at("headers"))
    if (name != "Reply-To" && name != "Cc") headers.push_back(name);  // only some mails have them
  EXPECT_EQ(headers, (nlohmann::json{"From", "To", "Subject", "Date", "Message-ID", "Auto-Submitted", "X-Submission",
                                     "MIME-Version", "Content-Type"}));
  EXPECT_EQ(mail.at("automatic"), "auto-generated");
}

}  // namespace waybill::plugins::testing
