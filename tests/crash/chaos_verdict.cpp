// The rules, each a function that says nothing when it holds.
#include "crash/chaos_verdict.h"

#include <algorithm>
#include <cstdio>

namespace waybill::testing::chaos {
namespace {

constexpr double kEdge = 0.25;          // clocks and queues between an event and when it is seen
constexpr double kJoins = 0.5;          // two faults with less than this between them are one spell without a report
constexpr double kStart = 5;            // that a start may take
constexpr double kTakenForDead = 0.5;   // a host that is without a session for so long
constexpr double kClockRounding = 0.3;  // of an end's time as the database has it

bool overlaps(const Fault& fault, double from, double to) { return fault.begin <= to + kEdge && fault.end >= from - kEdge; }

bool ends_host(Kind kind) { return kind == Kind::kill || kind == Kind::crash; }

// While these last, a host cannot say what it has done.
bool keeps_silent(Kind kind) {
  switch (kind) {
    case Kind::stop:
    case Kind::hang:
    case Kind::half_open:
    case Kind::lock:
    case Kind::lock_timeout:
    case Kind::statement_timeout:
    case Kind::restart:
    case Kind::pause:
      return true;
    default:
      return false;
  }
}

// An attempt may have begun before the fault: its lease, or its own time, is partly over then.
bool is_long(const Fault& fault, const Terms& terms) {
  const double length = fault.end - fault.begin;
  const bool stands_still = fault.kind == Kind::stop || fault.kind == Kind::hang || fault.kind == Kind::pause;
  return length >=
         (stands_still ? std::min(terms.attempt, terms.lease - terms.attempt) - kEdge : terms.lease - terms.attempt - kEdge);
}

// While another host is away, one without a route is alone, and goes by its own finding.
bool is_alone_and_sick(const std::vector<Fault>& faults, double from, double to) {
  const auto is_away = [](Kind kind) {
    return ends_host(kind) || kind == Kind::stop || kind == Kind::hang || kind == Kind::half_open || kind == Kind::cut ||
           kind == Kind::failed_start || kind == Kind::pause;
  };
  return std::any_of(faults.begin(), faults.end(), [&](const Fault& sick) {
    return sick.kind == Kind::sick && overlaps(sick, from, to) &&
           std::any_of(faults.begin(), faults.end(), [&](const Fault& other) {
             return is_away(other.kind) && other.begin <= sick.end && other.end + kStart >= sick.begin;
           });
  });
}

// Its sessions were ended, and it could open no other: to the database it is as one that died.
bool is_shut_out(const Fault& fault, const std::vector<Fault>& faults) {
  if (fault.kind != Kind::half_open || fault.end - fault.begin < kTakenForDead - kEdge) return false;
  return std::any_of(faults.begin(), faults.end(), [&](const Fault& other) {
    const bool ends_sessions = other.kind == Kind::terminate || other.kind == Kind::cut || other.kind == Kind::restart;
    return ends_sessions && other.end >= fault.begin - kJoins && other.begin <= fault.end;
  });
}

// Its sessions were ended, and on a slow machine it was not back in time: nothing else explains that it was taken for dead.
bool is_displaced(const Fault& fault, const std::vector<Fault>& faults) {
  return fault.kind == Kind::displaced && std::none_of(faults.begin(), faults.end(), [&](const Fault& other) {
           return (keeps_silent(other.kind) || ends_host(other.kind)) && overlaps(other, fault.begin - kStart, fault.begin);
         });
}

// Each rule appends what it finds.
class Judge {
 public:
  Judge(const std::vector<Fault>& faults, const Terms& terms, const std::map<std::string, int>& loops,
        std::vector<Complaint>& found)
      : faults_(faults), terms_(terms), loops_by_target_(loops), found_(found) {}

  void look_at(const Record& record) {
    record_ = &record;
    const auto loops = loops_by_target_.find(record.target);
    loops_ = loops == loops_by_target_.end() ? 0 : loops->second;
    if (!record.handed_in) {
      if (!record.sends.empty() || record.known) complain("unexpected", "nobody handed it in");
      return;
    }
    if (record.acknowledged && !record.known) complain("lost", "acknowledged, and the database does not know it");
    if (!record.known && !record.sends.empty()) complain("unexpected", "sent, and the database does not know it");
    if (!record.known) return;
    check_waiting();
    check_sends();
    check_attempts();
    if (record.end) check_end();
  }

 private:
  void complain(std::string rule, std::string what) { found_.push_back({record_->id, std::move(rule), std::move(what)}); }

  double from() const { return *record_->handed_in; }
  double to() const {
    double last = record_->end ? record_->end->at : from() + 1e9;
    for (const double send : record_->sends) last = std::max(last, send);
    return last;
  }
  // What else was open in a plugin that did not come back goes again.
  int explained() const { return resends_explained(faults_, from(), to(), terms_) + loops_; }
  bool any(Kind kind) const {
    return std::any_of(faults_.begin(), faults_.end(),
                       [&](const Fault& f) { return f.kind == kind && overlaps(f, from(), to()); });
  }

