// A host with a sender on it, the sample job, and runs of it.
#include "rehearsal.h"

#include <algorithm>

#include "library.h"
#include "local_receiver.h"

namespace waybill::conformance {
namespace {

constexpr std::size_t kMaxRequests = 4;            // of one delivery, each of which gets every answer
constexpr std::int64_t kBlockingDeadlineMs = 300;  // of real time, which a blocking sender may use up

Answer nth_of(const std::vector<Answer>* answers, std::size_t nth) {
  if (answers == nullptr) return http_answer(200);
  return (*answers)[std::min(nth, answers->size() - 1)];
}

}  // namespace

std::unique_ptr<CheckHost> host_for(Subject& subject, Shape shape) {
  shape.tells_ends = subject.is_executable;
  auto host = std::make_unique<CheckHost>(*subject.action, subject.findings, shape);
  host->script(happy(subject));
  if (host->create(subject.sample.settings)) return host;
  subject.findings.skipped(host->create_threw()  ? "create threw an exception (see the check exceptions)"
                           : host->made_sender() ? "the sender has no whole table (see the check sender_table)"
                                                 : "create made no sender (see the check samples)");
  return nullptr;
}

CheckHost::Script happy(const Subject& subject, CallKind asked) {
  const bool sends = asked == CallKind::send || asked == CallKind::compose;
  const auto found = subject.sample.answers.find(sends ? "accepted" : std::string(word_for(asked)));
  const auto* const answers = found == subject.sample.answers.end() ? nullptr : &found->second;
  return [answers](std::uint64_t, std::size_t nth) { return nth_of(answers, nth); };
}

CheckHost::Script happy_until(const Subject& subject, std::size_t from, const Answer& answer) {
  return [before = happy(subject), from, answer](std::uint64_t call, std::size_t nth) {
    return nth < from ? before(call, nth) : answer;
  };
}

std::optional<Job> sample_job(Subject& subject, CheckHost& host) {
  Job job{.destination = subject.sample.destination, .payload = subject.sample.payload, .context = subject.sample.context};
  if (subject.blocking()) job.deadline_ms = kBlockingDeadlineMs;
  if (subject.plugin->abi_minor == 0 || !host.can(CallKind::compose)) return job;
  const auto call = host.begin(CallKind::compose, job);
  host.run();
  const auto& said = host.call(call).outcome;
  if (said.verdict != WB_ACCEPTED || said.artifact.length == 0) {
    subject.findings.skipped("compose made nothing of the sample (see the check compose)");
    return std::nullopt;
  }
  job.artifact_type = said.artifact_type.kept;
  job.artifact = said.artifact.kept;
  return job;
}

std::string symptom(const Call& call) {
  if (call.end == End::threw) return "was left with an exception";
  if (call.end == End::open) return "was not completed by its deadline";
  return call.completions > 1 ? "was completed " + std::to_string(call.completions) + " times" : "";
}

std::string end_of(const Call& call) { return call.end == End::completed ? words_of(call.outcome) : symptom(call); }

std::optional<Rehearsal> rehearse(Subject& subject, Shape shape) {
  Rehearsal run{host_for(subject, shape), {}, "an answer that means accepted", 0};
  if (!run.host) return std::nullopt;
  const auto job = sample_job(subject, *run.host);
  if (!job) return std::nullopt;
  const auto call = run.host->begin(CallKind::send, *job);
  run.host->run();
  run.call = run.host->call(call);
  run.needed = run.call.exchanges;
  return run;
}

namespace {

bool look_at_one(Subject& subject, const std::string& during, const std::optional<std::string>& payload,
                 const std::function<void(Subject&, const Rehearsal&)>& look) {
  Rehearsal run{host_for(subject), {}, during, 0};
  if (!run.host) return false;
  auto job = sample_job(subject, *run.host);
  if (!job) return false;
  if (payload) job->payload = *payload;
  const auto call = run.host->begin(CallKind::send, *job);
  run.host->run();
  run.call = run.host->call(call);
  look(subject, run);
  return true;
}

// A sender that asks nothing of the host's services has a client of its own, or none: it is looked at with other payloads, and
// with receivers of the check's own in the place of those that the sample names.
bool rehearse_with_receivers(Subject& subject, const std::function<void(Subject&, const Rehearsal&)>& look) {
  for (const auto& [what, payload] : {std::pair("an empty payload", std::string()), std::pair("a payload {}", std::string("{}")),
                                      std::pair("a payload that is no JSON", std::string("waybill\r\n\xff")),
                                      std::pair("a payload of one megabyte", std::string(1 << 20, 'x'))})
    if (!look_at_one(subject, what, payload, look)) return false;
  for (const auto& payload : subject.sample.payloads)
    if (!look_at_one(subject, "another payload of the sample", payload, look)) return false;
  for (const auto& manner : manners()) {
    const LocalReceiver receiver(manner);
    auto there = at_receiver(subject, receiver.port());
    if (!there) {
      subject.findings.skipped(
          "the sample asks nothing of the host's services and names no URL, so no answer can be scripted; a few payloads were "
          "looked at");
      return true;
    }
    if (!look_at_one(*there, manner.name, std::nullopt, look)) return false;
  }
  return true;
}

}  // namespace

std::optional<Subject> at_receiver(const Subject& subject, std::uint16_t port) {
  auto there = subject;
  const auto destination = redirected(subject.sample.destination, port);
  const auto settings = redirected(subject.sample.settings, port);
  if (!destination && !settings) return std::nullopt;
  if (destination) there.sample.destination = *destination;
  if (settings) there.sample.settings = *settings;
  return there;
}

bool rehearse_all(Subject& subject, const std::function<void(Subject&, const Rehearsal&)>& look) {
  const auto first = rehearse(subject);
  if (!first) return false;
  look(subject, *first);
  if (first->needed == 0) return rehearse_with_receivers(subject, look);
  auto sent = first->host->sent();
  std::erase_if(sent, [&](const SentRequest& one) { return one.call != first->call.id; });
  for (std::size_t nth = 0; nth < std::min(first->needed, kMaxRequests); ++nth)
    for (const auto& [name, answer] : nth < sent.size() && sent[nth].mail ? mail_answers() : http_answers()) {
      Rehearsal run{
          host_for(subject), {}, first->needed == 1 ? name : name + " to request " + std::to_string(nth + 1), first->needed};
      if (!run.host) return false;
      const auto job = sample_job(subject, *run.host);
      if (!job) return false;
      run.host->script(happy_until(subject, nth, answer));
      const auto call = run.host->begin(CallKind::send, *job);
      run.host->run();
      run.call = run.host->call(call);
      look(subject, run);
    }
  return true;
}

}  // namespace waybill::conformance
