// docs/state-machine.md is printed from the tables of moves: this test holds the page against them.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "domain/builtin_pipelines.h"
#include "unit/domain/state_machine.h"

namespace waybill {
namespace {

constexpr const char* kUpdatePage = "WAYBILL_TEST_UPDATE_DOCS";

std::string_view meaning(Status status) {
  switch (status) {
    case Status::waiting:
      return "waits for its turn, or for its attachments";
    case Status::open:
      return "still collecting events (the debounce window)";
    case Status::due:
      return "may be attempted from its due time on";
    case Status::claimed:
      return "held by one host until its lease ends";
    case Status::accepted:
      return "the destination took responsibility";
    case Status::rejected:
      return "the destination refused, for a reason that the contract lists as terminal";
    case Status::exhausted:
      return "the contract's policy ended it without either, or three hosts died inside its plugin (`worker_lost`)";
    case Status::deferred:
      return "nothing to send for now, by the operator's choice (forms only)";
    case Status::cancelled:
      return "cancelled before an attempt";
  }
  return "";
}

std::string_view meaning(Event event) {
  switch (event) {
    case Event::ready:
      return "its turn has come";
    case Event::claim:
      return "a host takes it to attempt it now";
    case Event::release:
      return "the host gives it back without an attempt";
    case Event::retry:
      return "the attempt did not end it, and the contract allows another";
    case Event::lease_lost:
      return "the host that held it is gone, or its lease ended";
    case Event::accept:
      return "the destination accepted in time";
    case Event::reject:
      return "the destination rejected with a terminal reason";
    case Event::exhaust:
      return "the contract allows no further attempt";
    case Event::defer:
      return "the plugin has nothing to do for now";
    case Event::cancel:
      return "its owner cancels it";
  }
  return "";
}

void write_deliveries(std::ostream& text) {
  text << "```mermaid\nstateDiagram-v2\n";
  for (const auto& t : kTransitions)
    text << "  " << to_string(t.from) << " --> " << to_string(t.to) << ": " << to_string(t.on) << "\n";
  for (const Status status : kStatuses)
    if (is_end(status)) text << "  " << to_string(status) << " --> [*]\n";
  text << "```\n\n| from | event | to | when |\n| --- | --- | --- | --- |\n";
  for (const auto& t : kTransitions)
    text << "| " << to_string(t.from) << " | " << to_string(t.on) << " | " << to_string(t.to) << " | " << meaning(t.on) << " |\n";
  text << "\n| status | end | meaning |\n| --- | --- | --- |\n";
  for (const Status status : kStatuses)
    text << "| " << to_string(status) << " | " << (is_end(status) ? "yes" : "") << " | " << meaning(status) << " |\n";
}

void write_submissions(std::ostream& text) {
  text << "\n## The states of a submission\n\n"
          "Generated from the built-in pipelines in `host/domain/pipelines/`, which `waybill pipeline show` prints as well. An "
          "intent has "
          "one\n"
          "delivery; a form's submission has one for each action and each replay. Their ends move the submission. The pipelines "
          "of the\n"
          "sample registry are drawn in [pipelines-shipped.md](pipelines-shipped.md).\n";
  for (const auto& pipeline : builtin_pipelines()) {
    text << "\n```mermaid\n" << diagram_of(pipeline) << "```\n\n| pipeline | from | to | when |\n| --- | --- | --- | --- |\n";
    for (const auto& m : pipeline.transitions)
      text << "| " << pipeline.name << " | " << m.from << " | " << m.to << " | " << m.description << " |\n";
  }
}

std::string state_machine_page() {
  std::ostringstream text;
  text
      << "# The life of a delivery\n\n"
         "Generated from `kTransitions` in `host/domain/status.h`; do not edit. A test compares this page with the tables. With\n"
         "`"
      << kUpdatePage << "=1` in its environment it rewrites the page (`" << kUpdatePage
      << "=1 build/dev/tests/unit_domain`).\n"
         "Only these moves change a status. The database refuses every other move as well.\n\n";
  write_deliveries(text);
  write_submissions(text);
  return text.str();
}

TEST(StateMachinePage, SaysWhatEachMoveOfASubmissionMeans) {  // F1
  for (const auto& pipeline : builtin_pipelines())
    for (const auto& move : pipeline.transitions)
      EXPECT_NE(move.description, "") << pipeline.name << ": " << move.from << " -> " << move.to;
}

TEST(StateMachinePage, SaysWhatTheTablesOfMovesSay) {  // M6 F1
  const std::string file = WAYBILL_SOURCE_DIR "/docs/state-machine.md";
  if (const char* update = std::getenv(kUpdatePage); update != nullptr && std::string_view(update) == "1")
    std::ofstream(file) << state_machine_page();
  std::ostringstream found;
  found << std::ifstream(file).rdbuf();
  EXPECT_EQ(found.str(), state_machine_page())
      << "docs/state-machine.md does not say what the tables of moves say. Run this test with " << kUpdatePage
      << "=1 to write it anew.";
}

}  // namespace
}  // namespace waybill
