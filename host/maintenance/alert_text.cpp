// The message around every alert, and the words about stuck work and failures. The words about a dead letter:
// settle/dead_letter_alert.cpp.
#include "maintenance/alert_text.h"

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/ascii.h"
#include "base/json_writer.h"
#include "base/names.h"

namespace waybill {
namespace {

constexpr std::size_t kMaxListed = 20;
constexpr std::size_t kMaxSteps = 5;
constexpr std::string_view kForm = "form:";  // as the settler calls it
constexpr std::size_t kMaxLineLength = 300;
constexpr std::size_t kMaxWordsLength = 6000;
constexpr char kRunbook[] = "docs/operations/runbook.md";

std::string clipped(const std::string& text, std::size_t most) {
  if (text.size() <= most) return text;
  std::size_t end = most;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;  // never within a character
  return text.substr(0, end) + "...";
}

std::string first_line(const std::string& text) { return clipped(text.substr(0, text.find('\n')), kMaxLineLength); }

// "2026-01-31 09:30 UTC"
std::string minute(Timestamp t) {
  std::string text = format_rfc3339(t).substr(0, 16);
  text[10] = ' ';
  return text + " UTC";
}

std::string length(Micros d) {
  const auto minutes = std::chrono::duration_cast<std::chrono::minutes>(d).count();
  if (minutes >= 120) return std::to_string(minutes / 60) + " h";
  if (minutes >= 2) return std::to_string(minutes) + " min";
  return std::to_string(std::chrono::duration_cast<Seconds>(d).count()) + " s";
}

// The first step of the runbook's section, for what belongs to the organisation that commands mean if they are not told another
// one.
std::string first_step(const Incident& incident) {
  if (incident.org != kDefaultOrg) return {};
  const auto about = incident.name.substr(std::min(incident.kind.size() + 1, incident.name.size()));
  const auto last = incident.name.substr(incident.name.rfind(':') + 1);
  constexpr std::string_view kDigest = "digest-";  // before its number (store/operations/failure_check_store.cpp)
  if (incident.kind == "failed_messages" && last.starts_with(kDigest))
    return command("failures list --digest", last.substr(kDigest.size()));
  if (incident.kind == "dead_letter") return command("dead list --reason", last);
  if (incident.kind == "plugin_crash") return command("dead list --reason", "worker_lost");
  if (incident.kind == "plugin_switched_off") return command("plugin switch-on", about);
  if (incident.kind == "pipeline_stuck") return command("pipeline show", about.substr(0, about.find('/')));
  if (incident.kind == "secret_locked") return "\nwaybill keys give-up";  // without --master it only lists
  return {};
}

std::string times(std::uint64_t count) { return count == 1 ? "once" : std::to_string(count) + " times"; }

std::string place_of(const Incident& incident) {
  return incident.name + (incident.org == kDefaultOrg ? "" : " of organisation " + std::to_string(incident.org.value));
}

std::string text_of_one(const Incident& incident) {
  std::string text = incident.kind + ": " + clipped(incident.words, kMaxWordsLength) + "\n";
  if (incident.count > 1)
    text += times(incident.count) + " since " + minute(incident.first) + ", the latest at " + minute(incident.last) + "\n";
  return text + "What to do: " + kRunbook + "#" + incident.kind + " (incident " + place_of(incident) + ")" + first_step(incident);
}

// One of each organisation in turn, the operator's first: none fills the list alone.
std::vector<Incident> by_turns(const std::vector<Incident>& incidents) {
  std::map<OrgId, std::vector<Incident>> by_org;
  for (const auto& one : incidents) by_org[one.org].push_back(one);
  std::vector<Incident> all;
  for (std::size_t turn = 0; all.size() < incidents.size(); ++turn)
    for (const auto& [org, theirs] : by_org)
      if (turn < theirs.size()) all.push_back(theirs[turn]);
  return all;
}

std::string text_of_many(const std::vector<Incident>& in_any_order) {
  const auto incidents = by_turns(in_any_order);
  std::string text = std::to_string(incidents.size()) + " incidents at once. What to do: " + kRunbook;
  for (std::size_t i = 0; i < std::min(incidents.size(), kMaxListed); ++i) {
    const Incident& one = incidents[i];
    text += "\n- " + place_of(one) + ", " + times(one.count) + " since " + minute(one.first) + ": " + first_line(one.words);
  }
  if (incidents.size() > kMaxListed) text += "\n... and " + std::to_string(incidents.size() - kMaxListed) + " more";
  return text;
}

std::string row(const std::string& count, const std::string& action_type, const std::string& target, const std::string& reason) {
  const auto padded = [](std::string text, std::size_t width) {
    text.resize(std::max(text.size(), width), ' ');
    return text;
  };
  return "\n" + clipped(padded(count, 8) + padded(action_type, 16) + padded(target, 24) + reason, kMaxLineLength);
}

// Whether "@" before this would call everybody who reads along, in Slack, Discord, Mattermost or Matrix.
bool calls_many(std::string_view after) {
  static constexpr std::array<std::string_view, 3> kAnywhere{"everyone", "here", "channel"};
  static constexpr std::array<std::string_view, 2> kWords{"all", "room"};
  const auto begins = [&](std::string_view word) { return is_ascii_word(after.substr(0, word.size()), word); };
  const auto is_word = [&](std::string_view word) {
    return begins(word) && (after.size() == word.size() || !is_id(after.substr(word.size(), 1)));
  };
  return std::any_of(kAnywhere.begin(), kAnywhere.end(), begins) || std::any_of(kWords.begin(), kWords.end(), is_word);
}

}  // namespace

std::string command(const std::string& words, const std::string& argument) {
  const bool plain =
      !argument.empty() &&
      argument.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:@%+=-") == std::string::npos;
  std::string quoted;
  for (const char c : argument) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  const bool is_option = words.find("--") != std::string::npos;  // its value
  return "\nwaybill " + words +
         (is_option                   ? "="
          : argument.starts_with('-') ? " -- "
                                      : " ") +
         (plain ? argument : "'" + quoted + "'");
}

std::string text_of(const Notification& notification) {
  return notification.incidents.size() == 1 ? text_of_one(notification.incidents.front()) : text_of_many(notification.incidents);
}

std::string payload_of(const std::string& text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '&')
      plain += "&amp;";
    else if (c == '<')
      plain += "&lt;";
    else if (c == '>')
      plain += "&gt;";
    else
      plain += c;
    if (c == '@' && calls_many(std::string_view(text).substr(i + 1))) plain += "''";  // to a shell, it is nothing
  }
  return "{\"text\":" + json_string(plain) + "}";
}

