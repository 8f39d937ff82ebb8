// The architecture as host/LAYERS states it: who may include whom, what CMake links, and where the heavy libraries live.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "docs/source_tree.h"

namespace waybill::testing {
namespace {

using Layers = std::map<std::string, std::set<std::string>>;

Layers stated(bool rooms) {
  Layers layers;
  for (const auto& line : lines_of(source_folder() / "host/LAYERS")) {
    const auto colon = line.find(':');
    if (line.empty() || line[0] == '#' || colon == std::string::npos) continue;
    const auto name = line.substr(0, colon);
    if ((name.find('/') != std::string::npos) != rooms) continue;
    std::istringstream words(line.substr(colon + 1));
    auto& allowed = layers[name];
    for (std::string word; words >> word;) allowed.insert(word);
  }
  return layers;
}
Layers stated_layers() { return stated(false); }
Layers stated_rooms() { return stated(true); }  // of store/: "store/queue"

// The layer of a file in host/: its folder, or its own name if it stands in host/ itself.
std::string layer_of(const std::filesystem::path& file) {
  auto part = std::next(file.begin());
  return part->string();
}

std::vector<std::string> includes_of(const std::filesystem::path& file) {
  static const std::regex kInclude(R"(^\s*#\s*include\s*[<"]([^>"]+)[>"])");
  std::vector<std::string> names;
  for (const auto& line : lines_of(source_folder() / file))
    if (std::smatch found; std::regex_search(line, found, kInclude)) names.push_back(found[1]);
  return names;
}

// H4: a stage of the pipeline knows only the stages it is allowed to know
TEST(TheLayers, EveryIncludeInTheHostIsAllowed) {
  const auto layers = stated_layers();
  ASSERT_GT(layers.size(), 10u);
  const auto files = files_below("host", {".h", ".cpp"});
  ASSERT_GT(files.size(), 20u);
  for (const auto& file : files) {
    const auto layer = layer_of(file);
    ASSERT_TRUE(layers.contains(layer)) << layer << " is not in host/LAYERS";
    for (const auto& included : includes_of(file)) {
      const auto other = included.substr(0, included.find('/'));
      if (other == included || other == layer || !layers.contains(other)) continue;
      EXPECT_TRUE(layers.at(layer).contains(other)) << file << " includes " << included << ", which host/LAYERS does not allow";
    }
  }
}

// An edge that nothing uses would let the next include in unseen.
TEST(TheLayers, HaveNoEdgeThatNothingUses) {
  Layers used;
  for (const auto& file : files_below("host", {".h", ".cpp"}))
    for (const auto& included : includes_of(file)) used[layer_of(file)].insert(included.substr(0, included.find('/')));
  for (const auto& [layer, allowed] : stated_layers())
    for (const auto& other : allowed)
      EXPECT_TRUE(used[layer].contains(other)) << "host/LAYERS lets " << layer << " include " << other << ", and nothing does";
}

// The rooms of store/: those that are stated are those that are, and so are the ways between them.
TEST(TheLayers, StateTheRoomsOfTheStore) {
  Layers found;
  for (const auto& file : files_below("host/store", {".h", ".cpp", ".sql"})) {
    const auto room = file.parent_path().lexically_relative("host").string();
    if (room == "store") continue;
    auto& others = found[room];
    for (const auto& included : includes_of(file)) {
      const auto other = std::filesystem::path(included).parent_path().string();
      if (other.starts_with("store/") && other != room) others.insert(other);
    }
  }
  EXPECT_GT(found.size(), 5u);
  EXPECT_EQ(found, stated_rooms());
}

TEST(TheLayers, AreTheOnesThatCMakeLinks) {
  Layers linked;
  const auto text = text_of(source_folder() / "host/CMakeLists.txt");
  const std::regex call(R"(waybill_layer\(([^)]*)\))");
  for (auto it = std::sregex_iterator(text.begin(), text.end(), call); it != std::sregex_iterator(); ++it) {
    std::istringstream words((*it)[1]);
    std::string name;
    words >> name;
    bool uses = false;
    linked[name];
    for (std::string word; words >> word;) {
      if (word == "USES" || word == "LIBRARIES")
        uses = word == "USES";
      else if (uses)
        linked[name].insert(word);
    }
  }
  auto stated = stated_layers();
  for (const auto* program : {"main.cpp", "plugin_host_main.cpp"}) stated.erase(program);
  EXPECT_EQ(linked, stated);
}

TEST(TheLayers, HaveNoCircle) {
  auto left = stated_layers();
  for (bool removed = true; removed && !left.empty();) {
    removed = false;
    for (auto it = left.begin(); it != left.end(); ++it) {
      const bool leaf = std::none_of(it->second.begin(), it->second.end(), [&](const auto& used) { return left.contains(used); });
      if (!leaf) continue;
      left.erase(it);
      removed = true;
      break;
    }
  }
  EXPECT_TRUE(left.empty()) << "a circle through " << left.begin()->first;
}

TEST(TheLayers, KeepEachHeavyLibraryInItsOwnFolderAndOutOfHeaders) {
  struct Rule {
    std::string prefix;
    std::set<std::string> folders;
  };
  const std::vector<Rule> rules{
      {"pqxx/", {"store"}},      {"libpq-fe.h", {"store"}}, {"curl/", {"services"}},    {"boost/dll", {"plugin_library"}},
      {"boost/beast", {"http"}}, {"boost/asio", {"http"}},  {"spdlog/", {"telemetry"}}, {"prometheus/", {"telemetry"}},
      {"yaml-cpp/", {"config"}}, {"CLI/", {"cli"}},         {"valijson/", {"base"}},    {"simdjson", {"api"}}};
  std::set<std::string> met;
  for (const auto& file : files_below("host", {".h", ".cpp"}))
    for (const auto& included : includes_of(file)) {
      for (const auto& rule : rules) {
        if (!included.starts_with(rule.prefix)) continue;
        met.insert(rule.prefix);
        EXPECT_TRUE(rule.folders.contains(layer_of(file))) << file << " includes " << included;
      }
      const bool json = included.starts_with("nlohmann/") && included != "nlohmann/json_fwd.hpp";
      const bool is_adapter = file == "host/base/json_events.h";  // for sources that read JSON event by event
      EXPECT_FALSE(json && file.extension() == ".h" && !is_adapter) << file << " is a header and includes " << included;
    }
  for (const auto* used : {"curl/", "boost/dll", "boost/beast", "spdlog/", "yaml-cpp/"}) EXPECT_TRUE(met.contains(used)) << used;
}

// H4
// Two classes of one name in one namespace break the rule of one definition, and the linker takes whichever it meets. Here they
// are looked for by their text, within a second; `./dev odr` has the linker compare all definitions of the whole program.
TEST(TheHost, DefinesEachTypeOnce) {
  static const std::regex kNamespace(R"(^(?:inline )?namespace ?([\w:]*) ?\{$)"),
      kType(R"(^(?:class|struct|union|enum class|enum) (?:alignas\(\S+\) )?(\w+)(?: final)?(?: : .*)? ?\{.*)");
  std::map<std::string, std::set<std::string>> places;
  for (const auto& file : files_below("host", {".h", ".cpp"})) {
    std::vector<std::string> scopes;
    for (const auto& line : lines_of(source_folder() / file)) {
      std::smatch found;
      if (std::regex_match(line, found, kNamespace)) {
        scopes.push_back(found[1]);
      } else if (line.starts_with("}  // namespace")) {
        ASSERT_FALSE(scopes.empty()) << file << ": " << line;
        scopes.pop_back();
      } else if (std::regex_match(line, found, kType) && std::find(scopes.begin(), scopes.end(), "") == scopes.end()) {
        std::string name;
        for (const auto& scope : scopes) name += scope + "::";
        places[name + found[1].str()].insert(file);
      }
    }
  }
  EXPECT_GT(places.size(), 300u);
  EXPECT_TRUE(places.contains("waybill::http::Request"));
  for (const auto& [type, files] : places)
    EXPECT_EQ(files.size(), 1u) << type << " is defined in " << *files.begin() << " and in " << *files.rbegin();
}

// H2
TEST(TheHost, NamesNoPlugin) {
  static const std::regex kName(R"rx("(sms|push|webhook|email_raw|email_template|happyfox_template|govuk_notify|ses)")rx");
  for (const auto& file : files_below("host", {".h", ".cpp"})) {
    int number = 0;
    for (const auto& line : lines_of(source_folder() / file)) {
      ++number;
      const auto code = line.substr(0, line.find("//"));
      EXPECT_FALSE(std::regex_search(code, kName)) << file << ":" << number << ": " << line;
    }
  }
}

}  // namespace
}  // namespace waybill::testing
