// A pipeline as data: states, what each runs, and the transitions between them. docs/pipelines.md is its specification.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "domain/guard.h"
#include "domain/retry_timing.h"

namespace waybill {

enum class ActorKind : std::uint8_t { system, worker, admin };
std::string_view to_string(ActorKind actor);

// How often an action is tried, instead of what its target says.
struct ActionRetry {
  std::uint32_t attempts = 1;
  std::optional<RetryTiming> timing{};               // none: that of its action type
  std::map<std::string, std::uint32_t> by_reason{};  // attempts where the last one failed for this reason
};

// One delivery that a state makes.
struct PipelineAction {
  std::string name;    // of its result, where the state has several
  std::string target;  // of the registry
  std::string input;   // JSON pointer into the facts; "": all of them
  Guard when{};        // else it is left out
  std::optional<ActionRetry> retry{};
  std::optional<Millis> timeout{};  // of an attempt; none: that of the target
  int line = 0;
};

// Another submission that a state begins.
struct PipelineStart {
  std::string pipeline;
  std::string payload;  // JSON pointer into the facts
  Guard when{};
  int line = 0;
};

// When an action begins: each when the one before was accepted; all at once; each when the one before was attempted.
enum class ActionOrder : std::uint8_t { in_order, parallel, attempted };

struct PipelineState {
  std::string name;
  bool terminal = false;
  ActionOrder order = ActionOrder::in_order;
  bool own_actions = false;  // built-in pipelines: the actions are those of the target or the form
  std::vector<PipelineAction> actions{};
  std::vector<PipelineStart> starts{};
  int line = 0;
};

struct PipelineTransition {
  std::string from, to;
  std::string trigger;
  ActorKind actor = ActorKind::system;
  bool on_failure = false;  // taken when an action of the state failed for good; else when all are done
  std::string event{};      // built-in pipelines: taken when that happens, such as "retention"
  bool otherwise = false;   // taken when no other one is
  Guard when{};
  std::string role = "admin";                            // the least that a person needs; actor admin only
  std::vector<std::pair<std::string, Term>> metadata{};  // of its audit event
  std::string audit = "state_changed";                   // what the audit calls it
  std::string reason{};                                  // of the submission from then on
  std::string description{};
  int line = 0;

  bool is_automatic() const { return actor != ActorKind::admin && event.empty(); }
};

// How long a submission may take between entering one state and leaving another, or the same.
struct ServiceLevel {
  std::string name;
  std::string from;                   // a state; "": the submission's beginning
  std::vector<std::string> to{};      // entering one of them ends the time; empty: leaving `from`
  std::vector<std::string> except{};  // states whose submissions do not count
  Millis target{0};
  Millis p95{0};
};

// A number for monitoring that the pipeline declares under a name of its own.
struct PipelineMetric {
  enum class Kind : std::uint8_t { duration, rate };
  std::string name;
  Kind kind = Kind::rate;
  std::string state;  // duration: time spent in it; rate: share of submissions that came to it, of all that left the beginning
};

struct Pipeline {
  std::string name;
  std::string description;
  std::string path;            // "/forms": each post there begins one; or ""
  std::string submit_trigger;  // of the first audit event
  Term reference;              // by which its submissions are found
  std::string initial;
  std::map<std::string, std::vector<std::string>> lists;
  std::vector<PipelineState> states;  // as in the file
  std::vector<PipelineTransition> transitions;
  std::vector<PipelineMetric> metrics;
  std::vector<ServiceLevel> levels;

  const PipelineState* find(std::string_view state) const;
};

inline constexpr std::size_t kMaxPipelineStates = 100;
inline constexpr std::size_t kMaxPipelineTransitions = 1000;
inline constexpr std::size_t kMaxStateActions = 20;
inline constexpr std::uint32_t kMaxSteps = 1000;  // states that one submission may enter

// Mermaid's stateDiagram-v2.
std::string diagram_of(const Pipeline& pipeline);

}  // namespace waybill
