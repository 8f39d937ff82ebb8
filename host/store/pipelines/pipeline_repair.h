// Orders of an operator about submissions of pipelines that are blocked, and what became of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "store/pipelines/pipeline_view.h"

namespace waybill {

struct PipelineRepair {
  enum class Kind : std::uint8_t {
    rerun,  // from a state on
    skip,   // the present state's failed actions count as done
    end     // in a terminal state, whose actions do not run
  };
  Kind kind = Kind::rerun;
  std::string from{};                  // the present state; "": any
  std::string state{};                 // rerun: from which on, "": the present one; end: in which, "": the only terminal one
  std::string action{};                // rerun: whose input it is; "": there is only one that can be meant
  std::optional<std::string> input{};  // rerun: JSON that the action is sent
  std::string result{};                // skip: JSON, of several actions an object by their names; "": none
  std::string comment{};
  std::string actor{};
  bool dry_run = false;
};
std::string_view to_string(PipelineRepair::Kind kind);

// Blocked submissions. With ids: these and no others.
struct RepairFilter {
  std::vector<std::string> ids{};
  std::string pipeline{};
  std::optional<std::string> state{}, reference{}, reason{};  // reason: of a dead letter that nobody has replayed
};
inline constexpr std::size_t kMaxRepairs = 1000;  // in one call

struct Repairs {
  struct Item {
    std::string client_ref;
    std::string state{};    // from then on, or in a dry run what it would be
    std::string refused{};  // why nothing happened; "": it did
    bool is_known = true;
  };
  std::vector<Item> items;
  std::size_t count = 0;  // of those that were repaired
  bool more = false;      // more match
  std::vector<PipelineMoved> moves{};
};

}  // namespace waybill
