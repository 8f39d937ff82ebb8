// Rehearses a form: its actions' plugins run for real, on a stand-in for the network.
#include "cli/forms.h"

#include <nlohmann/json.hpp>

#include "api/form_json.h"
#include "base/json_document.h"
#include "cli/asking.h"
#include "cli/json_output.h"
#include "domain/idempotency.h"
#include "services/stand_in.h"

namespace waybill {
namespace {

// One mail or request that a plugin sent.
struct Sent {
  std::string what;  // "mail to a@example.org from b@example.org", "POST https://example.org/"
  std::string text;  // whole
};

// What an action did, and what came of it.
struct Rehearsal {
  int action_order = 0;
  std::string action_type;
  std::vector<Sent> sent;
  Outcome outcome;
};

// Takes whatever is sent, as a relay and a receiver that find no fault with it.
class Sink {
 public:
  std::shared_ptr<const StandIn> stand_in() {
    return std::make_shared<const StandIn>(StandIn{.http = [this](const HttpRequest& asked) { return take(asked); },
                                                   .mail = [this](const SmtpMessage& message) { return take(message); }});
  }
  std::vector<Sent> take_sent() { return std::exchange(sent_, {}); }  // when no sender lives

 private:
  HttpResponse take(const HttpRequest& asked) {
    std::string text = asked.method + " " + asked.url + "\n";
    for (const auto& [name, value] : asked.headers) text.append(name).append(": ").append(value).append("\n");
    sent_.push_back({asked.method + " " + asked.url, text + "\n" + asked.body});
    return {.reach = Reach::answered, .status = 200, .headers = {{"content-type", "application/json"}}, .body = R"({"id":1})"};
  }

  SmtpReply take(const SmtpMessage& message) {
    std::string to;
    for (const auto& recipient : message.recipients) to.append(to.empty() ? "" : ", ").append(recipient);
    sent_.push_back({"mail to " + to + " from " + message.from, message.data});
    const SmtpAnswer good{250, "2.0.0 Ok: queued as SIMULATED"};
    return {.reach = Reach::answered,
            .stage = SmtpStage::data,
            .answer = good,
            .recipients = std::vector<SmtpAnswer>(message.recipients.size(), good)};
  }

