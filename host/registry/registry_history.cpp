// Reading what is kept, and comparing it by target and field.
#include "registry/registry_history.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/json_document.h"
#include "base/utf8.h"
#include "registry/registry_digest.h"
#include "registry/registry_file.h"

namespace waybill {
namespace {

constexpr auto kTargetsFile = "targets.json";
using TargetNodes = std::map<std::string, JsonNode>;

TargetNodes targets_in(const RegistryFiles& files) {
  TargetNodes targets;
  const auto file = files.find(kTargetsFile);
  if (file == files.end()) return targets;
  const auto document = parse_json(file->second, kTargetsFile);
  const auto* list = document ? document->find("targets") : nullptr;
  if (list == nullptr) return targets;
  for (const auto& target : list->children)
    if (const auto* name = target.find("submissionTarget"); name != nullptr && name->text() != nullptr)
      targets.emplace(*name->text(), target);
  return targets;
}

std::optional<std::string> json_of(const JsonNode* node) { return node ? std::optional(to_json(*node)) : std::nullopt; }

// Of two objects their members, of all else the whole.
void compare(const JsonNode* before, const JsonNode* after, const RegistryDifference& place,
             std::vector<RegistryDifference>& all) {
  const bool are_objects = before && after && before->kind == JsonNode::Kind::object && after->kind == JsonNode::Kind::object;
  if (!are_objects) {
    auto one = place;
    one.before = json_of(before);
    one.after = json_of(after);
    if (one.before != one.after) all.push_back(std::move(one));
    return;
  }
  std::set<std::string> names;
  for (const auto* object : {before, after})
    for (const auto& member : object->children) names.insert(member.key);
  for (const auto& name : names) {
    auto member = place;
    member.field = field_path(place.field, name);
    compare(before->find(name), after->find(name), member, all);
  }
}

const JsonNode* find_in(const TargetNodes& targets, const std::string& name) {
  const auto found = targets.find(name);
  return found == targets.end() ? nullptr : &found->second;
}

std::set<std::string> names_of(const TargetNodes& before, const TargetNodes& after) {
  std::set<std::string> names;
  for (const auto* targets : {&before, &after})
    for (const auto& [name, target] : *targets) names.insert(name);
  return names;
}

std::map<std::string, int> lines_of(const std::string& text) {
  std::map<std::string, int> lines;
  for (std::size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find('\n', at), text.size());
    ++lines[text.substr(at, end - at)];
    at = end + 1;
  }
  return lines;
}

// In the order of the text.
std::string lines_only_in(const std::string& text, std::map<std::string, int> others) {
  std::string only;
  for (std::size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find('\n', at), text.size());
    const auto line = text.substr(at, end - at);
    if (others[line]-- <= 0) only.append(line).append("\n");
    at = end + 1;
  }
  return only;
}

const std::string* find_in(const RegistryFiles& files, const std::string& path) {
  const auto found = files.find(path);
  return found == files.end() ? nullptr : &found->second;
}

std::optional<std::string> own_lines(const std::string* text, const std::string* other) {
  if (text == nullptr) return std::nullopt;
  return other == nullptr ? *text : lines_only_in(*text, lines_of(*other));
}

}  // namespace

bool is_kept(const std::filesystem::path& below_folder, std::string_view content) {
  const auto kind = below_folder.extension().string();
  const bool is_read = kind == ".json" || kind == ".yaml" || kind == ".yml" || below_folder.begin()->string() == "templates";
  return is_read && content.find("PRIVATE KEY-----") == std::string_view::npos;
}

tl::expected<RegistryFiles, std::string> read_registry_files(const std::filesystem::path& folder) {
  RegistryFiles files;
  std::size_t size = 0;
  for (const auto& file : files_below(folder)) {
    const auto below = file.lexically_relative(folder);
    if (!is_kept(below, "")) continue;
    auto text = read_text(file);
    if (!text) return tl::unexpected(file.string() + " " + text.error());
    if (!is_kept(below, *text)) continue;
    size += text->size();
    if (size > kMaxVersionBytes)
      return tl::unexpected("the files have more than " + std::to_string(kMaxVersionBytes) + " bytes together");
    files.emplace(below.generic_string(), std::move(*text));
  }
  return files;
}

std::string digest_of(const RegistryFiles& files) {
  std::string all;
  for (const auto& [path, content] : files) add_to_digest(all, path, content);
  return finished_digest(all);
}

std::vector<RegistryDifference> differences(const RegistryFiles& before, const RegistryFiles& after) {
  std::vector<RegistryDifference> all;
  const auto were = targets_in(before), are = targets_in(after);
  for (const auto& name : names_of(were, are))
    compare(find_in(were, name), find_in(are, name),
            {.file = kTargetsFile, .target = name, .field = {}, .before = {}, .after = {}}, all);
  const bool targets_differ = !all.empty();
  std::set<std::string> paths;
  for (const auto* files : {&before, &after})
    for (const auto& [path, content] : *files) paths.insert(path);
  for (const auto& path : paths) {
    const auto *was = find_in(before, path), *is = find_in(after, path);
    if ((was && is && *was == *is) || (path == kTargetsFile && targets_differ)) continue;
    all.push_back({.file = path, .target = {}, .field = {}, .before = own_lines(was, is), .after = own_lines(is, was)});
  }
  return all;
}

TargetCounts count_targets(const RegistryFiles& before, const RegistryFiles& after) {
  TargetCounts counts;
  const auto were = targets_in(before), are = targets_in(after);
  for (const auto& name : names_of(were, are)) {
    const auto was = json_of(find_in(were, name)), is = json_of(find_in(are, name));
    counts.added += was ? 0 : 1;
    counts.removed += is ? 0 : 1;
    counts.changed += was && is && *was != *is ? 1 : 0;
  }
  return counts;
}

}  // namespace waybill
