// Checks of validate_settings and validate_destination.
#include <nlohmann/json.hpp>

#include "check.h"
#include "hostile_texts.h"
#include "library.h"
#include "measures.h"

namespace waybill::conformance {
namespace {

using Validate = std::int32_t (*)(wb_str, wb_report, void*);

struct Reply {
  std::int32_t returned = 0;
  std::vector<std::pair<std::string, std::string>> reports;
  std::string threw;
  bool operator==(const Reply& other) const {
    return returned == other.returned && reports == other.reports && threw == other.threw;
  }
};

Reply ask(Validate validate, const std::string& json) {
  Reply said;
  const Block text(Memory::forgiving, json);
  const auto take = [](void* user, wb_str path, wb_str message) {
    static_cast<Reply*>(user)->reports.emplace_back(text_of(path).kept, text_of(message).kept);
  };
  try {
    said.returned = validate(text.str(), take, &said);
  } catch (const std::exception& error) {
    said.threw = error.what();
  } catch (...) {
    said.threw = "something that is no std::exception";
  }
  return said;
}

struct Validator {
  const char* name;
  Validate function;
  const std::string& sample;
};

std::vector<Validator> validators_of(const Subject& subject) {
  std::vector<Validator> list;
  if (subject.action->validate_settings)
    list.push_back({"validate_settings", subject.action->validate_settings, subject.sample.settings});
  if (subject.action->validate_destination)
    list.push_back({"validate_destination", subject.action->validate_destination, subject.sample.destination});
  return list;
}

void survive(Subject& subject) {
  for (const auto& [name, function, sample] : validators_of(subject))
    for (const auto& [what, text] : hostile_texts(sample)) {
      subject.findings.doing(std::string(name) + " was given " + what);
      if (const auto said = ask(function, text); !said.threw.empty())
        subject.findings.found(std::string(name) + " threw an exception: " + said.threw, "given " + what);
    }
}

void count(Subject& subject) {
  for (const auto& [name, function, sample] : validators_of(subject))
    for (const auto& [what, text] : wrong_objects(sample)) {
      subject.findings.doing(std::string(name) + " was given " + what);
      const auto said = ask(function, text);
      if (said.threw.empty() && said.returned != static_cast<std::int64_t>(said.reports.size()))
        subject.findings.found(std::string(name) + " returned " + std::to_string(said.returned) + " and reported " +
                                   std::to_string(said.reports.size()) + " problem(s)",
                               "given " + what);
    }
}

void steady(Subject& subject) {
  for (const auto& [name, function, sample] : validators_of(subject))
    for (const auto& [what, text] : wrong_objects(sample)) {
      subject.findings.doing(std::string(name) + " was given " + what);
      const auto first = ask(function, text);
      for (int i = 0; i < 3; ++i)
        if (!(ask(function, text) == first)) {
          subject.findings.found(std::string(name) + " gave another answer for the same bytes", "given " + what);
          break;
        }
    }
}

void pure(Subject& subject) {
  for (const auto& [name, function, sample] : validators_of(subject)) {
    subject.findings.doing(name);
    const SideEffects effects;
    ask(function, sample);
    ask(function, "{}");
    if (const auto effect = effects.any(); !effect.empty()) subject.findings.found(std::string(name) + ' ' + effect);
  }
}

std::vector<const std::string*> payloads_of(const Sample& sample) {
  std::vector<const std::string*> all{&sample.payload};
  for (const auto& one : sample.payloads) all.push_back(&one);
  return all;
}

// What stands between the sample and a sender, in the host's order: each schema, then the plugin's own check.
std::vector<std::string> refusals(Subject& subject) {
  const auto& settings = subject.sample.settings;
  const auto& destination = subject.sample.destination;
  std::vector<std::string> list;
  const std::tuple<const char*, std::string_view, const std::string&, Validate> parts[] = {
      {"settings", view(subject.action->settings_schema), settings, subject.action->validate_settings},
      {"destination", view(subject.action->destination_schema), destination, subject.action->validate_destination}};
  for (const auto& [what, schema, text, validate] : parts) {
    const auto refused = [&list, part = what](const std::string& why) {
      list.push_back(std::string("the sample ") + part + " is refused: " + why);
    };
    if (schema.empty() && text == settings && settings != "{}") refused("without a settings schema there are no settings");
    if (subject.schemas.problems)
      for (const auto& problem : subject.schemas.problems(schema, text)) refused(problem);
    if (!validate) continue;
    subject.findings.doing(std::string("the plugin's own check was given the sample ") + what);
    const auto said = ask(validate, text);
    for (const auto& [path, message] : said.reports) refused((path.empty() ? "" : path + ": ") + message);
    if (said.returned != 0 && said.reports.empty()) refused("the plugin does not say why");
  }
  if (const auto schema = payload_schema_of(*subject.action); !schema.empty() && subject.schemas.problems)
    for (const auto* const payload : payloads_of(subject.sample))
      for (const auto& problem : subject.schemas.problems(schema, *payload))
        list.push_back("the sample payload is refused by the payload schema: " + problem);
  return list;
}

void samples(Subject& subject) {
  const auto list = refusals(subject);
  for (const auto& refusal : list) subject.findings.found(refusal);
  if (!list.empty()) return;
  CheckHost host(*subject.action, subject.findings);
  if (host.create(subject.sample.settings) || host.made_sender() || host.create_threw()) return;
  subject.findings.found("create refused the sample settings" + (host.refusal().empty() ? "" : ": " + host.refusal().front()));
}

constexpr Check kChecks[] = {
    {"samples", "there are settings and a destination that the plugin accepts",
     "give --samples FILE.json with {\"TYPE\": {\"settings\": {...}, \"destination\": {...}, \"payload\": {...}}}, or "
     "`examples` in the destination schema",
     Needs::action, &samples},
    {"validators_survive", "whatever bytes the validators are given, they return",
     "parse without exceptions, bound the depth, and look at types before you use them", Needs::action, &survive},
    {"validators_count", "a validator returns the number of problems that it reported", "count what you report", Needs::action,
     &count},
    {"validators_steady", "a validator gives the same answer for the same bytes", "keep no state in it", Needs::action, &steady},
    {"validators_pure", "a validator opens, reads and starts nothing", "look at the bytes and at nothing else", Needs::action,
     &pure},
};

}  // namespace

bool sample_is_good(Subject& subject) { return refusals(subject).empty(); }

std::span<const Check> validator_checks() { return kChecks; }

}  // namespace waybill::conformance
