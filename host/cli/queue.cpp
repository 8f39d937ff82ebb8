// The command that tells how the queue is.
#include "cli/queue.h"

#include <nlohmann/json.hpp>

#include "api/queue_json.h"
#include "base/printing.h"
#include "cli/columns.h"
#include "cli/database_command.h"
#include "cli/finding.h"
#include "cli/json_output.h"

namespace waybill {
namespace {

constexpr std::size_t kTargetsPrinted = 20;

std::string in_words(double number) {
  char text[32];
  std::snprintf(text, sizeof text, number < 10 ? "%.1f" : "%.0f", number);
  return text;
}

std::string words_of(const EmptyQueue& empty, Timestamp now) {
  if (!empty.at) return "no estimate: " + empty.why_not;
  if (*empty.at <= now) return "it is empty";
  return "empty at about " + format_rfc3339(*empty.at) + ", in " + age_text(*empty.at - now);
}

std::string counted(std::int64_t number, const QueueStanding& standing) {
  return standing.is_counted ? std::to_string(number) : "more than " + std::to_string(number);
}

void print_targets(const QueueStanding& standing) {
  std::vector<Line> lines{{"TARGET", "ORG", "DUE", "LATER", "CLAIMED", "OLDEST", "IN/MIN", "ENDED/MIN", ""}};
  for (const auto& [name, type, one, reason, until] : standing.targets) {
    if (lines.size() > kTargetsPrinted) break;
    auto state = words_of(empty_queue(one, standing.is_counted, standing.now), standing.now);
    if (!one.stopped.empty()) state = one.stopped + ": " + reason + (until ? "; cools down until " + format_rfc3339(*until) : "");
    if (one.rate) state += "; rate " + rate_text(*one.rate);
    lines.push_back({name.target, name.org, std::to_string(one.due), std::to_string(one.scheduled + one.collecting),
                     std::to_string(one.claimed), one.oldest_due ? age_text(standing.now - *one.oldest_due) : "",
                     in_words(one.arrivals), in_words(one.ends), state});
  }
  print_columns(lines);
  if (standing.targets.size() > kTargetsPrinted)
    print_line("there are " + std::to_string(standing.targets.size() - kTargetsPrinted) + " more targets: see --json");
}

void print_standing(const QueueStanding& standing) {
  const auto whole = whole_of(standing);
  print_text(Ink::bold, "%s wait", counted(whole.waiting(), standing).c_str());
  print_line(": " + std::to_string(whole.due) + " due" +
             (whole.oldest_due ? ", the oldest for " + age_text(standing.now - *whole.oldest_due) : "") + "; " +
             std::to_string(whole.scheduled) + " scheduled for later" +
             (whole.next_scheduled ? ", the next at " + format_rfc3339(*whole.next_scheduled) : "") + "; " +
             std::to_string(whole.collecting) + " collect events");
  print_line(std::to_string(whole.claimed) + " are claimed by hosts; " + std::to_string(standing.quarantined) +
             " are in quarantine");
  print_line("in the last minutes " + in_words(whole.arrivals) + " arrived and " + in_words(whole.ends) + " ended a minute");
  print_line(words_of(empty_queue(standing), standing.now));
  std::string reasons;
  for (const auto& [reason, count] : standing.reasons)
    reasons += (reasons.empty() ? "" : ", ") + reason + " (" + std::to_string(count) + ")";
  if (!reasons.empty())
    print_line("scheduled for later, by the last attempts of " + std::to_string(standing.retries_looked_at) + ": " + reasons);
  if (!standing.targets.empty()) print_targets(standing);
}

}  // namespace

int tell_queue(const GlobalOptions& options, const QueueOptions& wanted) {
  BacklogFilter filter{.org = {}, .target = wanted.target, .action_type = wanted.action_type};
  const auto tell = [&](const DatabaseAddress& address, int shards) {
    const auto standing = make_backlog_store(address, shards)->read(filter);
    if (!standing) return failed(standing.error().what);
    if (options.json)
      print_json(queue_json(*standing));
    else
      print_standing(*standing);
    return 0;
  };
  if (!wanted.org.empty())
    return on_organisation(options, wanted.org, [&](const Config&, const Reading& reading) {
      filter.org = reading.org;
      return tell(reading.database.address, reading.shards);
    });
  return on_database(options, [&](const Config&, const DatabaseAddress& address) {
    const auto shards = read_shards(address);
    return shards ? tell(address, *shards) : failed(shards.error().what);
  });
}

}  // namespace waybill
