// What of the registry folder is kept as a version, and what differs between two of them.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "domain/registry_files.h"

namespace waybill {

inline constexpr std::size_t kMaxVersionBytes = 64 << 20;  // of all files together

// Kept are JSON and YAML files and what is below templates/, except what holds a private key: certificates, keys and notes of the
// operator's are no part of a version. Hidden files are left out.
bool is_kept(const std::filesystem::path& below_folder, std::string_view content);
// An error names the file that cannot be read, or says that they are too large.
tl::expected<RegistryFiles, std::string> read_registry_files(const std::filesystem::path& folder);

// 16 hexadecimal digits over names and contents.
std::string digest_of(const RegistryFiles& files);

// One difference: a field of a target, or of a file that is not targets.json its lines.
struct RegistryDifference {
  std::string file;
  std::string target;                        // "": of the file
  std::string field;                         // such as "destination.path"; "": all of the target, or of the file
  std::optional<std::string> before, after;  // JSON, or lines that only this one has; none: it is not there
};
std::vector<RegistryDifference> differences(const RegistryFiles& before, const RegistryFiles& after);
TargetCounts count_targets(const RegistryFiles& before, const RegistryFiles& after);

}  // namespace waybill
