// Looks at files, disks and database, and prints what it found: once, or again and again.
#include "cli/doctor.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "base/printing.h"
#include "cli/commands.h"
#include "cli/doctor_database.h"
#include "cli/doctor_machine.h"
#include "cli/interruption.h"
#include "cli/json_output.h"

namespace waybill {
namespace {

using Level = Finding::Level;
using SteadyClock = std::chrono::steady_clock;

constexpr auto kFilesAgain = std::chrono::minutes(5);  // plugins are not loaded at every look

bool counts(const Finding& finding) { return finding.level > Level::note; }

std::string line_of(const Finding& finding) {
  return "  " + name_of(finding) + ": " + finding.message + "\n" +
         (finding.remedy.empty() ? "" : "    -> " + finding.remedy + "\n");
}

std::string group_of(const Findings& findings, Level level, const char* title) {
  std::string lines;
  for (const auto& finding : findings)
    if (finding.level == level) lines += line_of(finding);
  return lines.empty() ? "" : std::string(title) + "\n" + lines + "\n";
}

// One line for all that is not known for the same reason.
std::string unknown_text(const Findings& findings) {
  std::map<std::pair<std::string, std::string>, std::string> names;  // by message and remedy
  for (const auto& finding : findings) {
    if (finding.level != Level::unknown) continue;
    auto& all = names[{finding.message, finding.remedy}];
    all.append(all.empty() ? "" : ", ").append(name_of(finding));
  }
  std::string text;
  for (const auto& [why, all] : names) text.append("  " + all + ": " + why.first + "\n    -> " + why.second + "\n");
  return text.empty() ? "" : "not known\n" + text + "\n";
}

std::string clock_time() {
  const auto now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  char text[16];
  std::strftime(text, sizeof text, "%H:%M:%S", &local);
  return text;
}

Json json_of_look(const Findings& findings) {
  Json list = json_of(findings);
  for (std::size_t i = 0; i < findings.size(); ++i) list[i]["subject"] = findings[i].subject;
  const auto now = std::chrono::duration_cast<Micros>(std::chrono::system_clock::now().time_since_epoch());
  return {{"at", format_rfc3339({now.count()})}, {"exitCode", exit_code_of(findings)}, {"findings", std::move(list)}};
}

// All that lasts from one look to the next.
class Examination {
 public:
  Examination(const Config& config, std::function<bool()> is_over) : config_(config), is_over_(std::move(is_over)) {}

  Findings look() {
    if (!files_ || SteadyClock::now() >= files_until_) {
      files_ = look_at_files(config_);
      files_until_ = SteadyClock::now() + kFilesAgain;
    }
    Findings all = files_->findings;
    const auto take = [&](Findings more) {
      all.insert(all.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
    };
    std::string data_directory;
    if (auto opened = open(); !opened) {
      all.push_back(
          {Level::problem, "database", opened.error().what, "docs/operations/running.md#what-an-installation-consists-of"});
    } else {
      auto found = look_at_database(config_, *files_, *database_, is_over_);
      data_directory = std::move(found.data_directory);
      take(std::move(found.findings));
    }
    take(look_at_disks(config_, data_directory));
    return all;
  }

 private:
  Result<void> open() {
    if (database_) return {};
    auto opened = open_database(config_, log_);
    TRY(opened);
    database_ = std::move(*opened);
    return {};
  }

  const Config& config_;
  const std::function<bool()> is_over_;
  Log log_ = quiet_log();
  std::optional<Database> database_;
  std::optional<InstalledFiles> files_;
  SteadyClock::time_point files_until_;
};

int look_again_and_again(const Config& config, const GlobalOptions& options, const DoctorOptions& doctor) {
  const Interruption interruption;
  Examination examination(config, [&] { return interruption.is_there(); });
  Findings before;
  for (bool is_first = true;; is_first = false) {
    auto now = examination.look();
    if (interruption.is_there() && !is_first) return exit_code_of(before);  // this look was cut short
    if (options.json)
      print_line(dump(json_of_look(now)));
    else
      print_text("%s", (is_first ? clock_time() + "\n" + report_text(now, doctor.verbose) : changes_text(before, now)).c_str());
    std::fflush(stdout);
    before = std::move(now);
    if (interruption.wait(Seconds{doctor.watch})) return exit_code_of(before);
  }
}

}  // namespace

int exit_code_of(const Findings& findings) {
  const auto has = [&](Level level) {
    return std::any_of(findings.begin(), findings.end(), [&](const Finding& finding) { return finding.level == level; });
  };
  return has(Level::problem) ? 1 : has(Level::warning) ? 3 : has(Level::unknown) ? 4 : 0;
}

std::string report_text(Findings findings, bool verbose) {
  std::set<std::string> found, all;
  std::size_t notes = 0;
  for (const auto& finding : findings) {
    all.insert(finding.what);
    if (counts(finding)) found.insert(finding.what);
    notes += finding.level == Level::note ? 1 : 0;
  }
  auto text =
      group_of(findings, Level::problem, "problems") + group_of(findings, Level::warning, "warnings") + unknown_text(findings);
  if (verbose) text += group_of(findings, Level::note, "notes") + group_of(findings, Level::ok, "fine");
  text += std::to_string(all.size() - found.size()) + " checks without a finding";
  if (!verbose && notes > 0) text += ", " + std::to_string(notes) + " note(s): see --verbose";
  return text + "\n";
}

std::string changes_text(const Findings& before, const Findings& now) {
  const auto by_name = [](const Findings& findings) {
    std::map<std::string, const Finding*> all;
    for (const auto& finding : findings)
      if (counts(finding)) all.try_emplace(name_of(finding), &finding);
    return all;
  };
  const auto old = by_name(before), fresh = by_name(now);
  std::string text;
  for (const auto& [name, finding] : fresh) {
    const auto known = old.find(name);
    if (known == old.end() || known->second->level != finding->level)
      text += clock_time() + " new " + word_of(finding->level) + "\n" + line_of(*finding);
  }
  for (const auto& [name, finding] : old)
    if (!fresh.contains(name)) text += clock_time() + " gone: " + word_of(finding->level) + " " + name + "\n";
  return text;
}

int examine(const GlobalOptions& options, const DoctorOptions& doctor) {
  const auto config = configuration(options);
  if (!config) return 1;
  if (doctor.watch > 0) return look_again_and_again(*config, options, doctor);
  const auto findings = Examination(*config, [] { return false; }).look();
  if (options.json)
    print_json(json_of_look(findings));
  else
    print_text("%s", report_text(findings, doctor.verbose).c_str());
  return exit_code_of(findings);
}

}  // namespace waybill
