// The template's files under another name, put in place in one step.
#include "cli/new_plugin.h"

#include <stdlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>

#include "app/installation.h"
#include "base/embedded_file.h"
#include "base/printing.h"
#include "cli/json_output.h"

namespace waybill {
std::span<const EmbeddedFile> plugin_template();
std::span<const EmbeddedFile> plugin_template_c();
std::span<const EmbeddedFile> plugin_template_blocking();
std::span<const EmbeddedFile> plugin_template_python();
std::span<const EmbeddedFile> plugin_kit_python();
std::span<const EmbeddedFile> plugin_template_typescript();
std::span<const EmbeddedFile> plugin_kit_typescript();

namespace fs = std::filesystem;
namespace {

constexpr std::size_t kMaxNameLength = 64;
constexpr std::array<std::string_view, 10> kNamesOfCMake{"all",        "clean",   "edit_cache",     "help",          "install",
                                                         "preinstall", "package", "package_source", "rebuild_cache", "test"};

Result<void> check_name(const std::string& name) {
  const bool word =
      !name.empty() && name.size() <= kMaxNameLength && name[0] >= 'a' && name[0] <= 'z' &&
      std::all_of(name.begin(), name.end(), [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; });
  if (!word)
    return fail(Error::Kind::invalid, "\"" + name +
                                          "\" cannot name an action type: that is a lower-case letter, then lower-case letters, "
                                          "digits and _, 64 at most");
  if (std::find(kNamesOfCMake.begin(), kNamesOfCMake.end(), name) != kNamesOfCMake.end())
    return fail(Error::Kind::invalid, "\"" + name + "\" is a name that CMake keeps for itself; choose another");
  return {};
}

Result<void> check_place(const fs::path& parent, const fs::path& folder) {
  std::error_code error;
  if (!fs::is_directory(parent, error)) return fail(Error::Kind::invalid, "there is no folder " + parent.string());
  const auto there = fs::symlink_status(folder, error);
  if (there.type() == fs::file_type::not_found) return {};
  if (fs::is_directory(there) && fs::is_empty(folder, error)) return {};
  return fail(Error::Kind::conflict, folder.string() + (fs::is_directory(there) ? " is there already and not empty"
                                                                                : " is there already and no folder"));
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) text.replace(at, from.size(), to);
}

char upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }

// The template calls itself my_destination, MyDestination and MY_DESTINATION.
std::string renamed(std::string_view original, const std::string& name) {
  std::string camel, capitals;
  bool first = true;
  for (const char c : name) {
    capitals += upper(c);
    if (c != '_') camel += first ? upper(c) : c;
    first = c == '_';
  }
  std::string text(original);
  replace_all(text, "MY_DESTINATION", capitals);
  replace_all(text, "MyDestination", camel);
  replace_all(text, "my_destination", name);
  return text;
}

tl::unexpected<Error> unwritable(const fs::path& path, const std::string& why) {
  return fail(Error::Kind::unavailable, "cannot write " + path.string() + ": " + why);
}

std::span<const EmbeddedFile> template_of(PluginLanguage language) {
  switch (language) {
    case PluginLanguage::c:
      return plugin_template_c();
    case PluginLanguage::blocking:
      return plugin_template_blocking();
    case PluginLanguage::python:
      return plugin_template_python();
    case PluginLanguage::typescript:
      return plugin_template_typescript();
    case PluginLanguage::cpp:
      break;
  }
  return plugin_template();
}

// What an executable brings along, as it is.
std::span<const EmbeddedFile> kit_of(PluginLanguage language) {
  if (language == PluginLanguage::python) return plugin_kit_python();
  return language == PluginLanguage::typescript ? plugin_kit_typescript() : std::span<const EmbeddedFile>();
}

bool is_executable(PluginLanguage language) { return !kit_of(language).empty(); }

Result<void> write_file(const fs::path& path, std::string_view text) {
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  if (error) return unwritable(path, error.message());
  std::ofstream out(path, std::ios::binary);
  out << text;
  if (!out.flush()) return unwritable(path, std::generic_category().message(errno));
  return {};
}

Result<std::vector<std::string>> write_files(const fs::path& folder, const std::string& name, PluginLanguage language) {
  std::vector<std::string> files;
  for (const auto& file : template_of(language)) {
    files.push_back(renamed(file.path, name));
    TRY(write_file(folder / files.back(), renamed(file.text, name)));
  }
  for (const auto& file : kit_of(language)) {
    files.emplace_back(file.path);
    TRY(write_file(folder / file.path, file.text));
  }
  return files;
}

// A folder beside the new one, gone with all that is left in it.
class PluginFolder {
 public:
  explicit PluginFolder(const fs::path& parent) {
    std::string pattern = (parent / ".waybill-plugin-XXXXXX").string();
    if (::mkdtemp(pattern.data()) != nullptr) path_ = pattern;
  }
  ~PluginFolder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  PluginFolder(const PluginFolder&) = delete;
  PluginFolder& operator=(const PluginFolder&) = delete;
  const fs::path& path() const { return path_; }  // "" if there is none: see errno

 private:
  fs::path path_;
};

// Where this program was installed, if CMake has to be told.
std::string prefix_hint() {
  std::error_code error;
  const auto prefix = fs::read_symlink("/proc/self/exe", error).parent_path().parent_path();
  if (error || prefix == "/usr" || prefix == "/usr/local" || !fs::exists(prefix / "lib/cmake/waybill-plugin", error)) return {};
  return " -DCMAKE_PREFIX_PATH=" + prefix.string();
}

}  // namespace

Result<NewPlugin> write_new_plugin(const std::string& name, const fs::path& parent, PluginLanguage language) {
  TRY(check_name(name));
  const fs::path folder = parent / (name + (is_executable(language) ? ".plugin" : ""));
  TRY(check_place(parent, folder));
  const PluginFolder workplace(parent);
  if (workplace.path().empty()) return unwritable(folder, std::generic_category().message(errno));
  auto files = write_files(workplace.path() / name, name, language);
  TRY(files);
  std::error_code error;
  fs::rename(workplace.path() / name, folder, error);
  if (error) return unwritable(folder, error.message());
  return NewPlugin{folder, std::move(*files)};
}

int new_plugin(const GlobalOptions& options, const std::string& name, const fs::path& parent, PluginLanguage language) {
  const auto made = write_new_plugin(name, parent, language);
  if (!made) return failed(made.error().what);
  if (options.json) {
    print_json({{"folder", made->folder.string()}, {"files", made->files}});
    return 0;
  }
  print_text("wrote %s\n", made->folder.c_str());
  for (const auto& file : made->files) print_text("  %s\n", file.c_str());
  if (is_executable(language)) {
    const auto* const test = language == PluginLanguage::python ? "python3 -m unittest" : "tsc && node --test";
    print_text("\nnext\n  cd %s && %s && cd -\n  waybill plugin check %s --samples %s/check.json\nREADME.md says the rest.\n",
               made->folder.c_str(), test, made->folder.c_str(), made->folder.c_str());
    return 0;
  }
  print_text(
      "\nnext\n  cd %s\n  cmake -B build%s\n  cmake --build build\n  ctest --test-dir build --output-on-failure\n"
      "  waybill plugin check build/plugins/%s.so --samples check.json\nREADME.md says the rest.\n",
      made->folder.c_str(), prefix_hint().c_str(), name.c_str());
  return 0;
}

}  // namespace waybill
