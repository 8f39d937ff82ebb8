// plugin.json and the command that it names.
#include "plugin_library/plugin_folder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/file_text.h"
#include "base/json_check.h"
#include "base/json_reader.h"
#include "plugin_library/descriptor_json.h"
#include "plugin_library/plugin_file.h"

namespace waybill {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kMaxPluginJson = std::size_t{1} << 20;
constexpr std::size_t kMaxFiles = 100'000;  // of a folder, with what its language installed into it
constexpr std::size_t kMaxInterpreters = 4;
constexpr std::array<const char*, 3> kSearched{"/usr/local/bin", "/usr/bin", "/bin"};  // the PATH of plugins' processes

constexpr std::string_view kSchema = R"({
  "type": "object",
  "required": ["id", "version", "command", "actions"],
  "additionalProperties": false,
  "properties": {
    "$schema": {"type": "string"},
    "id": {"type": "string", "minLength": 1},
    "version": {"type": "string", "minLength": 1},
    "command": {"type": "array", "minItems": 1, "items": {"type": "string", "minLength": 1}},
    "actions": {"type": "array", "minItems": 1, "items": {
      "type": "object",
      "required": ["type"],
      "additionalProperties": false,
      "properties": {
        "type": {"type": "string", "minLength": 1},
        "blocking": {"type": "boolean"},
        "settingsSchema": {"type": "object"},
        "destinationSchema": {"type": "object"},
        "payloadSchema": {"type": "object"},
        "reasons": {"type": "array", "items": {
          "anyOf": [
            {"type": "string", "minLength": 1},
            {"type": "object", "required": ["name"], "additionalProperties": false, "properties": {
              "name": {"type": "string", "minLength": 1},
              "permanent": {"type": "boolean"},
              "duplicate": {"type": "boolean"}}}]}}}}}
  }
})";

Result<std::string> plugin_json(const fs::path& folder) {
  const auto file = folder / kPluginJson;
  auto text = read_file(file, kMaxPluginJson);
  if (!text)
    return refuse_plugin(std::string("its ") + kPluginJson + " cannot be read: " + text.error().reason,
                         "write it as docs/plugins-python.md shows");
  if (text->size() > kMaxPluginJson)
    return refuse_plugin(std::string("its ") + kPluginJson + " has more than 1 MiB", "make it shorter");
  return std::move(*text);
}

std::vector<std::string> command_in(const Json& json) {
  std::vector<std::string> words;
  for (const auto& word : json.at("command")) words.push_back(word.get<std::string>());
  return words;
}

bool is_program(const fs::path& path) { return fs::is_regular_file(path) && access(path.c_str(), X_OK) == 0; }

// A word with a slash is a path from the folder; any other is looked for where commands are.
std::optional<fs::path> find_program(const fs::path& folder, const std::string& word) {
  if (word.find('/') != std::string::npos) {
    const auto path = (folder / word).lexically_normal();
    return is_program(path) ? std::optional(path) : std::nullopt;
  }
  for (const auto* place : kSearched)
    if (const auto path = fs::path(place) / word; is_program(path)) return path;
  return std::nullopt;
}

// What a script names in its first line: "#!/usr/bin/env python3" is env, and then python3.
std::vector<std::string> interpreter_words(const fs::path& program) {
  std::ifstream file(program, std::ios::binary);
  std::string line;
  constexpr std::size_t kMaxLine = 256;
  line.resize(kMaxLine);
  file.read(line.data(), kMaxLine);
  line.resize(static_cast<std::size_t>(file.gcount()));
  line = line.substr(0, line.find('\n'));
  if (!line.starts_with("#!")) return {};
  std::vector<std::string> words;
  for (std::size_t at = 2; at < line.size() && words.size() < 2;) {
    at = line.find_first_not_of(" \t", at);
    if (at == std::string::npos) break;
    const auto end = std::min(line.find_first_of(" \t", at), line.size());
    words.push_back(line.substr(at, end - at));
    at = end;
  }
  return words;
}

