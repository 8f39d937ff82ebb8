// Statements and migrations are files that people read: what they say about themselves is held here.
#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "docs/source_tree.h"

namespace waybill::testing {
namespace {

struct Section {
  std::string comment, sql;
};

using Sections = std::map<std::string, Section>;

struct SqlFile {
  Sections parts, statements;
};

SqlFile read_sql(const std::string& file) {
  SqlFile read;
  Section* section = nullptr;
  for (const auto& line : lines_of(source_folder() / file)) {
    static const std::regex kBegin("-- (name|template|part): ([a-z0-9_]+)");
    std::smatch found;
    if (std::regex_match(line, found, kBegin)) {
      section = &(found[1] == "part" ? read.parts : read.statements)[found[2]];
      EXPECT_TRUE(section->sql.empty()) << file << ": " << found[2] << " is there twice";
    } else if (section) {
      (line.starts_with("--") ? section->comment : section->sql) += line + "\n";
    }
  }
  for (const auto& [name, part] : read.parts)
    EXPECT_TRUE(part.comment.starts_with("-- ")) << file << ": " << name << " says nothing";
  return read;
}

using Parts = std::map<std::string, const Section*>;

// `{{page}}` is the part of that name. Notes which ones are used.
std::string expanded(std::string sql, const Parts& parts, std::set<const Section*>& used) {
  static const std::regex kPart(R"(\{\{([a-z0-9_]+)\}\})");
  for (std::smatch found; std::regex_search(sql, found, kPart);) {
    const Section* part = parts.at(found[1]);
    used.insert(part);
    sql = found.prefix().str() + part->sql + found.suffix().str();
  }
  return sql;
}

// The statements of every .sql file of host/store, by name. Parts belong to their file, or, in a parts.sql, to their room or to
// all.
Sections sections() {
  std::map<std::string, SqlFile> files;
  for (const auto& file : files_below("host/store", {".sql"})) files[file] = read_sql(file);
  Sections all;
  std::set<const Section*> used;
  for (const auto& [file, read] : files) {
    const auto room = file.substr(0, file.rfind('/'));
    Parts parts;
    for (const auto& [name, part] : read.parts) parts[name] = &part;
    if (const auto shared = files.find(room + "/parts.sql"); shared != files.end())
      for (const auto& [name, part] : shared->second.parts) parts.emplace(name, &part);
    if (const auto shared = files.find("host/store/parts.sql"); shared != files.end())
      for (const auto& [name, part] : shared->second.parts) parts.emplace(name, &part);
    for (const auto& [name, section] : read.statements) {
      EXPECT_FALSE(all.contains(name)) << file << ": " << name << " is there twice";
      all[name] = {section.comment, expanded(section.sql, parts, used)};
    }
  }
  for (const auto& [file, read] : files)
    for (const auto& [name, part] : read.parts) EXPECT_TRUE(used.contains(&part)) << file << ": nothing uses the part " << name;
  return all;
}

// What they take and return is checked by the build, and by contract/statements_test.cpp.
TEST(TheStatements, SayWhatTheyDo) {
  const auto all = sections();
  ASSERT_GT(all.size(), 100u);
  static const std::regex kNumber(R"(\$\d)");
  for (const auto& [name, section] : all) {
    EXPECT_FALSE(section.comment.starts_with("-- takes: ") || section.comment.starts_with("-- returns: "))
        << name << " does not say what it does";
    if (name == "settle") continue;  // its parameters follow from the columns
    EXPECT_FALSE(std::regex_search(section.comment + section.sql, kNumber)) << name << " has a parameter without a name";
  }
}

// A host lives if its session holds the lock: every statement must mean the same lock by it, and none another program's.
TEST(TheStatements, AllMeanTheSameLockOfAHost) {
  static const std::regex kSpace(R"(\s+)");
  const auto view = std::regex_replace(text_of(source_folder() / "schema/0055_first.sql"), kSpace, " ");
  EXPECT_NE(view.find("FROM pg_locks l WHERE l.locktype = 'advisory' AND l.objsubid = 2 AND l.granted AND l.classid = "
                      "hashtext('waybill:' || current_schema())::oid AND l.database = (SELECT oid FROM pg_database WHERE "
                      "datname = current_database())"),
            std::string::npos);
  for (const auto& [name, section] : sections())
    EXPECT_TRUE(section.sql.find("pg_locks") == std::string::npos || name == "suspects_end_silent_lead")
        << name << " should ask living_hosts";
  for (const auto* name : {"host_lock", "take_over", "unregister", "unlock", "forget_older_hosts"})
    EXPECT_NE(sections().at(name).sql.find("lock(hashtext('waybill:' || current_schema()), "), std::string::npos) << name;
}

// CONTRIBUTING.md: a function has one home, and a file is named after it.
TEST(TheMigrations, LeaveFunctionsToTheirFiles) {
  int migrations = 0, functions = 0;
  for (const auto& file : files_below("schema", {".sql"})) {
    const auto text = text_of(source_folder() / file);
    if (file.parent_path().filename() == "functions") {
      ++functions;
      const std::string begin = "CREATE OR REPLACE FUNCTION ", own = begin + file.stem().string() + "(";
      EXPECT_TRUE(text.starts_with("-- ")) << file << " does not say what the function is for";
      EXPECT_NE(text.find(own), std::string::npos) << file;
      for (auto at = text.find(begin); at != std::string::npos; at = text.find(begin, at + 1))
        EXPECT_EQ(text.compare(at, own.size(), own), 0) << file << " has another function";
    } else {
      ++migrations;
      EXPECT_EQ(text.find("REPLACE FUNCTION"), std::string::npos) << file << ": edit schema/functions instead";
    }
  }
  EXPECT_GT(migrations, 3);
  EXPECT_GT(functions, 30);
}

}  // namespace
}  // namespace waybill::testing
