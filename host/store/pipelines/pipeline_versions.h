// Versions of pipelines in the database: stored once for each content, and kept in memory once they were read.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "domain/pipeline_definition.h"
#include "store/pg/pg.h"

namespace waybill {

struct PipelineVersion {
  int id = 0;
  int number = 0;  // of this pipeline
  std::shared_ptr<const PipelineDefinition> definition;
};

// One for each session; one thread at a time. A version never changes.
class PipelineVersions {
 public:
  // Stores it, and those that it starts, where they are not stored yet. Needs a session of the application, not a tenant's.
  Result<PipelineVersion> store(Link& link, const std::shared_ptr<const PipelineDefinition>& definition);
  Result<PipelineVersion> read(Connection& connection, int id);
  Result<PipelineVersion> find(Connection& connection, const std::string& hash_in_hex);

 private:
  std::map<int, PipelineVersion> by_id_;
  std::map<std::string, int> ids_;  // by hash in hex
};

// Stores one version alone, in the transaction that the connection is in, unless it is stored already. Answers its id.
Result<int> store_pipeline_version(Connection& connection, const PipelineDefinition& definition);

}  // namespace waybill
