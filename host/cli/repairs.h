// `waybill pipeline rerun|skip|end`: ways out for submissions of pipelines that are blocked. No host need run.
#pragma once

#include <string>
#include <vector>

#include "app/installation.h"
#include "domain/pipeline_decisions.h"
#include "store/pipelines/pipeline_repair.h"

namespace waybill {

struct RepairOptions {
  std::string org = "default";
  std::vector<std::string> ids;  // which; else the filter below
  std::string pipeline, from, reference, reason;
  bool all = false;
  std::string state, action;
  std::string input, result;  // files, or - for standard input
  std::string comment;
  std::string actor;  // for the audit; "" for the user's name
  bool dry_run = false;
};

int repair_pipelines(const GlobalOptions& options, const RepairOptions& repair, PipelineRepair::Kind kind);

}  // namespace waybill
