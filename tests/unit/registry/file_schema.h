// The JSON Schemas of registry/schemas, as an editor applies them.
#pragma once

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#define VALIJSON_USE_EXCEPTIONS 1  // as in host/base/json_check.cpp: this program has one valijson
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>

namespace waybill::testing {

inline const std::filesystem::path kSampleRegistry = std::filesystem::path(WAYBILL_SOURCE_DIR) / "registry";

inline std::string text_of(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

class FileSchema {
 public:
  explicit FileSchema(const std::string& name) : json_(nlohmann::json::parse(text_of(kSampleRegistry / "schemas" / name))) {
    valijson::SchemaParser parser(valijson::SchemaParser::kDraft7);
    parser.populateSchema(valijson::adapters::NlohmannJsonAdapter(json_), schema_);
  }
  bool accepts(const nlohmann::json& json) {
    valijson::Validator validator(valijson::Validator::kStrongTypes);
    return validator.validate(schema_, valijson::adapters::NlohmannJsonAdapter(json), nullptr);
  }
  const nlohmann::json& json() const { return json_; }

 private:
  nlohmann::json json_;
  valijson::Schema schema_;
};

}  // namespace waybill::testing
