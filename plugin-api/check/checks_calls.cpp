// Checks of calls that do not go their straight way: odd payloads, cancelling, giving up, several at once.
#include <algorithm>
#include <chrono>
#include <iterator>

#include "check.h"
#include "hostile_texts.h"
#include "rehearsal.h"

namespace waybill::conformance {
namespace {

constexpr std::int64_t kMaxCancelMs = 1000;  // of the host's clock, for the end of a cancelled call
constexpr int kMaxSteps = 20;
constexpr int kCalls = 200;
constexpr int kBlockingCalls = 20;
constexpr std::chrono::seconds kMaxOddTime{5};

void payloads(Subject& subject) {
  const auto first = rehearse(subject);
  if (!first) return;
  // The last look is at what may take long with many: of a plugin that waits for a network, only some.
  std::vector<NamedText> texts;
  for (std::size_t i = 0; i < subject.sample.payloads.size(); ++i)
    texts.emplace_back("payloads[" + std::to_string(i) + "] of the sample", subject.sample.payloads[i]);
  const auto add = [&texts](std::vector<NamedText> more) { std::move(more.begin(), more.end(), std::back_inserter(texts)); };
  add(hostile_texts(subject.sample.payload));
  texts.emplace_back("one megabyte", std::string(1 << 20, 'x'));
  const auto needed = texts.size();
  add(odd_texts(subject.sample.payload));
  for (const auto& payload : subject.sample.payloads) add(odd_texts(payload));
  const auto until = std::chrono::steady_clock::now() + kMaxOddTime;
  for (std::size_t i = 0; i < texts.size() && (i < needed || std::chrono::steady_clock::now() < until); ++i) {
    const auto& [what, payload] = texts[i];
    auto host = host_for(subject);
    auto job = sample_job(subject, *host);
    if (!job) return;
    job->payload = payload;
    subject.findings.given("a payload that is " + what);
    const auto call = host->begin(CallKind::send, *job);
    host->run();
    const auto how = symptom(host->call(call));
    if (!how.empty() && how != symptom(first->call)) subject.findings.found("the call " + how, "a payload that is " + what);
  }
}

// Cancels after `steps` of a delivery under `answer`; false if it had ended by then.
bool cancel_after(Subject& subject, int steps, const NamedAnswer& script, const Call& uncancelled, bool& tried) {
  auto host = host_for(subject);
  if (!host) return false;
  const auto job = sample_job(subject, *host);
  if (!job) return false;
  host->script(happy_until(subject, 0, script.answer));
  const auto id = host->begin(CallKind::send, *job);
  for (int i = 0; i < steps; ++i)
    if (host->call(id).end != End::open || !host->step()) return false;
  if (host->call(id).end != End::open) return false;
  tried = true;
  host->cancel(id);
  host->run_for(kMaxCancelMs);
  const auto call = host->call(id);
  const auto during = "cancelled after " + std::to_string(steps) + " step(s), " + script.name;
  if (call.end == End::open) subject.findings.found("the call stayed open after cancel", during);
  if (call.end == End::threw && uncancelled.end != End::threw) subject.findings.found("the call " + symptom(call), during);
  if (call.completions > 1) subject.findings.found("the call " + symptom(call), during);
  return true;
}

void cancel(Subject& subject) {
  const auto first = rehearse(subject);
  if (!first) return;
  auto accepted = happy(subject)(0, 0);
  bool tried = false;
  for (const auto& script : {NamedAnswer{"no answer", silence()}, NamedAnswer{"accepted", std::move(accepted)},
                             NamedAnswer{"status 503", http_answer(503)}}) {
    if (!symptom(first->call).empty() && !script.answer.never) continue;  // broken without a cancel
    for (int steps = 0; steps < kMaxSteps && cancel_after(subject, steps, script, first->call, tried); ++steps) {
    }
  }
  if (!tried) subject.findings.skipped("no call was ever open outside of send, so none could be cancelled");
}

void given_up(Subject& subject) {
  const auto first = rehearse(subject);
  if (!first) return;
  bool tried = false;
  for (const bool cancelled : {true, false})
    for (int steps = 0; steps < kMaxSteps; ++steps) {
      auto host = host_for(subject, {.job = Memory::vanishing, .text = Memory::vanishing});
      if (!host) return;
      const auto job = sample_job(subject, *host);
      if (!job) return;
      host->script([](std::uint64_t, std::size_t) { return silence(); });
      const auto id = host->begin(CallKind::send, *job);
      bool going = true;
      for (int i = 0; i < steps && going; ++i) going = host->call(id).end == End::open && host->step();
      if (cancelled && going) host->cancel(id);
      if (!going || host->call(id).end != End::open) break;
      tried = true;
      host->give_up(id);  // its job is gone from here on
      host->run();
      host->script(happy(subject));
      const auto next = host->begin(CallKind::send, *job);
      host->run();
      const auto how = symptom(host->call(next));
      if (!how.empty() && how != symptom(first->call))
        subject.findings.found("after a call that the host gave up, the next one " + how);
    }
  if (!tried) subject.findings.skipped("no call was ever open outside of send, so the host could give none up");
}

// Compares how a call ended among others with how it ends alone.
void compare(Subject& subject, const Call& call, const Call& alone, const char* where) {
  if (!symptom(alone).empty()) return;
  if (const auto how = symptom(call); !how.empty())
    subject.findings.found("the call " + how, where);
  else if (end_of(call) != end_of(alone))
    subject.findings.found("the call ended as " + end_of(call) + " and ends alone as " + end_of(alone), where);
}

std::optional<Call> alone_with(Subject& subject, const Answer& answer) {
  auto host = host_for(subject);
  if (!host) return std::nullopt;
  const auto job = sample_job(subject, *host);
  if (!job) return std::nullopt;
  host->script(happy_until(subject, 0, answer));
  const auto id = host->begin(CallKind::send, *job);
  host->run();
  return host->call(id);
}

// No request of one delivery holds what belongs to another.
void find_strangers(Subject& subject, const CheckHost& host, std::uint64_t call, const std::string& foreign_key,
                    const char* where) {
  for (const auto& sent : host.sent()) {
    if (sent.call != call) continue;
    bool strange = sent.url.find(foreign_key) != std::string::npos || sent.body.find(foreign_key) != std::string::npos;
    for (const auto& header : sent.headers) strange = strange || header.second.find(foreign_key) != std::string::npos;
    if (strange) subject.findings.found("a request of one delivery carries the idempotency key of another", where);
  }
}

const Answer kUnavailable = http_answer(503);

void two_senders(Subject& subject) {
  constexpr const char* kWhere = "two senders, their calls interleaved";
  const auto accepted = rehearse(subject);
  if (!accepted) return;
  const auto failed = alone_with(subject, kUnavailable);
  const auto one = host_for(subject), other = host_for(subject);
  if (!failed || !one || !other) return;
  auto first = sample_job(subject, *one), second = sample_job(subject, *other);
  if (!first || !second) return;
  first->idempotency_key = "key-of-the-first-sender";
  second->idempotency_key = "key-of-the-second-sender";
  other->script(happy_until(subject, 0, kUnavailable));
  const auto a = one->begin(CallKind::send, *first);
  const auto b = other->begin(CallKind::send, *second);
  for (bool more = true; more;) {
    const bool in_one = one->step(), in_other = other->step();
    more = in_one || in_other;
  }
  compare(subject, one->call(a), accepted->call, kWhere);
  compare(subject, other->call(b), *failed, kWhere);
  find_strangers(subject, *one, a, second->idempotency_key, kWhere);
  find_strangers(subject, *other, b, first->idempotency_key, kWhere);
  for (const auto* const host : {one.get(), other.get()})
    for (const auto& [kind, words] : host->breaches())
      if (kind == Violation::unknown_call && symptom(accepted->call).empty()) subject.findings.found(words, kWhere);
}

// A blocking sender gets one call at a time: they follow each other, and none leaves anything to the next.
void calls_in_turn(Subject& subject) {
  constexpr const char* kWhere = "20 calls of one sender, one after another";
  const auto alone = rehearse(subject);
  const auto host = host_for(subject);
  if (!alone || !host) return;
  const auto job = sample_job(subject, *host);
  if (!job) return;
  for (int i = 0; i < kBlockingCalls; ++i) {
    auto mine = *job;
    mine.idempotency_key = "key-" + std::to_string(1000 + i);
    const auto call = host->begin(CallKind::send, mine);
    host->run();
    compare(subject, host->call(call), alone->call, kWhere);
    find_strangers(subject, *host, call, "key-" + std::to_string(1000 + i - 1), kWhere);
  }
}

void many_calls(Subject& subject) {
  constexpr const char* kWhere = "200 calls at once, the last answered first";
  if (subject.blocking()) return calls_in_turn(subject);
  const auto accepted = rehearse(subject);
  if (!accepted) return;
  const auto failed = alone_with(subject, kUnavailable);
  const auto host = host_for(subject, {.backwards = true});
  if (!failed || !host) return;
  const auto job = sample_job(subject, *host);
  if (!job) return;
  const auto before = happy(subject);
  const auto odd = [](std::uint64_t call) { return call % 2 == 1; };
  host->script([&](std::uint64_t call, std::size_t nth) { return odd(call) ? kUnavailable : before(call, nth); });
  std::vector<std::uint64_t> calls;
  for (int i = 0; i < kCalls; ++i) {
    auto mine = *job;
    mine.idempotency_key = "key-" + std::to_string(1000 + i);
    calls.push_back(host->begin(CallKind::send, mine));
  }
  host->run();
  for (int i = 0; i < kCalls; ++i) {
    const auto id = calls[static_cast<std::size_t>(i)];
    compare(subject, host->call(id), odd(id) ? *failed : accepted->call, kWhere);
    find_strangers(subject, *host, id, "key-" + std::to_string(1000 + (i + 1) % kCalls), kWhere);
  }
}

constexpr Check kChecks[] = {
    {"payloads", "whatever bytes are handed in, the call is completed exactly once",
     "reject what cannot be sent; parse without exceptions, with a bound for the depth", Needs::sender, &payloads},
    {"cancel", "a call that is cancelled at any step is completed once, and soon",
     "abort what is open, or complete the call in cancel and forget it", Needs::sender, &cancel},
    {"given_up", "a call that the host gave up does no harm when its answer comes late",
     "copy what a callback needs from the job: it is gone with the call", Needs::sender, &given_up},
    {"two_senders", "two senders of one action type do not know of each other", "keep state in the sender, none in globals",
     Needs::sender, &two_senders},
    {"many_calls", "many calls of one sender are open at once; of a blocking one, many follow each other",
     "keep state by call, not by sender", Needs::sender, &many_calls},
};

}  // namespace

std::span<const Check> call_checks() { return kChecks; }

}  // namespace waybill::conformance
