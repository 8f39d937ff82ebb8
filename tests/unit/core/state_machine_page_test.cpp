// docs/state-machine.md is printed from the table of moves: this test holds the page against it.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "unit/core/state_machine.h"

namespace waybill {
namespace {

constexpr const char* kUpdate = "WAYBILL_TEST_UPDATE_DOCS";

std::string_view meaning(Status status) {
  switch (status) {
    case Status::waiting:
      return "not its turn yet, or its attachments are not ready";
    case Status::open:
      return "still gathering events (the debounce window)";
    case Status::due:
      return "to be attempted from its due time on";
    case Status::claimed:
      return "in the hands of one host, until its lease runs out";
    case Status::accepted:
      return "the receiver took responsibility";
    case Status::rejected:
      return "the receiver refused, for a reason that the contract lists as terminal";
    case Status::exhausted:
      return "the contract's policy ended without either, or three hosts died with it (`worker_lost`)";
    case Status::deferred:
      return "nothing to send for now, by the operator's choice";
    case Status::cancelled:
      return "given up before an attempt";
  }
  return "";
}

std::string_view meaning(Event event) {
  switch (event) {
    case Event::ready:
      return "its turn has come";
    case Event::claim:
      return "a host takes it, to attempt it now";
    case Event::release:
      return "the host gives it back unattempted";
    case Event::retry:
      return "the attempt brought no end, and the contract allows another";
    case Event::lease_lost:
      return "the host that held it is gone";
    case Event::accept:
      return "the receiver accepted, in time";
    case Event::reject:
      return "the receiver rejected with a terminal reason";
    case Event::exhaust:
      return "the contract allows no further attempt";
    case Event::defer:
      return "the sender has nothing to do for now";
    case Event::cancel:
      return "whoever owns it takes it back";
  }
  return "";
}

std::string page() {
  std::ostringstream text;
  text << "# The life of a delivery\n\n"
          "Made from `kTransitions` in `host/core/status.h`; do not edit. A test compares this page with the table, and with\n"
          "`"
       << kUpdate << "=1` in its environment writes it anew (`" << kUpdate
       << "=1 build/dev/tests/unit_core`).\n"
          "Nothing but these moves changes a status. The database refuses every other move as well.\n\n"
          "```mermaid\nstateDiagram-v2\n";
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
  return text.str();
}

TEST(StateMachinePage, SaysWhatTheTableOfMovesSays) {  // M6
  const std::string file = WAYBILL_SOURCE_DIR "/docs/state-machine.md";
  if (const char* update = std::getenv(kUpdate); update != nullptr && std::string_view(update) == "1")
    std::ofstream(file) << page();
  std::ostringstream found;
  found << std::ifstream(file).rdbuf();
  EXPECT_EQ(found.str(), page()) << "docs/state-machine.md does not say what the table of moves says. Run this test with "
                                 << kUpdate << "=1 to write it anew.";
}

}  // namespace
}  // namespace waybill
