// Which blocked submissions of pipelines an order is about, and what became of them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "store/pipelines/pipeline_view.h"

namespace waybill {

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
