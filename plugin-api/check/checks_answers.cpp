// Checks of what a sender makes of every kind of answer.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "check.h"
#include "fake_host/text.h"
#include "outcome_rules.h"
#include "rehearsal.h"

namespace waybill::conformance {
namespace {

constexpr std::size_t kPaddedBytes = 6'000;

void report(Subject& subject, const Rehearsal& run, const std::string& fault) {
  if (!fault.empty()) subject.findings.found(fault, run.during);
}

// Applies a rule to the outcome of each delivery that was completed.
template <class Rule>
void apply_to_all(Subject& subject, const Rule& rule) {
  rehearse_all(subject, [&](Subject& one, const Rehearsal& run) {
    if (run.call.end == End::completed) report(one, run, rule(one, run));
  });
}

// Reports that the check is skipped if so.
bool asks_nothing(Subject& subject) {
  const auto first = rehearse(subject);
  if (!first) return true;
  if (first->needed == 0) subject.findings.skipped("the sample asks nothing of the host's services");
  return first->needed == 0;
}

void accepts(Subject& subject) {
  const auto run = rehearse(subject);
  if (!run || run->call.end != End::completed || run->call.outcome.verdict == WB_ACCEPTED) return;
  const auto said = words_of(run->call.outcome);
  if (subject.sample.answers.count("accepted") != 0)
    subject.findings.found("the answer that should mean accepted led to " + said);
  else if (run->needed == 0)
    subject.findings.skipped("the sample asks nothing of the host's services, and led to " + said);
  else
    subject.findings.skipped("no answer that means accepted is known (status 200 with {} led to " + said +
                             "): give `answers`.`accepted` in --samples");
}

// The same object with a long text before all else, so that whoever reads only 4,096 bytes gets no whole JSON. None for other
// texts.
std::optional<std::string> padded(const std::string& body) {
  auto json = nlohmann::ordered_json::parse(body.empty() ? "{}" : body, nullptr, false);
  if (!json.is_object()) return std::nullopt;
  nlohmann::ordered_json longer{{"wb_padding", std::string(kPaddedBytes, 'x')}};
  longer.update(json);
  return longer.dump();
}

void long_answers(Subject& subject) {
  const auto first = rehearse(subject);
  if (!first) return;
  if (first->needed == 0) return subject.findings.skipped("the sample asks nothing of the host's services");
  if (first->call.end != End::completed || first->call.outcome.verdict != WB_ACCEPTED)
    return subject.findings.skipped("no answer that means accepted is known (see the check accepts)");
  const auto& mails = first->host->sent();
  if (std::all_of(mails.begin(), mails.end(), [](const SentRequest& one) { return one.mail; }))
    return subject.findings.skipped("it sends mail, whose replies are short");
  std::vector<Answer> answers;
  bool is_longer = false;
  for (std::size_t i = 0; i < first->needed; ++i) {
    answers.push_back(happy(subject)(0, i));
    const auto longer = answers.back().status == 204 ? std::nullopt : padded(answers.back().body);
    if (longer) answers.back().body = *longer;
    is_longer = is_longer || longer;
  }
  if (!is_longer) return subject.findings.skipped("no accepted answer is a JSON object, which alone can be made longer");
  const auto host = host_for(subject);
  const auto job = sample_job(subject, *host);
  if (!job) return;
  host->script([&](std::uint64_t, std::size_t nth) { return answers[std::min(nth, answers.size() - 1)]; });
  const auto call = host->begin(CallKind::send, *job);
  host->run();
  const auto& ended = host->call(call);
  if (ended.end != End::completed || ended.outcome.verdict != WB_ACCEPTED)
    subject.findings.found("an accepted answer of more than " + std::to_string(kPaddedBytes) + " bytes led to " + end_of(ended) +
                           ": each retry sends what is there already");
}

void completes(Subject& subject) {
  rehearse_all(subject, [](Subject& one, const Rehearsal& run) {
    if (run.call.end == End::open) report(one, run, "the call was not completed by its deadline");
    for (const auto& [kind, words] : run.host->breaches())
      if (kind == Violation::runaway) report(one, run, words);
  });
}

void completes_once(Subject& subject) {
  rehearse_all(subject, [](Subject& one, const Rehearsal& run) {
    if (run.call.completions > 1) report(one, run, "the call " + symptom(run.call));
    for (const auto& [kind, words] : run.host->breaches())
      if (kind == Violation::unknown_call) report(one, run, words);
  });
}

void verdicts(Subject& subject) {
  apply_to_all(subject, [](Subject&, const Rehearsal& run) { return fault_in_numbers(run.call.outcome); });
}

void reasons_given(Subject& subject) {
  apply_to_all(subject, [](Subject&, const Rehearsal& run) -> std::string {
    const auto& said = run.call.outcome;
    return said.usable && said.verdict != WB_ACCEPTED && said.reason.length == 0
               ? "an outcome that is not accepted (" + words_of(said) + ") has no reason"
               : "";
  });
}

void reasons_declared(Subject& subject) {
  apply_to_all(subject, [](Subject& one, const Rehearsal& run) { return fault_in_reason(run.call.outcome, *one.action); });
}

void words(Subject& subject) {
  rehearse_all(subject, [](Subject& one, const Rehearsal& run) {
    report(one, run, fault_in_words(run.call.outcome));
    for (const auto& text : run.host->logged())
      if (!fake_host::is_utf8(text)) report(one, run, "a log event is not UTF-8");
  });
}

void sizes(Subject& subject) {
  apply_to_all(subject, [](Subject&, const Rehearsal& run) { return fault_in_sizes(run.call.outcome); });
}

void result(Subject& subject) {
  apply_to_all(subject, [](Subject&, const Rehearsal& run) {
    return run.call.outcome.artifact.length != 0 ? "an artefact in an outcome of send: it belongs to compose"
                                                 : fault_in_result(run.call.outcome);
  });
}

// A sender that claims more than the host saw loses or doubles deliveries. Only the last request that a delivery needs is looked
// at: an earlier one may fail before the delivery itself was sent.
void reach(Subject& subject) {
  if (asks_nothing(subject)) return;
  apply_to_all(subject, [](Subject&, const Rehearsal& run) -> std::string {
    static constexpr const char* kWords[] = {"", "not sent", "maybe sent", "answered"};
    const auto& said = run.call.outcome;
    if (run.needed == 0 || run.call.exchanges < run.needed || said.reach < WB_NOT_SENT || said.reach > WB_ANSWERED) return {};
    if (said.verdict == WB_ACCEPTED && !run.call.answered) return "accepted, though nothing was answered";
    if (said.reach == run.call.last_reach || said.reach == WB_MAYBE_SENT) return {};
    return std::string("the outcome says ") + kWords[said.reach] + ", and the host had said " + kWords[run.call.last_reach];
  });
}

void secrets(Subject& subject) {
  const auto first = rehearse(subject);
  if (!first) return;
  const auto& requests = first->host->sent();
  const auto names_secret = [](const SentRequest& sent) {
    return std::any_of(sent.filled_headers.begin(), sent.filled_headers.end(),
                       [](const auto& header) { return holds_secret(header.second); });
  };
  if (std::none_of(requests.begin(), requests.end(), names_secret))
    return subject.findings.skipped("no request of the sample delivery names a secret, so none can come back");
  for (const auto& [name, answer] : echoing_answers())
    for (std::size_t nth = 0; nth < first->needed; ++nth) {
      auto run = Rehearsal{host_for(subject), {}, name, first->needed};
      const auto job = sample_job(subject, *run.host);
      if (!job) return;
      run.host->script(happy_until(subject, nth, answer));
      const auto call = run.host->begin(CallKind::send, *job);
      run.host->run();
      report(subject, run, secret_in(run.host->call(call).outcome));
      for (const auto& text : run.host->logged())
        if (holds_secret(text)) report(subject, run, "a log event holds a secret that the destination had repeated");
    }
}

void refused_fetch(Subject& subject) {
  const auto first = rehearse(subject);
  if (!first) return;
  if (first->needed == 0) return subject.findings.skipped("the sample asks nothing of the host's services");
  for (std::size_t nth = 0; nth < first->needed; ++nth) {
    auto host = host_for(subject);
    const auto job = sample_job(subject, *host);
    if (!job) return;
    host->script(happy_until(subject, nth, broken(WB_NET_REFUSED, WB_NOT_SENT)));
    const auto call = host->begin(CallKind::send, *job);
    host->run();
    const auto how = symptom(host->call(call));
    if (!how.empty() && how != symptom(first->call)) subject.findings.found("the host refused a request, and the call " + how);
  }
}

void requests(Subject& subject) {
  const auto first = rehearse(subject);
  if (!first) return;
  if (first->needed == 0 && first->host->breaches().empty())
    return subject.findings.skipped("the sample asks nothing of the host's services");
  rehearse_all(subject, [](Subject& one, const Rehearsal& run) {
    for (const auto& [kind, words] : run.host->breaches())
      if (kind == Violation::malformed) report(one, run, words);
  });
}

constexpr Check kChecks[] = {
    {"accepts", "an answer that means accepted leads to accepted", "look at the sample answer, or correct it", Needs::sender,
     &accepts},
    {"long_answers", "an accepted answer stays accepted when it is longer than the host's default of 4,096 bytes",
     "judge by the status, or raise max_response_bytes; a body that is cut off is no reason to send again", Needs::sender,
     &long_answers},
    {"requests", "what it asks of the services is well formed, and for a call that is open",
     "set `size`, method, URL and recipients; ask before you complete", Needs::sender, &requests},
    {"completes", "every answer leads to a completion", "complete the call on every way out, network errors included",
     Needs::sender, &completes},
    {"completes_once", "no call is completed twice, and none that was never given", "forget a call when you complete it",
     Needs::sender, &completes_once},
    {"refused_fetch", "a request that the host refuses ends the call as well", "treat WB_NET_REFUSED as any other network error",
     Needs::sender, &refused_fetch},
    {"verdicts", "verdict, reach, scope and retry_after_ms are values of plugin.h", "begin with wb_outcome{} and set `size`",
     Needs::sender, &verdicts},
    {"reasons_given", "what is not accepted has a reason", "name one short word for every way out", Needs::sender,
     &reasons_given},
    {"reasons_declared", "rejected comes with a declared reason", "add it to wb_action::reasons, or say transient", Needs::sender,
     &reasons_declared},
    {"words", "what it says for people and logs is UTF-8, and one line", "clean what a destination sent before you repeat it",
     Needs::sender, &words},
    {"sizes", "what it says is of a sensible length", "cut what a destination sent before you repeat it", Needs::sender, &sizes},
    {"result", "the result is JSON or empty, and send makes no artefact", "leave wb_outcome::result empty, or write JSON",
     Needs::sender, &result},
    {"reach", "it claims no more of a request than the host saw",
     "pass wb_http_response::reach (wb_smtp_reply::reach) on, and accept only what was answered", Needs::sender, &reach},
    {"secrets", "a secret that a destination repeats goes no further",
     "do not copy bodies or headers of an answer into detail, result or the log", Needs::sender, &secrets},
};

}  // namespace

std::span<const Check> answer_checks() { return kChecks; }

}  // namespace waybill::conformance
