// YAML as a tree: as JSON it is JSON, and JSON is YAML of the same meaning.
#include <nlohmann/json.hpp>

#include "config/document.h"
#include "fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace waybill;
  const auto document = config::parse_document(std::string(fuzz::text_of(data, size)), "file.yaml");
  if (!document) {
    fuzz::promise(!document.error().empty(), "a refused document has a problem");
    for (const auto& problem : document.error())
      fuzz::promise(problem.file == "file.yaml" && problem.line >= 0 && !problem.message.empty(),
                    "a problem has a place and a text");
    return 0;
  }
  const auto json = config::to_json(*document);
  fuzz::promise(nlohmann::json::accept(json), "a document is written as JSON");
  const auto again = config::parse_document(json, "file.json");
  fuzz::promise(again && config::to_json(*again) == json, "a document that was read is written and read as the same");
  return 0;
}
