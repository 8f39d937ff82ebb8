// Reads the folder of pipelines and ties them together.
#include "registry/pipelines_folder.h"

#include <algorithm>
#include <iterator>
#include <map>

#include "base/json_document.h"
#include "domain/pipeline_reader.h"
#include "registry/registry_file.h"

namespace waybill {
namespace {

using Find = std::function<const Contract*(const std::string&)>;

struct PipelineFile {
  std::string file, text;
  Pipeline pipeline;
  enum class Mark { none, open, done } mark = Mark::none;
  std::shared_ptr<const PipelineDefinition> definition;
};

// Pipelines in the order in which they depend on each other.
class PipelineLinker {
 public:
  PipelineLinker(std::map<std::string, PipelineFile>& files, const Find& find, Problems& problems, ActionLimits& limits)
      : files_(files), find_(find), problems_(problems), limits_(limits) {}

  std::shared_ptr<const PipelineDefinition> define(PipelineFile& file) {
    if (file.mark == PipelineFile::Mark::done) return file.definition;
    file.mark = PipelineFile::Mark::open;
    std::vector<Contract> contracts;
    std::map<std::string, std::shared_ptr<const PipelineDefinition>> starts;
    for (const auto& state : file.pipeline.states) {
      const auto path = field_path("states", state.name);
      for (std::size_t i = 0; i < state.actions.size(); ++i)
        if (auto contract = contract_of(file, state, state.actions[i], field_path(field_path(path, "run"), i)))
          contracts.push_back(std::move(*contract));
      for (std::size_t i = 0; i < state.starts.size(); ++i)
        started(file, state.starts[i], field_path(field_path(field_path(path, "start"), i), "pipeline"), starts);
    }
    std::vector<std::shared_ptr<const PipelineDefinition>> list;
    for (auto& [name, one] : starts) list.push_back(std::move(one));
    file.definition = std::make_shared<const PipelineDefinition>(
        define_pipeline(file.pipeline, without_comments(file.text), std::move(contracts), std::move(list)));
    file.mark = PipelineFile::Mark::done;
    return file.definition;
  }

 private:
  std::optional<Contract> contract_of(const PipelineFile& file, const PipelineState& state, const PipelineAction& action,
                                      const std::string& path) {
    const Contract* target = find_(action.target);
    if (!target) {
      problems_.push_back({file.file, action.line, field_path(path, "target"), "there is no target " + in_quotes(action.target)});
      return std::nullopt;
    }
    if (target->policy == Policy::one_shot && action.retry && action.retry->attempts > 1) {
      problems_.push_back({file.file, action.line, field_path(path, "retry"),
                           "target " + in_quotes(action.target) + " has policy one_shot: it is sent to once at most"});
      return std::nullopt;
    }
    if (target->policy == Policy::deadline && !action.retry) {
      problems_.push_back({file.file, action.line, path,
                           "target " + in_quotes(action.target) +
                               " has policy deadline, which counts from the submission's beginning: give the action a `retry`"});
      return std::nullopt;
    }
    if (action.timeout)
      limits_.push_back({.owner = file.pipeline.name,
                         .state = state.name,
                         .action = action.target,
                         .limit = *action.timeout,
                         .place = {file.file, action.line, field_path(path, "timeout"), ""}});
    return stage_contract(*target, file.pipeline, state, action);
  }

  void started(const PipelineFile& file, const PipelineStart& start, const std::string& path,
               std::map<std::string, std::shared_ptr<const PipelineDefinition>>& starts) {
    const auto other = files_.find(start.pipeline);
    if (other == files_.end()) {
      problems_.push_back({file.file, start.line, path, "there is no pipeline " + in_quotes(start.pipeline)});
    } else if (other->second.mark == PipelineFile::Mark::open) {
      problems_.push_back(
          {file.file, start.line, path, in_quotes(start.pipeline) + " starts this one in turn: it could go round for ever"});
    } else {
      starts[start.pipeline] = define(other->second);
    }
  }

  std::map<std::string, PipelineFile>& files_;
  const Find& find_;
  Problems& problems_;
  ActionLimits& limits_;
};

}  // namespace

std::vector<std::shared_ptr<const PipelineDefinition>> load_pipelines(const std::filesystem::path& folder, const Find& find,
                                                                      Problems& problems, ActionLimits& limits) {
  std::map<std::string, PipelineFile> files;
  for (const auto& path : files_in(folder, problems)) {
    if (path.extension() != ".json") {
      problems.push_back({path.string(), 0, "", "must be named NAME.json: one pipeline a file"});
      continue;
    }
    const auto text = read_text(path);
    if (!text) {
      problems.push_back({path.string(), 0, "", text.error()});
      continue;
    }
    auto pipeline = read_pipeline(*text, path.string());
    if (!pipeline) {
      std::move(pipeline.error().begin(), pipeline.error().end(), std::back_inserter(problems));
      continue;
    }
    const std::string name = pipeline->name;
    const auto [first, is_new] = files.try_emplace(name, PipelineFile{path.string(), *text, std::move(*pipeline)});
    if (!is_new) problems.push_back({path.string(), 0, "pipeline", "is taken by " + first->second.file});
  }
  PipelineLinker linker(files, find, problems, limits);
  std::vector<std::shared_ptr<const PipelineDefinition>> all;
  for (auto& [name, file] : files) all.push_back(linker.define(file));
  return all;
}

}  // namespace waybill
