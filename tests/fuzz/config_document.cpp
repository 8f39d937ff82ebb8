// YAML as a tree: as JSON it is JSON, and JSON is YAML of the same meaning.
#include <nlohmann/json.hpp>

#include "base/utf8.h"
#include "config/document.h"
#include "fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace waybill;
  const std::string text(fuzz::text_of(data, size));
  const auto document = config::parse_document(text, "file.yaml");
  if (!document) {
    fuzz::promise(!document.error().empty(), "a refused document has a problem");
    for (const auto& problem : document.error())
      fuzz::promise(problem.file == "file.yaml" && problem.line >= 0 && !problem.message.empty(),
                    "a problem has a place and a text");
    return 0;
  }
  const auto json = config::to_json(*document);
  fuzz::promise(nlohmann::json::accept(json), "a document is written as JSON");
  if (!is_valid_utf8(text)) return 0;  // what is none is replaced: keys change, and their order
  if (json.size() > 1000) return 0;  // a key of more than 1,024 characters is none to yaml-cpp, and JSON's escapes make it longer
  const auto again = config::parse_document(json, "file.json");
  fuzz::promise(again && config::to_json(*again) == json, "a document that was read is written and read as the same");
  return 0;
}
