// A host with pipelines: the shipped ones, whose services are paths of the gateway, or a test's own.
#pragma once

#include <string>

#include "support/world.h"

namespace waybill::testing {

// Targets verification.tier1, .tier2 and .publish, each a path of the gateway. Stages that failed are tried again at once.
class PipelineWorld : public World {
 protected:
  PipelineWorld();

  // A target of type webhook whose JSON answer is a stage's result.
  nlohmann::json service(const std::string& name, const std::string& path) const;
  // The text of `name`.json of registry/pipelines or registry/staged-jobs/pipelines, with its delays cut short.
  static std::string shipped(const std::string& name);
  static Reply answer(const nlohmann::json& body, int status = 200);

  HttpResponse hand_in(const std::string& pipeline, const std::string& id, const nlohmann::json& payload,
                       const nlohmann::json& metadata = nlohmann::json::object());
  nlohmann::json view_of(const std::string& id);
  std::string state_of(const std::string& id) { return word(view_of(id), "state"); }
  // Waits until the submission is in the state, and returns its view.
  nlohmann::json wait_for_state(const std::string& id, const std::string& state);
  std::size_t calls(const std::string& path) const;  // that came to this path of the gateway
  HttpResponse decide(const std::string& id, const std::string& to, const std::string& trigger);

  std::vector<nlohmann::json> targets;  // of the registry; begin_host() writes them
  void use_targets();
};

}  // namespace waybill::testing
