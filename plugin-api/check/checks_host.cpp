// Checks of the boundary itself: lent memory, younger and older hosts, the host's clock and its strand.
#include <time.h>

#include <array>
#include <chrono>
#include <cstdlib>

#include "check.h"
#include "hostile_texts.h"
#include "library.h"
#include "local_receiver.h"
#include "rehearsal.h"

namespace waybill::conformance {
namespace {

constexpr std::size_t kMoreBytes = 64;
constexpr std::int64_t kFarFuture = 4'000'000'000;  // 2096
constexpr int kTries = 3;
constexpr std::chrono::milliseconds kDeadlineGrace{1'500};  // a busy machine is not the plugin's fault
constexpr std::int64_t kNear = 3600;                        // seconds

// Nothing is compared here: a breach ends the process.
void arguments(Subject& subject) {
  const auto guarded = Shape{.job = Memory::guarded, .text = Memory::guarded};
  const auto ignore = [](void*, wb_str, wb_str) {};
  for (const auto& [validate, sample] : {std::pair(subject.action->validate_settings, subject.sample.settings),
                                         std::pair(subject.action->validate_destination, subject.sample.destination)}) {
    if (!validate) continue;
    for (const auto& [what, text] : wrong_objects(sample)) {
      subject.findings.doing("a validator was given " + what);
      const Block lent(Memory::guarded, text);
      try {
        validate(lent.str(), ignore, nullptr);
      } catch (...) {  // the business of validators_survive
      }
    }
  }
  const auto first = rehearse(subject, guarded);
  if (!first) return;
  std::vector<NamedAnswer> scripts = echoing_answers();
  scripts.push_back({"no answer", silence()});
  for (const auto& [name, answer] : scripts) {
    const auto host = host_for(subject, guarded);
    const auto job = sample_job(subject, *host);
    if (!job) return;
    host->script(happy_until(subject, 0, answer));
    host->begin(CallKind::send, *job);
    host->run();
  }
}

void compare(Subject& subject, const Rehearsal& here, const Shape& shape, const std::string& where) {
  CheckHost host(*subject.action, subject.findings, shape);
  if (!host.create(subject.sample.settings)) {
    if (!host.create_threw())
      subject.findings.found("create makes no sender" + (host.refusal().empty() ? "" : ": " + host.refusal().front()), where);
    return;
  }
  const auto there = rehearse(subject, shape);
  if (there && end_of(there->call) != end_of(here.call))
    subject.findings.found("the call ends as \"" + end_of(there->call) + "\", and as \"" + end_of(here.call) + "\" on this host",
                           where);
  for (const auto status : {400, 503}) {
    const auto other = host_for(subject, shape);
    if (!other) return;
    const auto job = sample_job(subject, *other);
    if (!job) return;
    other->script(happy_until(subject, 0, http_answer(status)));
    other->begin(CallKind::send, *job);
    other->run();
  }
}

void newer_host(Subject& subject) {
  if (const auto here = rehearse(subject))
    compare(subject, *here, {.minor = WB_ABI_MINOR + 1, .unknown_bytes = kMoreBytes},
            "a host of the next minor version, whose structs are longer");
}

void older_host(Subject& subject) {
  const auto least = subject.plugin->needs_minor;
  if (least >= WB_ABI_MINOR) return subject.findings.skipped("it needs minor " + std::to_string(least) + ", this host's own");
  if (const auto here = rehearse(subject))
    compare(subject, *here, {.minor = least, .job = Memory::guarded},
            "a host of minor " + std::to_string(least) + ", whose structs are shorter");
}

// Numbers in `text` that are the machine's time, in seconds or milliseconds, and dates that are today's.
bool tells_machine_time(const std::string& text) {
  const std::int64_t now = time(nullptr);
  for (std::size_t i = 0; i < text.size();) {
    if (text[i] < '0' || text[i] > '9') {
      ++i;
      continue;
    }
    const auto end = std::min(text.find_first_not_of("0123456789", i), text.size());
    auto value = end - i > 18 ? 0 : std::strtoll(text.c_str() + i, nullptr, 10);
    if (end - i == 13) value /= 1000;
    if ((end - i == 13 || end - i == 10) && value > now - kNear && value < now + kNear) return true;
    i = end;
  }
  std::array<char, 16> date{};
  tm today{};
  gmtime_r(&now, &today);
  strftime(date.data(), date.size(), "%Y-%m-%d", &today);
  return text.find(date.data()) != std::string::npos;
}

void clock_check(Subject& subject) {
  const auto given = subject.sample.payload + subject.sample.destination + subject.sample.settings;
  if (tells_machine_time(given)) return subject.findings.skipped("the sample itself holds the time of today");
  const auto run = rehearse(subject, {.unix_seconds = kFarFuture});
  if (!run) return;
  for (const auto& sent : run->host->sent()) {
    for (const auto& [name, value] : sent.headers)
      if (tells_machine_time(value)) subject.findings.found("the header " + name + " tells the machine's time, not the host's");
    if (tells_machine_time(sent.body) || tells_machine_time(sent.url))
      subject.findings.found("a request tells the machine's time, not the host's");
  }
}

// What kept the strand in one delivery that is accepted and one that is cancelled; none if skipped.
std::optional<std::vector<std::string>> slow_functions(Subject& subject) {
  std::vector<std::string> slow;
  const auto take = [&](const CheckHost& host) {
    for (const auto& [kind, words] : host.breaches())
      if (kind == Violation::slow) slow.push_back(words);
  };
  const auto run = rehearse(subject, {.timed = true});
  if (!run) return std::nullopt;
  take(*run->host);
  const auto host = host_for(subject, {.timed = true});
  if (!host) return std::nullopt;
  const auto job = sample_job(subject, *host);
  if (!job) return std::nullopt;
  host->script([](std::uint64_t, std::size_t) { return silence(); });
  host->cancel(host->begin(CallKind::send, *job));
  host->run();
  host->destroy();
  take(*host);
  return slow;
}

// A machine may be busy with something else for a while: what is slow every time is slow.
void prompt(Subject& subject) {
  if (subject.blocking()) return subject.findings.skipped("a blocking sender may take its time, until the deadline");
  std::vector<std::string> last;
  for (int i = 0; i < kTries; ++i) {
    const auto slow = slow_functions(subject);
    if (!slow || slow->empty()) return;
    last = *slow;
  }
  for (const auto& words : last) subject.findings.found(words);
}

// A client of its own that waits for a receiver: the host's worker is gone until it comes back.
void deadline(Subject& subject) {
  if (!subject.blocking()) return subject.findings.skipped("only blocking senders may wait, the host ends the others' requests");
  const LocalReceiver receiver({"", Manner::Kind::silent});
  auto there = at_receiver(subject, receiver.port());
  if (!there) return subject.findings.skipped("the sample names no URL that a receiver of the check's own could stand for");
  const auto host = host_for(*there);
  if (!host) return;
  const auto job = sample_job(*there, *host);
  if (!job) return;
  subject.findings.doing("send to a receiver that never answers");
  const auto began = std::chrono::steady_clock::now();
  const auto call = host->begin(CallKind::send, *job);
  const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - began);
  if (took.count() > job->deadline_ms + kDeadlineGrace.count())
    subject.findings.found("send came back after " + std::to_string(took.count()) + " ms; its deadline was " +
                           std::to_string(job->deadline_ms) + " ms, and the receiver never answered");
  host->run();
  if (const auto how = symptom(host->call(call)); !how.empty()) subject.findings.found("the call " + how);
}

void strand(Subject& subject) {
  rehearse_all(subject, [](Subject& one, const Rehearsal& run) {
    for (const auto& [kind, words] : run.host->breaches())
      if (kind == Violation::off_strand) one.findings.found(words, run.during);
  });
}

constexpr Check kChecks[] = {
    {"arguments", "what is lent is neither written to nor read past its end, nor after its time",
     "strings end at their length, not at a zero; copy what you keep", Needs::sender, &arguments},
    {"newer_host", "a host of a later minor version, with longer structs, makes no difference",
     "never compare or copy by `size`; only ask WB_HAS", Needs::sender, &newer_host},
    {"older_host", "a host of the minor version that it needs is enough",
     "ask WB_HAS before you read a field, and whether a service is null; or raise needs_minor", Needs::sender, &older_host},
    {"clock", "the time that it sends is the host's", "ask waybill.timer/1 for unix_seconds", Needs::sender, &clock_check},
    {"prompt", "no function keeps the strand for more than 100 ms", "use the host's services, or flag the action WB_BLOCKING",
     Needs::sender, &prompt},
    {"deadline", "a blocking sender comes back by its deadline, whatever the receiver does",
     "give the client library the time that is left, for connecting, writing and reading", Needs::sender, &deadline},
    {"strand", "services are asked on the strand only",
     "complete may be called from any thread; fetch, submit and timers may not", Needs::sender, &strand},
};

}  // namespace

std::span<const Check> host_checks() { return kChecks; }

}  // namespace waybill::conformance
