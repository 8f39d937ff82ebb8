// Reads targets field by field. A problem names the field's path and line, and the target when it has a name.
#include "registry/targets_file.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "base/json_document.h"
#include "base/names.h"
#include "domain/time_limit.h"
#include "registry/target_url.h"

namespace waybill {
namespace {

using Kind = JsonNode::Kind;

constexpr std::array<std::string_view, 2> kFileFields{"targets", "$schema"};
constexpr std::array<std::string_view, 16> kTargetFields{
    "submissionTarget", "gatewayType", "gatewayUrl", "policy",  "maxAcceptanceSeconds", "maxAttempts", "terminalOutcomes",
    "destination",      "rate",        "timeout",    "ca_file", "client_certificate",   "client_key",  "tls_min",
    "insecure",         "countOutages"};

std::string list_of_policies() {
  return list_of(std::array{to_string(Policy::deadline), to_string(Policy::max_attempts), to_string(Policy::one_shot)});
}

bool is_blank(std::string_view text) { return text.find_first_not_of(' ') == std::string_view::npos; }

// The deepest value on a plugin's path into a JSON object, such as headers.X-A or recipients[1].
const JsonNode& nearest(const JsonNode& from, std::string_view path) {
  const JsonNode* at = &from;
  while (!path.empty()) {
    const auto end = std::min(path.find_first_of(".[", 1), path.size());
    auto step = path.substr(0, end);
    path.remove_prefix(end);
    const JsonNode* next = nullptr;
    if (step.front() == '[') {
      const auto index = step.substr(1, step.find(']') - 1);
      for (std::size_t i = 0; i < at->children.size() && at->kind == Kind::array; ++i)
        if (std::to_string(i) == index) next = &at->children[i];
    } else {
      if (step.front() == '.') step.remove_prefix(1);
      next = at->find(step);
    }
    if (!next) break;
    at = next;
  }
  return *at;
}

// Reads one target; made for that.
class TargetReader {
 public:
  TargetReader(const JsonNode& target, std::string path, const std::string& file, const ActionTypes& types, Problems& problems,
               Problems* absent)
      : target_(target), path_(std::move(path)), file_(file), types_(types), problems_(problems), absent_(absent) {
    const auto* name = target_.find("submissionTarget");
    if (name && name->text() && !name->text()->empty()) prefix_ = "target " + in_quotes(*name->text()) + ": ";
  }

  Contract read();
  TargetTransport read_transport() const;
  std::optional<Millis> read_time_limit() const;
  // Reports a problem with one of the fields, or with a path inside it.
  void report(std::string_view field, std::string message, const JsonNode* at = nullptr, std::string_view inside = {}) const;

 private:
  const std::string* required_text(std::string_view field, std::string_view what) const;
  void read_name(Contract& contract) const;
  void read_type(Contract& contract);
  void read_url(Contract& contract) const;
  void read_policy(Contract& contract) const;
  std::optional<std::int64_t> read_bound(std::string_view field, Policy owner, Policy chosen, std::int64_t most) const;
  void read_outcomes(Contract& contract) const;
  void check_outcome(const JsonNode& outcome, std::size_t index, Contract& contract) const;
  void read_destination(Contract& contract) const;
  void read_rate(Contract& contract) const;
  void read_count_outages(Contract& contract) const;

