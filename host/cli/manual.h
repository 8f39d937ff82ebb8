// `waybill manual FOLDER`: the manual pages, from the same texts as --help and docs/operations/configuration.md.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace waybill {

struct CommandEntry;

struct ManualPage {
  std::string file;  // "man1/waybill-token-create.1"
  std::string text;  // for man, in roff
};

struct ManualTerms {
  std::string version;
  std::string date;  // "2026-11-27"; "" for none
};

// The date of SOURCE_DATE_EPOCH, or "": the same program writes the same pages.
Result<std::string> manual_date(const char* source_date_epoch);
ManualPage command_page(const CommandEntry& tree, const CommandEntry& entry, const ManualTerms& terms);
ManualPage configuration_page(const ManualTerms& terms);  // waybill.yaml(5)
std::vector<ManualPage> manual_pages(const CommandEntry& tree, const ManualTerms& terms);

int write_manual(const CommandEntry& tree, const std::string& version, const std::filesystem::path& folder);

}  // namespace waybill
