// The pages of the commands, and writing all of them.
#include "cli/manual.h"

#include <cctype>
#include <cstdlib>
#include <fstream>

#include "app/installation.h"
#include "base/printing.h"
#include "base/time.h"
#include "cli/command_notes.h"
#include "cli/command_tree.h"
#include "cli/roff.h"

namespace waybill {
namespace {

using roff::bold, roff::italic, roff::text;

// As the lines of NAME begin: in lower case, unless it is a name.
std::string uncapitalized(std::string words) {
  if (words.size() > 1 && std::islower(static_cast<unsigned char>(words[1])) && !words.starts_with("Waybill"))
    words[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(words[0])));
  return words;
}

std::string upper(std::string word) {
  for (auto& c : word) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return word;
}

std::string synopsis(const CommandEntry& entry) {
  std::string line = bold(entry.name(' ')) + " [" + italic("OPTIONS") + "]";
  if (!entry.commands.empty()) line += " " + italic("COMMAND");
  for (const auto& option : entry.options) {
    if (option.place.empty()) continue;
    const auto word = italic(option.place) + (option.is_repeated ? " ..." : "");
    line += option.is_required ? " " + word : " [" + word + "]";
  }
  return line + "\n";
}

std::string option_item(const OptionEntry& option) {
  std::string names;
  for (const auto& name : option.names) names += (names.empty() ? "" : ", ") + bold(name);
  if (!names.empty() && !option.is_flag()) names += " " + italic(option.value);
  if (!option.place.empty()) names = italic(option.place) + (names.empty() ? "" : ", " + names);
  std::string choices;
  for (const auto& choice : option.choices) choices += (choices.empty() ? " One of " : ", ") + bold(choice);
  std::string words = text(option.what) + ".";
  if (!choices.empty()) words += choices + ".";
  if (!option.limits.empty()) words += " Limits: " + text(option.limits) + ".";
  if (!option.fallback.empty()) words += " Default: " + text(option.fallback) + ".";
  if (option.is_repeated && option.what.find("several times") == std::string::npos) words += " It may be given several times.";
  return ".TP\n" + names + "\n" + words + "\n";
}

std::string list_of_commands(const CommandEntry& entry) {
  std::string out = roff::heading("COMMANDS");
  const auto add = [&](const CommandEntry& sub) { out += ".TP\n.BR " + text(sub.name('-')) + " (1)\n" + text(sub.what) + ".\n"; };
  if (!entry.path.empty())
    for (const auto& sub : entry.commands) add(sub);
  else
    for (const auto& list : by_headings(entry)) {
      out += ".SS \"" + list.heading + "\"\n";
      for (const auto* command : list.commands) add(*command);
    }
  return out;
}

std::string exits(const CommandNotes* notes) {
  const auto item = [](const char* code, std::string_view words) { return ".TP\n" + bold(code) + "\n" + text(words) + ".\n"; };
  return roff::heading("EXIT STATUS") + item("0", kExitZero) +
         item("1", notes ? notes->one : "it failed, or found what it was to look for; the page of each command says which") +
         item("2", kExitTwo) + (notes && !notes->three.empty() ? item("3", notes->three) : "") +
         (notes && !notes->four.empty() ? item("4", notes->four) : "");
}

// What belongs to the whole program.
std::string places() {
  return roff::heading("ENVIRONMENT") + ".TP\n" + bold("WAYBILL_CONFIG") +
         "\nThe configuration file, where \\fB\\-\\-config\\fR names none.\n.TP\n" + bold("WAYBILL_") + italic("KEY") +
         "\nEach key of the configuration: see\n.BR waybill.yaml (5).\n.TP\n" + bold("NO_COLOR") +
         "\nNo colours, also on a terminal.\n" + roff::heading("FILES") + ".TP\n" + italic("./waybill.yaml") +
         "\nThe configuration, where neither \\fB\\-\\-config\\fR nor \\fBWAYBILL_CONFIG\\fR names one.\n.TP\n" +
         italic("/etc/waybill/waybill.yaml") +
         "\nThe configuration, where there is no \\fIwaybill.yaml\\fR in the working folder.\n";
}

// The group that a command is in; null if in none.
const CommandEntry* group_of(const CommandEntry& tree, const CommandEntry& entry) {
  for (const auto& group : tree.commands)
    if (entry.path.starts_with(group.path + " ")) return &group;
  return nullptr;
}

std::string see_also(const CommandEntry& tree, const CommandEntry& entry) {
  std::vector<std::string> names;
  if (!entry.path.empty()) names.emplace_back("waybill (1)");
  if (const auto* group = group_of(tree, entry)) {
    names.push_back(group->name('-') + " (1)");
    for (const auto& sub : group->commands)
      if (sub.path != entry.path) names.push_back(sub.name('-') + " (1)");
  }
  if (entry.path.empty() || (entry.notes && entry.notes->needs != Needs::nothing)) names.emplace_back("waybill.yaml (5)");
  std::string out;
  for (std::size_t i = 0; i < names.size(); ++i) out += ".BR " + text(names[i]) + (i + 1 < names.size() ? " ,\n" : "\n");
  return roff::heading("SEE ALSO") + out;
}

Result<void> write_page(const std::filesystem::path& folder, const ManualPage& page) {
  const auto path = folder / page.file;
  std::error_code error;
  std::filesystem::create_directories(path.parent_path(), error);
  std::ofstream out(path, std::ios::binary);
  out << page.text;
  if (out.flush()) return {};
  return fail(Error::Kind::unavailable,
              "cannot write " + path.string() + ": " + (error ? error.message() : std::generic_category().message(errno)));
}

}  // namespace

