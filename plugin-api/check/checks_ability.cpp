// Checks of the extensions that a sender offers, each as a whole: their calls keep the rules of a send's.
#include "check.h"
#include "fake_host/text.h"
#include "outcome_rules.h"
#include "rehearsal.h"

namespace waybill::conformance {
namespace {

constexpr std::int64_t kMaxCancelMs = 1000;

std::string fault_of(const Subject& subject, const Call& call) {
  if (const auto how = symptom(call); !how.empty()) return "the call " + how;
  if (call.end != End::completed) return {};
  const auto& said = call.outcome;
  for (auto fault : {fault_in_numbers(said), fault_in_reason(said, *subject.action), fault_in_words(said), fault_in_sizes(said),
                     fault_in_result(said)})
    if (!fault.empty()) return fault;
  if (said.verdict != WB_ACCEPTED && said.reason.length == 0) return "an outcome that is not accepted has no reason";
  const bool composed = call.kind == CallKind::compose && said.verdict == WB_ACCEPTED;
  if (!composed) return said.artifact.length == 0 ? "" : "an artefact that nobody asked for";
  if (said.artifact.length == 0) return "accepted without an artefact";
  if (said.artifact.length > WB_MOST_ARTIFACT_BYTES)
    return "an artefact of " + std::to_string(said.artifact.length) + " bytes, more than WB_MOST_ARTIFACT_BYTES";
  return said.artifact_type.length == 0 ? "an artefact without its media type" : "";
}

void find_faults(Subject& subject, const CheckHost& host, std::uint64_t call, const std::string& during) {
  if (const auto fault = fault_of(subject, host.call(call)); !fault.empty()) subject.findings.found(fault, during);
  for (const auto& [kind, words] : host.breaches())
    if (kind == Violation::late_report || kind == Violation::malformed || kind == Violation::threw)
      subject.findings.found(words, during);
  for (const auto& text : host.logged())
    if (!fake_host::is_utf8(text)) subject.findings.found("a failure or a log event is not UTF-8", during);
}

void ask(Subject& subject, CallKind asked) {
  const auto host = host_for(subject);
  if (!host) return;
  if (!host->can(asked)) return subject.findings.skipped("it does not offer this");
  Job job{.destination = subject.sample.destination, .payload = subject.sample.payload, .context = subject.sample.context};
  if (asked != CallKind::compose) job.payload.clear();
  if (asked == CallKind::status) job.provider_ref = "ref-1";
  const std::pair<const char*, CheckHost::Script> scripts[] = {
      {"a good answer", happy(subject, asked)},
      {"status 404", happy_until(subject, 0, http_answer(404))},
      {"status 503", happy_until(subject, 0, http_answer(503))},
      {"status 200, a body that is not JSON", happy_until(subject, 0, http_answer(200, "<html>\xff</html>"))},
      {"timeout", happy_until(subject, 0, broken(WB_NET_TIMEOUT, WB_MAYBE_SENT))},
      {"no answer", happy_until(subject, 0, silence())}};
  for (const auto& [during, script] : scripts) {
    const auto own = host_for(subject);
    own->script(script);
    const auto call = own->begin(asked, job);
    own->run();
    find_faults(subject, *own, call, during);
    const bool good = during == scripts[0].first;
    if (good && asked == CallKind::compose && own->call(call).end == End::completed &&
        own->call(call).outcome.verdict != WB_ACCEPTED)
      subject.findings.found("it made nothing of the sample payload: " + end_of(own->call(call)) +
                             "; is there a better one for --samples?");
  }
  host->script(happy_until(subject, 0, silence()));
  const auto call = host->begin(asked, job);
  host->cancel(call);
  host->run_for(kMaxCancelMs);
  if (host->call(call).end == End::open) subject.findings.found("the call stayed open after cancel", "cancelled");
}

void compose(Subject& subject) { ask(subject, CallKind::compose); }
void status(Subject& subject) { ask(subject, CallKind::status); }
void probe(Subject& subject) { ask(subject, CallKind::probe); }
void failures(Subject& subject) { ask(subject, CallKind::failures); }

constexpr const char* kRemedy = "complete it exactly once on every way out, as a call of send";

constexpr Check kChecks[] = {
    {"compose", "compose ends its call once; accepted comes with an artefact and its type",
     "complete with Outcome::accepted().artifact(type, bytes), or say why not", Needs::sender, &compose},
    {"status", "status ends its call once, as plugin.h says", kRemedy, Needs::sender, &status},
    {"probe", "probe ends its call once, as plugin.h says", kRemedy, Needs::sender, &probe},
    {"failures", "a page of failures ends its call once, and nothing is reported after that",
     "report each failure with its size and provider_ref, then complete", Needs::sender, &failures},
};

}  // namespace

std::span<const Check> ability_checks() { return kChecks; }

}  // namespace waybill::conformance