  std::vector<Sent> sent_;
};

Result<std::string> read_input(const std::string& name) {
  std::string text;
  std::FILE* file = name == "-" ? stdin : std::fopen(name.c_str(), "rb");
  if (file == nullptr) return fail(Error::Kind::invalid, name + ": cannot be read");
  for (char chunk[1 << 14]; text.size() <= kMaxJsonBytes;) {
    const auto size = std::fread(chunk, 1, sizeof chunk, file);
    if (size == 0) break;
    text.append(chunk, size);
  }
  const bool failed_to_read = std::ferror(file) != 0;
  if (file != stdin) std::fclose(file);
  if (failed_to_read) return fail(Error::Kind::invalid, name + ": cannot be read");
  const auto parsed = parse_json(text, name == "-" ? "standard input" : name);
  if (!parsed) return fail(Error::Kind::invalid, to_string(parsed.error().front()));
  return text;
}

// The submission as intake would read it.
Result<NewForm> submission_of(const FormOptions& options) {
  const auto fields = read_input(options.fields);
  TRY(fields);
  std::string body = "{\"submissionId\":" + json_string(options.reference) + ",\"formId\":" + json_string(options.form) +
                     ",\"fields\":" + *fields;
  if (!options.attachments.empty()) {
    const auto attachments = read_input(options.attachments);
    TRY(attachments);
    body += ",\"attachments\":" + *attachments;
  }
  return read_form_request(body + "}");
}

Job job_of(const NewForm& submission, const Contract& contract, int order, const Clock& clock, Millis kept) {
  constexpr Micros kSecond = Seconds(1);
  const Timestamp now{clock.unix_seconds() * kSecond.count()};
  const auto payload = form_payload(submission.fields, submission.attachments_json, now + kept);
  Job job;
  job.org = kDefaultOrg;
  job.created = job.claimed_at = now;
  job.claimed_mono = clock.now();
  job.contract = std::make_shared<const Contract>(contract);
  job.idempotency_key = idempotency_key(kDefaultOrg, "form", submission.submission_id, order);
  job.payload = payload;
  job.context = context_of(kDefaultOrg, "form", submission.submission_id, contract, now, payload);
  return job;
}

// What the actions do with a submission. None after printing why there is no saying.
std::optional<std::vector<Rehearsal>> rehearse(const ProviderOptions& asking, const FormOptions& wanted, Sink& sink) {
  const auto none = [](const std::string& why) { return static_cast<void>(failed(why)), std::nullopt; };
  const Form* form = asking.contents.registry->find_form(wanted.form);
  if (form == nullptr) return none("the registry has no form \"" + wanted.form + "\"");
  const auto submission = submission_of(wanted);
  if (!submission) return none(submission.error().what);
  if (const auto fault = fault_in_submission(*form, submission->fields, submission->attachments.size()); !fault.empty())
    return none("the form does not take this submission: " + fault);
  std::vector<Rehearsal> all;
  for (const auto& action : form->actions) {
    const auto* type = asking.contents.catalogue->find(action.action_type);
    if (type == nullptr) return none("no loaded plugin has the action type " + action.action_type);
    if (type->blocking) return none("the plugin of " + action.action_type + " makes connections of its own: nothing stands in");
    auto job = job_of(*submission, contract_of(*form, action, type), action.order, asking.clock, asking.config.kept_forms);
    auto outcome = asking.destination_queries->attempt(job);
    if (outcome && outcome->artifact) {
      job.artifact = std::move(outcome->artifact);
      outcome = asking.destination_queries->attempt(std::move(job));
    }
    if (!outcome)
      return none("action " + std::to_string(action.order) + " (" + action.action_type + "): " + outcome.error().what);
    all.push_back({action.order, action.action_type, sink.take_sent(), std::move(*outcome)});
  }
  return all;
}

std::string verdict_of(const Outcome& outcome) {
  std::string words(to_string(outcome.verdict));
  if (!outcome.reason.empty()) words += " " + outcome.reason;
  if (!outcome.detail.empty()) words += ": " + outcome.detail;
  return words;
}

// Lines as a terminal has them.
std::string without_returns(std::string text) {
  std::erase(text, '\r');
  return text;
}

void print(const Rehearsal& one, bool whole) {
  print_line("action " + std::to_string(one.action_order) + " (" + one.action_type + "): " + verdict_of(one.outcome));
  for (const auto& message : one.sent) {
    print_line("  " + message.what + ", " + std::to_string(message.text.size()) + " bytes");
    if (whole) print_line("\n" + without_returns(message.text));
  }
}

Json json_of(const Rehearsal& one, bool whole) {
  Json sent = Json::array();
  for (const auto& message : one.sent) {
    sent.push_back({{"what", message.what}, {"bytes", message.text.size()}});
    if (whole) sent.back()["text"] = message.text;
  }
  return {{"actionOrder", one.action_order},
          {"actionType", one.action_type},
          {"verdict", std::string(to_string(one.outcome.verdict))},
          {"reason", one.outcome.reason},
          {"detail", one.outcome.detail},
          {"sent", std::move(sent)}};
}

int try_form(const GlobalOptions& options, const FormOptions& form, bool whole) {
  Sink sink;
  const auto asking = begin_asking(options, sink.stand_in());
  if (!asking) return 1;
  const auto all = rehearse(*asking, form, sink);
  if (!all) return 1;
  Json list = Json::array();
  bool good = true;
  for (const auto& one : *all) {
    good = good && (one.outcome.verdict == Verdict::accepted || one.outcome.verdict == Verdict::deferred);
    if (options.json)
      list.push_back(json_of(one, whole));
    else
      print(one, whole);
  }
  if (options.json) print_json({{"actions", std::move(list)}});
  return good ? 0 : 1;
}

}  // namespace

int preview_form(const GlobalOptions& options, const FormOptions& form) { return try_form(options, form, true); }
int simulate_form(const GlobalOptions& options, const FormOptions& form) { return try_form(options, form, false); }

}  // namespace waybill
