// Checks of how a sender is made, and of what it offers.
#include <cstring>

#include "check.h"
#include "library.h"
#include "measures.h"
#include "rehearsal.h"

namespace waybill::conformance {
namespace {

constexpr const char* kExtensions[] = {WB_COMPOSE_EXTENSION, WB_STATUS_EXTENSION, WB_PROBE_EXTENSION, WB_FAILURES_EXTENSION};

void find_breaches(Subject& subject, const CheckHost& host, Violation kind, std::string_view during = {}) {
  for (const auto& [what, words] : host.breaches())
    if (what == kind) subject.findings.found(words, during);
}

void create_is_quiet(Subject& subject) {
  CheckHost host(*subject.action, subject.findings);
  subject.findings.doing("create");
  const SideEffects effects;
  host.create(subject.sample.settings);
  if (const auto effect = effects.any(subject.blocking()); !effect.empty()) subject.findings.found("create " + effect);
  find_breaches(subject, host, Violation::in_create);
}

constexpr const char* kWrongSettings[] = {"",    "{", "[]", "null", "{\"no_such_setting\":true}", "{\"timeout_ms\":\"soon\"}",
                                          "\xff"};

void create_refuses(Subject& subject) {
  for (const auto* const settings : kWrongSettings) {
    CheckHost host(*subject.action, subject.findings);
    if (host.create(settings) || host.made_sender() || host.create_threw()) continue;
    if (host.refusal().empty() || host.refusal().front().empty())
      subject.findings.found("create returned null without telling why", std::string("given the settings ") + settings);
  }
}

void sender_table(Subject& subject) {
  CheckHost host(*subject.action, subject.findings);
  host.create(subject.sample.settings);
  if (host.made_sender() && !host.has_whole_table())
    subject.findings.found("create made a sender without all of send, cancel, get_extension and destroy");
}

void unknown_extension(Subject& subject) {
  const auto host = host_for(subject);
  if (!host) return;
  for (const auto* const id : {"", "waybill.nothing/1", "waybill.compose/9", "compose", "waybill.compose/1 ", "\xff"})
    if (host->extension(id) != nullptr)
      subject.findings.found(std::string("get_extension knows an extension \"") + id + "\", which does not exist");
}

void extension_tables(Subject& subject) {
  const auto host = host_for(subject);
  if (!host) return;
  for (const auto* const id : kExtensions) {
    const void* const table = host->extension(id);
    if (table == nullptr) continue;
    if (*static_cast<void* const*>(table) == nullptr)
      subject.findings.found(std::string(id) + " is a table without its function");
    if (host->extension(id) != table) subject.findings.found(std::string(id) + " is another table when it is asked for again");
  }
}

void exceptions(Subject& subject) {
  const auto create_with = [&](const std::string& settings) {
    CheckHost host(*subject.action, subject.findings);
    const bool usable = host.create(settings);
    find_breaches(subject, host, Violation::threw);
    return usable;
  };
  for (const auto* const settings : kWrongSettings) create_with(settings);
  if (!create_with(subject.sample.settings)) return;
  if (!sample_is_good(subject))
    return subject.findings.skipped("the sample is refused (see the check samples); create was tried");
  rehearse_all(subject, [](Subject& one, const Rehearsal& run) { find_breaches(one, *run.host, Violation::threw, run.during); });
  auto cancelled = rehearse(subject);
  if (!cancelled) return;
  auto& host = *cancelled->host;
  const auto job = sample_job(subject, host);
  if (!job) return;
  host.script([](std::uint64_t, std::size_t) { return silence(); });
  host.cancel(host.begin(CallKind::send, *job));
  host.run();
  host.destroy();
  find_breaches(subject, host, Violation::threw, "cancelled");
}

constexpr Check kChecks[] = {
    {"create_is_quiet", "create opens, reads, starts and sends nothing", "begin with the first send", Needs::action,
     &create_is_quiet},
    {"create_refuses", "create that returns null tells why", "call report() before you return null", Needs::action,
     &create_refuses},
    {"sender_table", "a sender comes with all four functions", "write *vt with a whole table", Needs::action, &sender_table},
    {"unknown_extension", "an extension that the sender does not know is null", "compare the whole id, and return null otherwise",
     Needs::sender, &unknown_extension},
    {"extension_tables", "the extensions that it offers are whole and stay the same", "return the address of one constant table",
     Needs::sender, &extension_tables},
    {"exceptions", "no exception leaves the plugin", "catch in every function that the host calls; the C++ wrapper does",
     Needs::action, &exceptions},
};

}  // namespace

std::span<const Check> sender_checks() { return kChecks; }

}  // namespace waybill::conformance