  void check_waiting() {
    if (record_->held_by_dead) complain("held_by_dead", "it is claimed by a host that does not live");
    if (record_->acknowledged && !record_->end && record_->waits_for.empty())
      complain("unended", "acknowledged, without an end, and nothing says what it waits for");
  }

  void check_sends() {
    const auto sends = static_cast<int>(record_->sends.size());
    if (record_->promise == Promise::one_shot) {
      if (sends > 1) complain("one_shot_twice", std::to_string(sends) + " sends");
      return;
    }
    const int most = 1 + record_->refusals + record_->outages + explained();
    if (sends > most)
      complain("resent", std::to_string(sends) + " sends, and the faults of its time explain " + std::to_string(most));
  }

  void check_attempts() {
    for (std::size_t i = 0; i < record_->attempts.size(); ++i)
      if (record_->attempts[i].number != static_cast<int>(i) + 1) {
        complain("numbers",
                 "attempt " + std::to_string(record_->attempts[i].number) + " stands in place " + std::to_string(i + 1));
        break;
      }
    if (record_->end && record_->attempt_count != static_cast<int>(record_->attempts.size()))
      complain("numbers", std::to_string(record_->attempt_count) + " attempts by its row, " +
                              std::to_string(record_->attempts.size()) + " on record");
    if (record_->end && record_->sends.size() > record_->attempts.size())
      complain("unrecorded", std::to_string(record_->sends.size()) + " sends, " + std::to_string(record_->attempts.size()) +
                                 " attempts on record");
  }

  void check_end() {
    const End& end = *record_->end;
    const auto lines =
        std::count_if(record_->audit.begin(), record_->audit.end(), [&](const auto& a) { return a.to == end.state; });
    if (lines != 1) complain("audit", std::to_string(lines) + " lines of the audit say that it is " + end.state);
    if (record_->harm != Harm::none) {
      if (end.state != "exhausted" || end.reason != "worker_lost")
        complain("poison", std::string(record_->harm == Harm::crash ? "it kills its host" : "its plugin loops") + " and ended " +
                               end.state + " " + end.reason);
    } else if (end.state == "accepted") {
      const auto accepted = static_cast<int>(record_->sends.size()) - record_->refusals - record_->outages;
      if (accepted < 1) complain("accepted_by_nobody", "the gateway never accepted it");
    } else if (end.state == "exhausted") {
      check_exhausted();
    } else {
      complain("ended", "nothing explains " + end.state + " " + end.reason);
    }
  }

  void check_exhausted() {
    const std::string& reason = record_->end->reason;
    if (reason == "worker_lost") return complain("worker_lost", "it is healthy");
    if (reason == "one_shot" && record_->promise == Promise::one_shot) {
      if (record_->refusals > 0 || record_->outages > 0 || explained() > 0) return;
      if (record_->sends.empty() && is_alone_and_sick(faults_, from(), to())) return;
      return complain(record_->sends.empty() ? "exhausted_unsent" : "exhausted_sent",
                      "one_shot, " + std::to_string(record_->sends.size()) + " sends, and no fault of its time explains it");
    }
    if (reason == "max_attempts" && record_->promise == Promise::max_attempts) {
      if (record_->refusals + explained() < record_->max_attempts)
        complain("used_up", "the gateway refused it " + std::to_string(record_->refusals) + " times");
      return;
    }
    if (reason == "deadline_exceeded" && record_->promise == Promise::deadline) {
      if (any(Kind::clock_forward)) return;
      const double lasted = record_->end->at - from();
      if (lasted < record_->deadline - kClockRounding)
        complain("expired_early", "after " + std::to_string(lasted) + " s of " + std::to_string(record_->deadline));
      return;
    }
    complain("ended", "nothing explains exhausted " + reason);
  }

