// waybill.yaml(5), from the page that the build compiled in: its introduction, its example, and its table of keys.
#include <span>
#include <sstream>

#include "base/embedded_file.h"
#include "cli/manual.h"
#include "cli/roff.h"

namespace waybill {
std::span<const EmbeddedFile> configuration_document();

namespace {

std::vector<std::string> cells_of(const std::string& row) {
  std::vector<std::string> cells;
  std::istringstream in(row.substr(1));
  for (std::string cell; std::getline(in, cell, '|');) {
    const auto first = cell.find_first_not_of(' ');
    cells.push_back(first == std::string::npos ? "" : cell.substr(first, cell.find_last_not_of(' ') - first + 1));
  }
  return cells;
}

// Of a key (its variable, unit, default and meaning), or of a field (its unit, default and meaning, or its meaning alone).
std::string row_item(const std::vector<std::string>& cells) {
  const bool is_key = cells.size() == 5;
  const std::string unit = cells.size() > 3 ? cells[cells.size() - 3] : "";
  const std::string fallback = cells.size() > 2 ? cells[cells.size() - 2] : "";
  std::string term = roff::markdown(cells[0]);
  if (!unit.empty() || !fallback.empty())
    term += " (" + roff::markdown(unit) + (unit.empty() || fallback.empty() ? "" : ", ") +
            (fallback.empty() ? "" : "default " + roff::markdown(fallback)) + ")";
  return ".TP\n" + term + "\n" + roff::markdown(cells.back()) + "\n" +
         (is_key ? ".br\nEnvironment: " + roff::markdown(cells[1]) + ".\n" : "");
}

// Makes roff of a part of the page, line by line: tables, lists, blocks and paragraphs.
class PartReader {
 public:
  void take(const std::string& line) {
    if (line.starts_with("```")) {
      if (is_block_) out_ += roff::example(block_);
      is_block_ = !is_block_;
      block_.clear();
    } else if (is_block_) {
      block_ += line + "\n";
    } else if (line.starts_with("| `")) {
      out_ += row_item(cells_of(line));
    } else if (line.starts_with("### ")) {
      out_ += ".SS \"" + roff::markdown(line.substr(4)) + "\"\n";
    } else if (line.empty()) {
      paragraph();
    } else if (line.starts_with("- ")) {
      paragraph(".IP \\(bu 2\n");
      text_ = line.substr(2);
    } else if (!line.starts_with('|')) {
      text_ += (text_.empty() ? "" : "\n") + line.substr(line.find_first_not_of(' '));
    }
  }
  std::string text() {
    paragraph();
    return std::move(out_);
  }

 private:
  // Ends one; the next begins with this request.
  void paragraph(const char* next = ".PP\n") {
    if (!text_.empty()) out_ += request_ + roff::markdown(text_) + "\n";
    text_.clear();
    request_ = next;
  }

  bool is_block_ = false;
  std::string request_ = ".PP\n";
  std::string out_, text_, block_;
};

// What stands below a heading of the page, up to the next one.
std::string part(const std::string& heading) {
  PartReader reader;
  bool is_here = false;
  std::istringstream lines{std::string(configuration_document().front().text)};
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("# ") || line.starts_with("## "))
      is_here = line == heading;
    else if (is_here)
      reader.take(line);
  }
  return reader.text();
}

}  // namespace

ManualPage configuration_page(const ManualTerms& terms) {
  std::string page = ".TH \"WAYBILL.YAML\" 5 \"" + terms.date + "\" \"Waybill " + terms.version + "\" \"Waybill\"\n.nh\n";
  page += roff::heading("NAME") + "waybill.yaml \\- the configuration of Waybill\n";
  page += roff::heading("DESCRIPTION") + part("# Configuration");
  page += roff::heading("EXAMPLE") + part("## A worked example");
  page += roff::heading("KEYS") + part("## Every key");
  page += roff::heading("NOTATIONS") + part("## Notations");
  page += roff::heading("SEE ALSO") + ".BR waybill (1) ,\n.BR waybill\\-check (1)\n.PP\n" +
          "The same as a page with links: operations/configuration.md in share/doc/waybill.\n";
  return {"man5/waybill.yaml.5", page};
}

}  // namespace waybill
