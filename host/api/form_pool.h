// The sessions in which the routes of forms, pipelines, dead letters, organisations and operators do their work.
#pragma once

#include <memory>

#include "api/session_pool.h"
#include "store/forms/form_store.h"
#include "store/operations/backlog_store.h"
#include "store/operations/dead_store.h"
#include "store/operations/failed_store.h"
#include "store/operations/host_store.h"
#include "store/operations/proof_store.h"
#include "store/operations/registry_version_store.h"
#include "store/operations/target_store.h"
#include "store/operations/waiting_store.h"
#include "store/organisations/org_store.h"
#include "store/pipelines/pipeline_store.h"

namespace waybill {

struct FormSession {
  std::unique_ptr<FormStore> forms;
  std::unique_ptr<DeadStore> dead;
  std::unique_ptr<OrgStore> orgs;
  std::unique_ptr<PipelineStore> pipelines;
  std::unique_ptr<TargetStore> targets;
  std::unique_ptr<FailedStore> failed;
  std::unique_ptr<HostStore> hosts;
  std::unique_ptr<RegistryVersionStore> registries;
  std::unique_ptr<ProofStore> proofs;
  std::unique_ptr<BacklogStore> backlog;
  std::unique_ptr<WaitingStore> waiting;
};
using FormPool = SessionPool<FormSession>;

}  // namespace waybill
