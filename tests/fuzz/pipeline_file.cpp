// pipelines/*.json: a pipeline or problems that name their place; what is taken is taken again as a stored one.
#include "domain/pipeline_definition.h"
#include "domain/pipeline_reader.h"
#include "fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace waybill;
  const std::string text(fuzz::text_of(data, size));
  auto pipeline = read_pipeline(text, "pipelines/a.json");
  if (!pipeline) {
    fuzz::promise(!pipeline.error().empty(), "a refused pipeline has a problem");
    for (const auto& problem : pipeline.error()) fuzz::promise(problem.file == "pipelines/a.json", "a problem names its file");
    return 0;
  }
  fuzz::promise(!pipeline->name.empty() && !pipeline->states.empty(), "a pipeline has a name and states");
  const auto definition = define_pipeline(*pipeline, text, {}, {});
  const auto again = definition_from_text(definition.text);
  fuzz::promise(again && again->hash == definition.hash && again->pipeline.name == pipeline->name,
                "it is stored and read as the same");
  return 0;
}