  const std::vector<Fault>& faults_;
  const Terms& terms_;
  const std::map<std::string, int>& loops_by_target_;  // how many deliveries of a target made its plugin loop
  std::vector<Complaint>& found_;
  const Record* record_ = nullptr;
  int loops_ = 0;  // of its target
};

std::string seconds(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3f", value);
  return text;
}

}  // namespace

std::string_view to_string(Kind kind) {
  constexpr std::string_view kNames[] = {
      "kill",       "stop",      "cut",     "half_open",        "lock",           "lock_timeout", "statement_timeout",
      "cancel",     "terminate", "restart", "poison",           "loop",           "outage",       "clock_forward",
      "clock_back", "sick",      "hang",    "disabled_channel", "silent_scanner", "crash",        "failed_start",
      "pause",      "displaced"};
  return kNames[static_cast<std::size_t>(kind)];
}

int resends_explained(const std::vector<Fault>& faults, double from, double to, const Terms& terms) {
  int explained = 0;
  std::vector<Fault> silent;
  for (const auto& fault : faults) {
    if ((ends_host(fault.kind) || is_shut_out(fault, faults) || is_displaced(fault, faults)) && overlaps(fault, from, to))
      ++explained;
    if (keeps_silent(fault.kind) && !is_shut_out(fault, faults)) silent.push_back(fault);
  }
  std::sort(silent.begin(), silent.end(), [](const Fault& a, const Fault& b) { return a.begin < b.begin; });
  for (std::size_t at = 0; at < silent.size();) {
    Fault spell = silent[at];  // short ones in a row are as good as a long one
    int long_ones = 0;
    for (; at < silent.size() && silent[at].begin <= spell.end + kJoins; ++at) {
      spell.end = std::max(spell.end, silent[at].end);
      long_ones += is_long(silent[at], terms) && overlaps(silent[at], from, to);
    }
    spell.kind = Kind::lock;
    if (overlaps(spell, from, to)) explained += std::max<int>(long_ones, is_long(spell, terms));
  }
  return explained;
}

std::vector<Complaint> verdict(const std::vector<Record>& records, const std::vector<Fault>& faults, const Terms& terms) {
  std::vector<Complaint> found;
  const bool has_poison =
      std::any_of(records.begin(), records.end(), [](const Record& r) { return r.harm == Harm::crash && r.known; });
  for (const auto& fault : faults)
    if (!fault.complaint.empty()) found.push_back({"", std::string(to_string(fault.kind)), fault.complaint});
  for (const auto& fault : faults)
    if (fault.kind == Kind::crash && (!has_poison || terms.apart))
      found.push_back({"", "crash", "a host ended by itself: " + fault.detail});
  for (const auto& fault : faults) {
    const bool in_trouble = std::any_of(faults.begin(), faults.end(), [&](const Fault& other) {
      return (other.kind < Kind::crash || other.kind == Kind::pause) && overlaps(other, fault.begin - kStart, fault.end);
    });
    if ((fault.kind == Kind::failed_start || fault.kind == Kind::displaced) && !in_trouble)
      found.push_back({"", std::string(to_string(fault.kind)), fault.detail});
  }
  std::map<std::string, int> loops;
  for (const auto& record : records)
    if (record.harm == Harm::loop && !terms.apart) ++loops[record.target];
  Judge judge(faults, terms, loops, found);
  for (const auto& record : records) judge.look_at(record);
  return found;
}

std::vector<Complaint> verdict(const FormRecord& form) {
  std::vector<Complaint> found;
  const auto complain = [&](std::string rule, std::string what) { found.push_back({form.id, std::move(rule), std::move(what)}); };
  if (form.state != "failed" && form.state != "purged")
    complain("form_waits", "its retention has ended, and it is " + form.state);
  else if (form.reason != "retention_expired" || form.failures != 1)
    complain("form_silent", "it ended " + form.state + " with the reason \"" + form.reason + "\", and its audit says " +
                                std::to_string(form.failures) + " times that it failed");
  if (!form.alerts) complain("form_silent", "no alert says that nothing of it was sent");
  if (form.attempts > 0) complain("form_sent", "its attachment was never scanned, and something of it was sent");
  return found;
}

std::string describe(const Fault& fault) {
  return seconds(fault.begin) + " to " + seconds(fault.end) + " s: " + std::string(to_string(fault.kind)) +
         (fault.detail.empty() ? "" : " (" + fault.detail + ")");
}

std::string describe(const Record& record) {
  std::string text = record.id + " for " + record.target +
                     (record.harm == Harm::crash  ? ", poison"
                      : record.harm == Harm::loop ? ", loops"
                                                  : "");
  text += record.handed_in ? "\n    handed in at " + seconds(*record.handed_in) : "\n    never handed in";
  text += record.acknowledged ? ", acknowledged at " + seconds(*record.acknowledged) : ", never acknowledged";
  for (const double send : record.sends) text += "\n    at the gateway at " + seconds(send);
  if (record.refusals > 0) text += "\n    of these refused: " + std::to_string(record.refusals);
  if (record.outages > 0) text += "\n    of these during an outage: " + std::to_string(record.outages);
  for (const auto& one : record.attempts)
    text += "\n    attempt " + std::to_string(one.number) + ": " + one.outcome + (one.counts ? "" : ", does not count") +
            (one.why.empty() ? "" : ", " + one.why);
  for (const auto& line : record.audit) text += "\n    audit: " + line.action + " " + line.from + " -> " + line.to;
  if (record.end) return text + "\n    ended at " + seconds(record.end->at) + ": " + record.end->state + " " + record.end->reason;
  return text + (record.known ? "\n    no end; waits for: " + record.waits_for : "\n    not in the database");
}

}  // namespace waybill::testing::chaos
