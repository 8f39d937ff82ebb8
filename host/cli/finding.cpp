// Printing findings.
#include "cli/finding.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/printing.h"

namespace waybill {
namespace {

Ink ink_of(Finding::Level level) {
  return level == Finding::Level::problem ? Ink::red : level == Finding::Level::warning ? Ink::yellow : Ink::plain;
}

}  // namespace

const char* word_of(Finding::Level level) {
  constexpr std::array kWords{"ok", "note", "unknown", "warning", "problem"};
  return kWords[static_cast<std::size_t>(level)];
}

bool has_problem(const Findings& findings) {
  return std::any_of(findings.begin(), findings.end(),
                     [](const Finding& finding) { return finding.level == Finding::Level::problem; });
}

std::string name_of(const Finding& finding) {
  return finding.subject.empty() ? finding.what : finding.what + " " + finding.subject;
}

void print(const Finding& finding) {
  print_text(ink_of(finding.level), "%-8s", word_of(finding.level));
  print_text(" %-24s %s%s%s\n", name_of(finding).c_str(), finding.message.c_str(),
             finding.remedy.empty() ? "" : "; remedy: ", finding.remedy.c_str());
}

Json json_of(const Findings& findings) {
  Json list = Json::array();
  for (const auto& finding : findings)
    list.push_back(
        {{"level", word_of(finding.level)}, {"what", finding.what}, {"message", finding.message}, {"remedy", finding.remedy}});
  return list;
}

std::string age_text(Micros age) {
  const auto seconds = std::chrono::duration_cast<Seconds>(age).count();
  if (seconds < 120) return std::to_string(seconds) + " s";
  if (seconds < 2 * 3600) return std::to_string(seconds / 60) + " min";
  if (seconds < 2 * 86'400) return std::to_string(seconds / 3600) + " h";
  return std::to_string(seconds / 86'400) + " d";
}

std::string size_text(std::int64_t bytes) {
  constexpr std::int64_t kMiB = 1 << 20, kGiB = 1 << 30;
  if (bytes < kMiB) return std::to_string(bytes >> 10) + " KiB";
  if (bytes < kGiB) return std::to_string(bytes / kMiB) + " MiB";
  char text[32];
  std::snprintf(text, sizeof text, "%.1f GiB", static_cast<double>(bytes) / kGiB);
  return text;
}

}  // namespace waybill
