// Handing in submissions of pipelines and watching them.
#include "support/pipeline_world.h"

#include <algorithm>
#include <stdexcept>

namespace waybill::testing {

using nlohmann::json;

PipelineWorld::PipelineWorld() {
  setup.more = "timeouts: { cooldown: 0ms, outage: 0ms, poll: 20ms }\n";
  for (const char* stage : {"tier1", "tier2", "publish"})
    targets.push_back(service(std::string("verification.") + stage, std::string("/") + stage));
  setup.pipelines["verification.json"] = shipped("verification");
  use_targets();
}

void PipelineWorld::use_targets() { setup.registry = registry_of(targets); }

json PipelineWorld::service(const std::string& name, const std::string& path) const {
  auto made = target(name, "webhook", gateway.url() + path, "max_attempts", 3, {"gone", "client_error"});
  made["destination"] = {{"answer", "json"}, {"errorAt", "/error"}};
  return made;
}

std::string PipelineWorld::shipped(const std::string& name) {
  const std::filesystem::path registry(WAYBILL_TEST_REGISTRY);
  const bool is_sample = std::filesystem::exists(registry / "pipelines" / (name + ".json"));
  auto text = read_file((is_sample ? registry : registry / "staged-jobs") / "pipelines" / (name + ".json"));
  const std::string delay = "\"delay\": \"30s\"";
  for (auto at = text.find(delay); at != std::string::npos; at = text.find(delay, at + 1))
    text.replace(at, delay.size(), "\"delay\": \"10ms\"");
  return text;
}

Reply PipelineWorld::answer(const json& body, int status) {
  Reply reply;
  reply.status = status;
  reply.body = body.dump();
  return reply;
}

HttpResponse PipelineWorld::hand_in(const std::string& pipeline, const std::string& id, const json& payload,
                                    const json& metadata) {
  return client().request("POST", "/v1/pipelines/" + pipeline + "/submissions",
                          json{{"submissionId", id}, {"payload", payload}, {"metadata", metadata}}.dump());
}

json PipelineWorld::view_of(const std::string& id) {
  const auto response = client().get("/v1/submissions/" + escaped(id));
  if (response.status != 200)
    throw std::runtime_error("GET submission " + id + ": " + std::to_string(response.status) + " " + response.body);
  return response.json();
}

json PipelineWorld::wait_for_state(const std::string& id, const std::string& state) {
  json view;
  EXPECT_TRUE(eventually([&] { return word(view = view_of(id), "state") == state; })) << state << " of " << view.dump(2);
  return view;
}

std::size_t PipelineWorld::calls(const std::string& path) const {
  const auto all = gateway.received();
  return static_cast<std::size_t>(std::count_if(all.begin(), all.end(), [&](const auto& one) { return one.path == path; }));
}

HttpResponse PipelineWorld::decide(const std::string& id, const std::string& to, const std::string& trigger) {
  return client().request("POST", "/v1/submissions/" + escaped(id) + "/transitions",
                          json{{"to", to}, {"trigger", trigger}}.dump());
}

}  // namespace waybill::testing
