// Submissions of pipelines as the wire has them: requests read strictly, views written.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json_writer.h"
#include "base/public_ids.h"
#include "domain/pipeline_decisions.h"
#include "domain/pipeline_definition.h"
#include "store/pipelines/pipeline_repair.h"
#include "store/pipelines/pipeline_view.h"

namespace waybill {

struct PipelineRequest {
  std::string submission_id;
  std::string payload;   // the very bytes of the value
  std::string metadata;  // a JSON object
  Terms terms{};
};
// Both: Error::invalid with a message for the client, which names the field.
Result<PipelineRequest> read_pipeline_request(std::string_view body);
// A post to /forms: its payload has answers and metadata. Without a submissionId it gets one that nobody has.
Result<PipelineRequest> read_forms_request(std::string_view body);
Result<ManualTransition> read_transition(std::string_view body);
// About one submission, or about those of a pipeline that a filter finds.
struct RepairRequest {
  PipelineRepair order;
  RepairFilter filter{};
};
Result<RepairRequest> read_repair(std::string_view body);
Result<RepairRequest> read_repairs(std::string_view body);
std::string repairs_json(const Repairs& repairs, bool dry_run);

std::string pipeline_view_json(const PipelineView& view, const PublicIds& ids = {});
// One pipeline's numbers, for GET /v1/stats.
struct PipelineStats {
  std::shared_ptr<const PipelineDefinition> definition;
  PipelineShares shares;
  std::vector<LevelMeasure> levels;  // in the order of the pipeline's
};
std::string stats_json(const std::vector<PipelineCount>& counts, const std::vector<PipelineStats>& stats);

Json pipeline_item(const PipelineListItem& item);  // of a list
// A page, and where the next one begins; `more`: there is one.
std::string pipeline_list_json(const PipelinePage& page, const PublicIds& ids = {});

}  // namespace waybill
