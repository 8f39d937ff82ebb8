// The states of a submission, as data: between which of them each pipeline may move. The database holds the same rows.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace waybill {

struct PipelineMove {
  std::string_view pipeline;
  std::string_view from;
  std::string_view to;
  bool operator==(const PipelineMove&) const = default;
};

inline constexpr std::array kPipelineMoves{
    PipelineMove{"intent", "pending", "accepted"},  PipelineMove{"intent", "pending", "rejected"},
    PipelineMove{"intent", "pending", "exhausted"}, PipelineMove{"form", "received", "processing"},
    PipelineMove{"form", "received", "failed"},     PipelineMove{"form", "received", "purged"},
    PipelineMove{"form", "processing", "routed"},   PipelineMove{"form", "processing", "failed"},
    PipelineMove{"form", "failed", "processing"},  // a dead letter is replayed
    PipelineMove{"form", "routed", "purged"},       PipelineMove{"form", "failed", "purged"},
};

constexpr bool may_move(std::string_view pipeline, std::string_view from, std::string_view to) {
  const PipelineMove move{pipeline, from, to};
  return std::find(kPipelineMoves.begin(), kPipelineMoves.end(), move) != kPipelineMoves.end();
}

static_assert(!may_move("form", "purged", "received") && !may_move("form", "routed", "processing"), "ends have no way out");
static_assert(!may_move("form", "received", "routed"), "nothing is routed that was not processed");

}  // namespace waybill
