// Reads the parts of every template and compiles them.
#include "registry/templates_folder.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "base/names.h"
#include "registry/registry_file.h"

namespace waybill {
namespace {

namespace fs = std::filesystem;

struct Part {
  const char* extension;
  const char* name;
  std::optional<std::string> TemplateParts::*text;
};
constexpr std::array kParts{Part{".subject", "subject", &TemplateParts::subject}, Part{".txt", "text", &TemplateParts::text},
                            Part{".html", "html", &TemplateParts::html}};

const Part* part_of(const fs::path& file) {
  const auto found =
      std::find_if(kParts.begin(), kParts.end(), [&](const Part& part) { return file.extension() == part.extension; });
  return found == kParts.end() ? nullptr : &*found;
}

}  // namespace

tl::expected<Templates, Problems> load_templates(const fs::path& folder) {
  Problems problems;
  std::map<std::string, TemplateParts> sources;
  for (const auto& file : files_in(folder, problems)) {
    const auto* part = part_of(file);
    const auto id = file.stem().string();
    if (part == nullptr || !is_id(id)) {
      problems.push_back({file.string(), 0, "",
                          "must be named ID.subject, ID.txt or ID.html, with an ID of letters, digits, _ and -, at most " +
                              std::to_string(kMaxIdLength)});
      continue;
    }
    auto text = read_text(file);
    if (!text) {
      problems.push_back({file.string(), 0, "", text.error()});
      continue;
    }
    sources[id].*part->text = std::move(*text);
  }
  std::map<std::string, Template, std::less<>> templates;
  for (const auto& [id, source] : sources) {
    auto compiled = Template::compile(source);
    if (compiled) {
      templates.emplace(id, std::move(*compiled));
      continue;
    }
    for (auto& problem : compiled.error()) {
      const auto part = std::find_if(kParts.begin(), kParts.end(), [&](const Part& one) { return problem.field == one.name; });
      problems.push_back({(folder / (id + part->extension)).string(), problem.line, "", problem.message});
    }
  }
  if (!problems.empty()) return tl::unexpected(std::move(problems));
  return Templates(std::move(templates));
}

}  // namespace waybill
