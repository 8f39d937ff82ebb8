// Hashing the registry folder.
#include "registry/registry_digest.h"

#include <algorithm>
#include <system_error>
#include <vector>

#include "base/hex.h"
#include "domain/idempotency.h"
#include "registry/registry_file.h"

namespace waybill {
namespace {

constexpr std::size_t kDigits = 16;
constexpr int kMaxDepth = 8;  // links may lead round in circles

void add(std::string& all, std::string_view part) { all.append(std::to_string(part.size())).append(":").append(part); }

}  // namespace

std::vector<std::filesystem::path> files_below(const std::filesystem::path& folder) {
  namespace fs = std::filesystem;
  std::vector<fs::path> files;
  std::error_code error;
  fs::recursive_directory_iterator at(folder, fs::directory_options::follow_directory_symlink, error);
  for (const fs::recursive_directory_iterator end; !error && at != end; at.increment(error)) {
    std::error_code unseen;
    const bool is_hidden = at->path().filename().string().starts_with('.');
    if (at->is_directory(unseen)) {
      if (is_hidden || at.depth() >= kMaxDepth) at.disable_recursion_pending();
    } else if (!is_hidden) {
      files.push_back(at->path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

void add_to_digest(std::string& all, std::string_view name, std::string_view content) {
  add(all, name);
  add(all, to_hex(as_view(sha256(content))));
}

std::string finished_digest(std::string_view all) { return to_hex(as_view(sha256(all))).substr(0, kDigits); }

std::string registry_digest(const std::filesystem::path& folder) {
  std::string all;
  for (const auto& file : files_below(folder)) {
    const auto text = read_text(file);
    const auto name = file.lexically_relative(folder).generic_string();
    if (text) {
      add_to_digest(all, name, *text);
    } else {
      add(all, name);
      add(all, text.error());
    }
  }
  return finished_digest(all);
}

}  // namespace waybill