Result<std::string> manual_date(const char* source_date_epoch) {
  if (source_date_epoch == nullptr || *source_date_epoch == '\0') return std::string();
  char* end = nullptr;
  constexpr long long kMost = 253402300799;  // the last second of the year 9999
  const long long seconds = std::strtoll(source_date_epoch, &end, 10);
  if (*end != '\0' || seconds < 0 || seconds > kMost)
    return fail(Error::Kind::invalid, std::string("SOURCE_DATE_EPOCH: \"") + source_date_epoch + "\" is no number of seconds");
  return format_rfc3339(Timestamp{seconds * 1'000'000}).substr(0, 10);
}

ManualPage command_page(const CommandEntry& tree, const CommandEntry& entry, const ManualTerms& terms) {
  const auto name = entry.name('-');
  std::string page =
      ".TH \"" + text(upper(name)) + "\" 1 \"" + terms.date + "\" \"Waybill " + terms.version + "\" \"Waybill\"\n.nh\n";
  page += roff::heading("NAME") + text(name + " - ");
  page.replace(page.size() - 3, 3, "\\- ");
  page += text(uncapitalized(entry.path.empty() ? "a durable dispatcher for outgoing messages" : entry.what)) + "\n";
  page += roff::heading("SYNOPSIS") + synopsis(entry) + roff::heading("DESCRIPTION");
  if (const auto* group = group_of(tree, entry)) page += text(group->what) + ".\n.PP\n";
  page += text(entry.what) + (entry.what.ends_with('.') ? "\n" : ".\n");
  if (entry.notes) page += ".PP\nIt needs " + text(words_of(entry.notes->needs)) + ".\n";
  if (!entry.commands.empty()) page += list_of_commands(entry);
  page += roff::heading("OPTIONS");
  for (const auto& option : entry.options) page += option_item(option);
  if (!entry.path.empty() && (!entry.notes || entry.notes->needs != Needs::nothing))
    for (const auto& option : tree.options)
      if (!option.is_flag()) page += option_item(option);
  page += exits(entry.notes);
  if (entry.path.empty()) page += places();
  page += roff::heading("EXAMPLES") + roff::example(entry.notes ? std::string(entry.notes->examples) : examples_of(entry.path));
  return {"man1/" + name + ".1", page + see_also(tree, entry)};
}

std::vector<ManualPage> manual_pages(const CommandEntry& tree, const ManualTerms& terms) {
  std::vector<ManualPage> pages;
  for (const auto* entry : all_of(tree)) pages.push_back(command_page(tree, *entry, terms));
  pages.push_back(configuration_page(terms));
  return pages;
}

int write_manual(const CommandEntry& tree, const std::string& version, const std::filesystem::path& folder) {
  const auto date = manual_date(std::getenv("SOURCE_DATE_EPOCH"));
  if (!date) return failed(date.error().what);
  const auto pages = manual_pages(tree, {version, *date});
  for (const auto& page : pages)
    if (const auto written = write_page(folder, page); !written) return failed(written.error().what);
  print_text("wrote %zu pages; man -M %s waybill shows the first\n", pages.size(), folder.c_str());
  return 0;
}

}  // namespace waybill