// A program in the bin of a tree of its own (/opt/python/bin/python3) reads that tree.
fs::path tree_of(const fs::path& program) {
  const auto place = program.parent_path();
  if (place.filename() != "bin") return program;
  const auto tree = place.parent_path();
  const bool is_shared = tree == "/" || tree == "/usr" || tree == "/usr/local";
  return is_shared ? program : tree;
}

void add_program(const fs::path& folder, const fs::path& program, std::vector<fs::path>& read, std::size_t depth = 0) {
  std::error_code unknown;
  read.push_back(tree_of(program));
  if (const auto real = fs::canonical(program, unknown); !unknown && real != program) read.push_back(tree_of(real));
  if (depth == kMaxInterpreters) return;
  for (const auto& word : interpreter_words(program))
    if (const auto found = find_program(folder, word)) add_program(folder, *found, read, depth + 1);
}

// Who may write to any of its files may run code as this host.
std::optional<std::string> fault_in_files(const fs::path& folder) {
  const auto words = [](const fs::path& path, const FileFault& fault) {
    return path.filename().string() + ": " + fault.reason + "\n" + fault.remedy;
  };
  if (fs::is_symlink(fs::symlink_status(folder))) return "it is a link\nput the folder itself beside the other plugins";
  if (const auto fault = fault_in_folder(folder)) return words(folder, *fault);
  std::error_code error;
  std::size_t files = 0;
  for (fs::recursive_directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    if (++files > kMaxFiles) return "it has more than 100000 files\nleave out what the plugin does not use";
    const auto status = entry->symlink_status();
    if (fs::is_symlink(status)) continue;  // what it names is judged where it is
    const auto fault = fs::is_directory(status) ? fault_in_folder(entry->path()) : fault_in_file(entry->path());
    if (fault) return words(entry->path(), *fault);
  }
  if (error) return "it cannot be read: " + error.message() + "\ncheck its permissions";
  return std::nullopt;
}

}  // namespace

std::string mark_of_folder(const fs::path& folder) {
  std::vector<std::string> lines;
  std::error_code error;
  for (fs::recursive_directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    if (entry->path().filename() == "__pycache__") {  // an interpreter's own
      entry.disable_recursion_pending();
      continue;
    }
    struct stat found {};
    if (lstat(entry->path().c_str(), &found) != 0 || S_ISDIR(found.st_mode) || lines.size() >= kMaxFiles) continue;
    lines.push_back(entry->path().string() + ' ' + std::to_string(found.st_size) + ' ' + std::to_string(found.st_ino) + ' ' +
                    std::to_string(found.st_mtim.tv_sec) + '.' + std::to_string(found.st_mtim.tv_nsec) + '\n');
  }
  std::sort(lines.begin(), lines.end());
  std::string mark;
  for (const auto& line : lines) mark += line;
  return mark;
}

Result<PluginFolder> read_plugin_folder(const fs::path& folder) {
  if (auto fault = fault_in_files(folder)) return fail(Error::Kind::invalid, *fault);
  auto mark = mark_of_folder(folder);
  const auto text = plugin_json(folder);
  TRY(text);
  const auto json = read_json(*text);
  if (!json) return refuse_plugin(std::string("its ") + kPluginJson + " is not JSON: " + json.error().what, "mend it there");
  static const auto schema = JsonCheck::compile(kSchema);
  if (const auto problems = schema->check(*text); !problems.empty())
    return refuse_plugin(kPluginJson + std::string(": ") + to_string(problems.front()),
                         "docs/plugins-python.md lists what it may say");
  auto descriptor = read_descriptor(*text);
  TRY(descriptor);
  auto command = command_in(*json);
  for (const auto& word : command)
    if (word.find('\0') != std::string::npos)
      return refuse_plugin(kPluginJson + std::string(": command: a word has a NUL byte"), "take it out");
  const auto program = find_program(folder, command.front());
  if (!program)
    return refuse_plugin(
        kPluginJson + std::string(": command: there is no program ") + command.front(),
        "install it, or name it by its path: a name without / is looked for in /usr/local/bin, /usr/bin and /bin");
  command.front() = program->string();
  PluginFolder plugin{folder, std::move(*descriptor), *text, std::move(command), {folder}, std::move(mark)};
  add_program(folder, *program, plugin.read);
  return plugin;
}

}  // namespace waybill
