// The fenced blocks of a Markdown file, and what a compiler says of them.
#pragma once

#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <sstream>

#include "docs/source_tree.h"

namespace waybill::testing {

// One block: ```language mark
struct Snippet {
  int line = 0;  // of its first line of text
  std::string language;
  std::string mark;
  std::string text;
};

// An unclosed block has the language "unclosed".
inline std::vector<Snippet> snippets_of(const std::filesystem::path& file) {
  std::vector<Snippet> found;
  bool inside = false;
  int number = 0;
  for (const auto& line : lines_of(file)) {
    ++number;
    if (line.compare(0, 3, "```") == 0) {
      inside = !inside;
      if (!inside) continue;
      std::istringstream words(line.substr(3));
      auto& snippet = found.emplace_back();
      snippet.line = number + 1;
      words >> snippet.language >> snippet.mark;
    } else if (inside) {
      found.back().text += line + '\n';
    }
  }
  if (inside) found.back().language = "unclosed";
  return found;
}

// Its text with its own line numbers, so that a compiler names the page's lines.
inline std::string numbered(const Snippet& snippet, const std::filesystem::path& page) {
  return "#line " + std::to_string(snippet.line) + " \"" + page.string() + "\"\n" + snippet.text;
}

// Snippets that share a preamble, each in a namespace of its own; their includes stand before all.
inline std::string unit_of(const std::string& preamble, const std::vector<Snippet>& snippets, const std::filesystem::path& page) {
  std::string includes, body;
  for (const auto& snippet : snippets) {
    body += "namespace snippet_" + std::to_string(snippet.line) + " {\n#line " + std::to_string(snippet.line) + " \"" +
            page.string() + "\"\n";
    std::istringstream lines(snippet.text);
    for (std::string line; std::getline(lines, line);) {
      const bool include = line.compare(0, 8, "#include") == 0;
      if (include) includes += line + '\n';
      body += (include ? std::string() : line) + '\n';
    }
    body += "}\n";
  }
  return includes + preamble + body;
}

struct Said {
  int code = -1;
  std::string output;
};

inline Said run(const std::string& command) {
  Said said;
  FILE* const pipe = ::popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return said;
  std::array<char, 4096> buffer;
  for (std::size_t got = 0; (got = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;)
    said.output.append(buffer.data(), got);
  const int status = ::pclose(pipe);
  said.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return said;
}

}  // namespace waybill::testing