std::string words_of(const StuckWork& stuck, const std::string& blocked_reason) {
  const std::string count =
      stuck.count > kMaxStuckCounted ? "more than " + std::to_string(kMaxStuckCounted) : std::to_string(stuck.count);
  const std::string oldest = "the oldest is \"" + stuck.reference + "\", for " + length(stuck.now - stuck.since) + " now";
  const std::string step = stuck.org == kDefaultOrg ? command("explain", stuck.reference) : "";
  if (stuck.what == StuckWork::What::form)
    return "submissions of form " + stuck.about + " are processing without coming to an end: " + count + "; " + oldest + step;
  if (stuck.what == StuckWork::What::scan)
    return "submissions of form " + stuck.about + " wait for the scan of an attachment: " + count + "; " + oldest +
           "; nothing of them is sent before, and they fail when their retention ends" + step;
  std::string words = "deliveries to " + stuck.about + " are due and not taken: " + count + "; " + oldest + "; ";
  if (!blocked_reason.empty()) return words + blocked_reason + step;
  if (stuck.in_flight > 0)
    return words + std::to_string(stuck.in_flight) + " are in flight: its destination is slow, or limits.per_target is low" +
           step;
  return words + "nothing that this host knows of is in their way" + step;
}

std::string words_of(std::span<const ProviderFailure> failures) {
  std::uint64_t all = 0;
  std::vector<const ProviderFailure*> by_count;
  for (const auto& one : failures) {
    all += one.count;
    by_count.push_back(&one);
  }
  std::stable_sort(by_count.begin(), by_count.end(), [](const auto* a, const auto* b) { return a->count > b->count; });
  std::string words = (all == 1 ? "one attempt" : std::to_string(all) + " attempts") + " failed between " +
                      minute(failures.front().since) + " and " + minute(failures.front().until);
  words += row("count", "action type", "target", "reason");
  for (std::size_t i = 0; i < std::min(by_count.size(), kMaxListed); ++i)
    words += row(std::to_string(by_count[i]->count), by_count[i]->action_type, by_count[i]->target, by_count[i]->reason);
  if (by_count.size() > kMaxListed) words += "\n... and " + std::to_string(by_count.size() - kMaxListed) + " further kinds";
  std::set<std::string> steps;
  for (const auto* one : by_count) {
    if (steps.size() == kMaxSteps || one->org != kDefaultOrg || one->target.starts_with("channel:")) continue;
    const bool is_form = one->target.starts_with(kForm);
    const auto step =
        is_form ? command("dead list --form", one->target.substr(kForm.size())) : command("provider probe", one->target);
    if (steps.insert(step).second) words += step;
  }
  return words;
}

std::string words_of(const DigestLine& found, std::span<const DigestFailure> first, std::span<const std::string> problems) {
  std::string words = found.failures == 1 ? "one message was accepted and then not delivered"
                                          : std::to_string(found.failures) + " messages were accepted and then not delivered";
  for (const auto& [status, count] : found.by_status)
    words += "\n" + clipped(status, kMaxLineLength) + ": " + std::to_string(count);
  for (const auto& one : first) {
    const auto& failure = one.failure;
    std::string line =
        failure.status + ", " + one.target + ", reference " + (failure.reference.empty() ? "-" : failure.reference);
    if (!one.submission.empty()) line += ", submission " + one.submission;
    if (one.submission.empty()) line += ", of no submission that is known here";
    words += "\n" + clipped(line, kMaxLineLength);
  }
  if (found.failures > first.size()) words += "\n... and " + std::to_string(found.failures - first.size()) + " more";
  for (const auto& problem : problems) words += "\nnot checked: " + clipped(problem, kMaxLineLength);
  for (std::size_t i = 0; i < std::min(problems.size(), kMaxSteps); ++i)  // "TARGET: why"
    if (const auto colon = problems[i].find(": "); colon != std::string::npos)
      words += command("failures check", problems[i].substr(0, colon));
  return words;
}

}  // namespace waybill