  const JsonNode& target_;
  std::string path_;
  const std::string& file_;
  const ActionTypes& types_;
  Problems& problems_;
  Problems* absent_;
  std::string prefix_;
  const ActionType* type_ = nullptr;  // null when it is not known
};

void TargetReader::report(std::string_view field, std::string message, const JsonNode* at, std::string_view inside) const {
  if (!at) at = target_.find(field);
  const auto path = field_below(field.empty() ? path_ : field_path(path_, field), inside);
  problems_.push_back({file_, at ? at->line : target_.line, path, prefix_ + std::move(message)});
}

const std::string* TargetReader::required_text(std::string_view field, std::string_view what) const {
  const auto* value = target_.find(field);
  if (!value) return report(field, std::string("is missing: ").append(what)), nullptr;
  if (!value->text()) return report(field, std::string("must be a string: ").append(what)), nullptr;
  return value->text();
}

Contract TargetReader::read() {
  for (const auto& field : target_.children)
    if (std::find(kTargetFields.begin(), kTargetFields.end(), field.key) == kTargetFields.end())
      report(field.key, "unknown field (known here: " + list_of(kTargetFields) + ")", &field);
  Contract contract;
  read_name(contract);
  read_type(contract);
  read_url(contract);
  read_policy(contract);
  read_outcomes(contract);
  read_destination(contract);
  read_rate(contract);
  read_count_outages(contract);
  return contract;
}

void TargetReader::read_name(Contract& contract) const {
  const auto* name = required_text("submissionTarget", "the target's name");
  if (!name) return;
  if (is_blank(*name)) return report("submissionTarget", "must not be empty");
  if (name->size() > kMaxTargetNameLength)
    return report("submissionTarget", "must not be longer than " + std::to_string(kMaxTargetNameLength) + " bytes");
  if (has_control_character(*name)) return report("submissionTarget", "must not hold control characters");
  contract.target = *name;
}

void TargetReader::read_type(Contract& contract) {
  const auto names = types_.names();
  const auto known = names.empty() ? "no plugin is loaded" : "loaded: " + list_of(names);
  const auto* type = required_text("gatewayType", "the action type (" + known + ")");
  if (!type) return;
  type_ = types_.find(*type);
  contract.action_type = *type;
  if (!type_) {
    report("gatewayType", "unknown action type " + in_quotes(*type) + " (" + known + ")");
    if (!absent_) return;
    absent_->push_back(std::move(problems_.back()));
    problems_.pop_back();
    return;
  }
  for (const auto& reason : type_->reasons)
    if (reason.duplicate) contract.duplicate_reasons.push_back(reason.name);
}

void TargetReader::read_url(Contract& contract) const {
  const auto* url = required_text("gatewayUrl", "where to send, an http or https URL");
  if (!url) return;
  if (const auto problem = url_problem(*url)) return report("gatewayUrl", *problem);
  contract.url = *url;
}

void TargetReader::read_policy(Contract& contract) const {
  const auto* word = required_text("policy", "one of " + list_of_policies());
  if (!word) return;
  const auto policy = policy_from(*word);
  if (!policy) return report("policy", "unknown policy " + in_quotes(*word) + " (one of " + list_of_policies() + ")");
  contract.policy = *policy;
  const auto seconds = read_bound("maxAcceptanceSeconds", Policy::deadline, *policy, kMaxAcceptanceSeconds);
  const auto attempts = read_bound("maxAttempts", Policy::max_attempts, *policy, kMaxAttempts);
  contract.max_acceptance = Seconds{seconds.value_or(0)};
  contract.max_attempts = static_cast<std::uint32_t>(attempts.value_or(0));
}

// A field that belongs to one policy: required there, forbidden elsewhere.
std::optional<std::int64_t> TargetReader::read_bound(std::string_view field, Policy owner, Policy chosen,
                                                     std::int64_t most) const {
  const auto* value = target_.find(field);
  const auto policy = std::string("policy ").append(to_string(chosen));
  const auto allowed = "a whole number from 1 to " + std::to_string(most);
  if (chosen != owner) {
    if (value) report(field, "must be left out with " + policy + ": it belongs to policy " + std::string(to_string(owner)));
    return std::nullopt;
  }
  if (!value) return report(field, "is missing: " + policy + " needs " + allowed), std::nullopt;
  const auto* number = std::get_if<std::uint64_t>(&value->scalar);
  if (!number || *number < 1 || *number > static_cast<std::uint64_t>(most))
    return report(field, "must be " + allowed), std::nullopt;
  return static_cast<std::int64_t>(*number);
}

void TargetReader::read_outcomes(Contract& contract) const {
  constexpr auto kField = "terminalOutcomes";
  const auto* outcomes = target_.find(kField);
  if (!outcomes) return report(kField, "is missing: the list of reasons that end a submission");
  if (outcomes->kind != Kind::array) return report(kField, "must be a list of strings");
  if (outcomes->children.empty()) return report(kField, "must not be empty");
  for (std::size_t i = 0; i < outcomes->children.size(); ++i) check_outcome(outcomes->children[i], i, contract);
}

void TargetReader::check_outcome(const JsonNode& outcome, std::size_t index, Contract& contract) const {
  const auto refuse = [&](std::string message) {
    report("terminalOutcomes", std::move(message), &outcome, field_path("", index));
  };
  const auto* word = outcome.text();
  if (!word) return refuse("must be a string");
  if (is_blank(*word)) return refuse("must not be empty");
  if (*word == "accepted") return refuse("accepted is always an end and must not be listed");
  auto& listed = contract.terminal_outcomes;
  if (std::find(listed.begin(), listed.end(), *word) != listed.end()) return refuse(in_quotes(*word) + " is listed twice");
  listed.push_back(*word);
  if (!type_) return;
  std::vector<std::string> allowed;
  for (const auto& reason : type_->reasons) allowed.push_back(reason.name);
  if (std::find(allowed.begin(), allowed.end(), *word) != allowed.end()) return;
  refuse(in_quotes(*word) + " is no reason of action type " + type_->name +
         (allowed.empty() ? " (it declares none)" : " (one of " + list_of(allowed) + ")"));
}

void TargetReader::read_destination(Contract& contract) const {
  constexpr auto kField = "destination";
  const auto* given = target_.find(kField);
  JsonNode whole{.kind = Kind::object};
  if (given) {
    if (given->kind != Kind::object) return report(kField, "must be an object with further fields for the plugin");
    if (const auto* url = given->find("url")) return report(kField, "must not hold a url: gatewayUrl is it", url, "url");
    whole.children = given->children;
  }
  if (contract.url.empty()) return;  // already reported
  whole.children.push_back({.kind = Kind::text, .key = "url", .scalar = contract.url});
  contract.destination = to_json(whole);
  if (!type_) return;
  for (const auto& problem : types_.check_destination(contract.action_type, contract.destination)) {
    if (problem.field == "url")
      report("gatewayUrl", problem.message);
    else if (given)
      report(kField, problem.message, &nearest(*given, problem.field), problem.field);
    else
      report(kField, problem.message, &target_, problem.field);
  }
}

void TargetReader::read_rate(Contract& contract) const {
  const auto* rate = target_.find("rate");
  if (!rate) return;
  if (rate->text()) contract.rate = rate_from(*rate->text());
  if (!contract.rate)
    report("rate", "must be a count from 1 to " + std::to_string(kMaxRateCount) +
                       " and a second, a minute or an hour: \"10/s\", \"600/m\" or \"5000/h\"");
}

void TargetReader::read_count_outages(Contract& contract) const {
  const auto* counts = target_.find("countOutages");
  if (!counts) return;
  const auto* flag = std::get_if<bool>(&counts->scalar);
  if (!flag) return report("countOutages", "must be true or false");
  contract.count_outages = *flag;
}

std::optional<Millis> TargetReader::read_time_limit() const {
  const auto* timeout = target_.find("timeout");
  if (!timeout) return std::nullopt;
  if (const auto limit = timeout->text() ? time_limit_from(*timeout->text()) : std::nullopt) return limit;
  report("timeout", std::string(kTimeLimitRule));
  return std::nullopt;
}

TargetTransport TargetReader::read_transport() const {
  TargetTransport out{.place = {file_, target_.line, path_, ""}};
  const auto folder = std::filesystem::path(file_).parent_path();
  for (const auto& field : target_.children) {
    if (!is_transport_field(field.key)) continue;
    TransportValue given;
    if (const auto* text = field.text()) given.text = *text;
    if (field.kind == Kind::number) given.text = to_json(field);
    if (const auto* flag = std::get_if<bool>(&field.scalar)) given.flag = *flag;
    if (!out.rules) out.rules.emplace();
    if (auto fault = take_transport_field(*out.rules, field.key, given, folder)) report(field.key, std::move(*fault), &field);
  }
  return out;
}

}  // namespace

tl::expected<std::vector<Contract>, Problems> read_targets(std::string_view text, const std::string& file,
                                                           const ActionTypes& types, Problems* absent,
                                                           TargetTransports* transports, TimeLimits* limits, EmptyTargets empty) {
  const auto document = parse_json(text, file);
  TRY(document);
  if (document->kind != Kind::object)
    return tl::unexpected(Problems{{file, document->line, "", "must be an object: {\"targets\": [...]}"}});
  Problems problems;
  for (const auto& field : document->children)
    if (std::find(kFileFields.begin(), kFileFields.end(), field.key) == kFileFields.end())
      problems.push_back(
          {file, field.line, field_path("", field.key), "unknown field (known here: " + list_of(kFileFields) + ")"});
  if (const auto* schema = document->find("$schema"); schema && !schema->text())
    problems.push_back({file, schema->line, "$schema", "must be a string"});

  const auto* targets = document->find("targets");
  const bool is_list = targets && targets->kind == Kind::array;
  if (!is_list || (targets->children.empty() && empty == EmptyTargets::refuse)) {
    problems.push_back({file, targets ? targets->line : document->line, "targets",
                        is_list   ? "must hold at least one target, unless there are channels (notify.key in the configuration)"
                        : targets ? "must be a list of targets"
                                  : "is missing: the list of targets, at least one"});
    return tl::unexpected(std::move(problems));
  }

  std::vector<Contract> contracts;
  std::map<std::string, std::size_t, std::less<>> names;
  for (std::size_t i = 0; i < targets->children.size(); ++i) {
    const auto& target = targets->children[i];
    const auto path = "targets[" + std::to_string(i) + "]";
    if (target.kind != Kind::object) {
      problems.push_back({file, target.line, path, "must be an object"});
      continue;
    }
    TargetReader reader(target, path, file, types, problems, absent);
    auto contract = reader.read();
    auto transport = reader.read_transport();
    if (const auto limit = reader.read_time_limit(); limit && limits != nullptr) limits->emplace(contract.target, *limit);
    const auto [first, is_new] = names.try_emplace(contract.target, i);
    if (!is_new && !contract.target.empty())
      reader.report("submissionTarget", "this name is taken by targets[" + std::to_string(first->second) + "] (line " +
                                            std::to_string(targets->children[first->second].line) + ")");
    if (transports != nullptr) transports->emplace(contract.target, std::move(transport));
    contracts.push_back(std::move(contract));
  }
  if (!problems.empty()) return tl::unexpected(std::move(problems));
  return contracts;
}

}  // namespace waybill
