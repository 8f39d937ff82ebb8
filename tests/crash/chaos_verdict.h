// What must hold when a round of the chaos campaign is over, as a pure function of what was seen: it can be tested by records
// that are false.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace waybill::testing::chaos {

// All times are seconds from the beginning of the round, by the test's monotonic clock.

enum class Kind {
  kill,               // kill -9 of a host, and a new start
  stop,               // SIGSTOP of a host, then SIGCONT
  cut,                // its connections to the database are reset
  half_open,          // they stay open and nothing passes
  lock,               // another session holds a lock
  lock_timeout,       // the database has a tiny lock_timeout, beside a lock
  statement_timeout,  // the same with statement_timeout
  cancel,             // statements are cancelled by an administrator
  terminate,          // sessions are ended by an administrator
  restart,            // the server is restarted
  poison,             // a delivery is handed in that takes its host down
  loop,               // a delivery is handed in from which its plugin does not come back
  outage,             // the gateway is a proxy that answers 502
  clock_forward,      // the database's wall clock is stepped
  clock_back,
  sick,              // a host has no route to any destination
  hang,              // SIGSTOP of a host until another one has taken its channels over
  disabled_channel,  // a channel is disabled, and enabled again
  silent_scanner,    // a form is handed in whose attachment nobody scans
  // Not planned: they are seen.
  crash,         // a host ended by itself
  failed_start,  // a host gave up before it was up, and is started again
  pause,         // the machine did not let the test run
  displaced      // a host that lives was taken for dead, and has another id since
};
inline constexpr int kPlannedKinds = static_cast<int>(Kind::silent_scanner) + 1;
std::string_view to_string(Kind kind);

struct Fault {
  Kind kind{};
  double begin = 0, end = 0;
  std::string detail;
  std::string complaint = {};  // what it found wrong by itself
};

// What an intent does to whoever delivers it.
enum class Harm { none, crash, loop };

enum class Promise { one_shot, max_attempts, deadline };

struct Attempt {
  int number = 0;
  std::string outcome;  // unknown: nobody saw its end
  bool counts = true;
  std::string why;
};

struct AuditLine {
  std::string action, from, to;
};

struct End {
  std::string state, reason;
  double at = 0;
};

// All that is known of one intent.
struct Record {
  std::string id, target;
  Promise promise = Promise::max_attempts;
  int max_attempts = 0;  // of that promise
  double deadline = 0;   // of that promise, seconds
  Harm harm = Harm::none;
  std::optional<double> handed_in;     // the first request began; none: nobody handed it in
  std::optional<double> acknowledged;  // a host answered that it has it
  std::vector<double> sends;           // requests that reached the gateway
  int refusals = 0;                    // of these the gateway answered with a failure that may be tried again
  int outages = 0;                     // of these it answered with a failure that is not the delivery's
  bool known = false;                  // it is in the database
  std::optional<End> end;
  std::string waits_for;      // the stated reason why it has no end yet; "" if there is none
  bool held_by_dead = false;  // it is claimed by a host that does not live
  int attempt_count = 0;
  std::vector<Attempt> attempts;  // by number
  std::vector<AuditLine> audit;
};

struct Terms {
  double attempt = 0;  // how long an attempt may take
  double lease = 0;
  bool apart = false;  // plugins have processes of their own: what one does costs no host, and no delivery beside it
};

// How many more sends than one the faults between two moments explain. A host that dies, or cannot report for as long as its
// lease lasts, or whose sessions were ended and which cannot open another, leaves attempts whose end nobody saw; nothing else
// does.
int resends_explained(const std::vector<Fault>& faults, double from, double to, const Terms& terms);

struct Complaint {
  std::string id;    // "" of the whole
  std::string rule;  // one word
  std::string what;
};
std::vector<Complaint> verdict(const std::vector<Record>& records, const std::vector<Fault>& faults, const Terms& terms);

// A form that waits for a scan which never comes.
struct FormRecord {
  std::string id;
  std::string state, reason;
  int failures = 0;     // lines of its audit that say that it failed
  int attempts = 0;     // of its actions
  bool alerts = false;  // an alert counts it
};
std::vector<Complaint> verdict(const FormRecord& form);

std::string describe(const Record& record);  // its history, over several lines
std::string describe(const Fault& fault);

}  // namespace waybill::testing::chaos
