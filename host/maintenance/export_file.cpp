// Line by line: what it is, how many of which table there are, and the digest over them.
#include "maintenance/export_file.h"

#include <istream>
#include <nlohmann/json.hpp>

#include "base/json_reader.h"
#include "domain/running_digest.h"
#include "maintenance/org_export.h"

namespace waybill {
namespace {

using nlohmann::json;

bool has(const json& object, const char* name, json::value_t type) {
  const auto found = object.find(name);
  return found != object.end() && found->type() == type;
}
bool has_number(const json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_number_integer();
}

class Reading {
 public:
  Reading(std::istream& lines, const ExportReader& reader) : lines_(lines), reader_(reader) {}

  Result<ExportFile> run() {
    TRY(next());
    TRY(read_header());
    if (reader_.begin) TRY(reader_.begin(file_));
    while (!is_over_) {
      add_to_digest();
      TRY(next());
      if (text_.empty() && !lines_) return wrong("the file ends without its last line: the export failed, or the file was cut");
      TRY(read_line());
    }
    if (lines_.peek() != std::istream::traits_type::eof()) {
      ++number_;
      return wrong("there is more behind the last line");
    }
    return file_;
  }

 private:
  tl::unexpected<Error> wrong(const std::string& what) const { return wrong_line(number_, what); }

  Result<void> next() {
    ++number_;
    text_.clear();
    for (char one = 0; lines_.get(one) && one != '\n';) {
      if (text_.size() == kMaxExportLine) return wrong("it is longer than " + std::to_string(kMaxExportLine >> 20) + " MiB");
      text_ += one;
    }
    return {};
  }

  Result<json> object() const {
    auto read = read_sorted_json(text_);
    if (!read) return wrong(read.error().what);
    if (!read->is_object()) return wrong("it is no JSON object");
    return read;
  }

  Result<void> read_header() {
    const auto header = object();
    if (!header || !has(*header, "form", json::value_t::string) || header->at("form") != kExportForm)
      return wrong("this is no file of `waybill org export`");
    if (!has_number(*header, "version") || header->at("version") != kExportVersion)
      return wrong("it is of another version of the form: this program reads version " + std::to_string(kExportVersion));
    if (!has(*header, "organisation", json::value_t::object) || !has(header->at("organisation"), "name", json::value_t::string) ||
        !has(*header, "exportedAt", json::value_t::string) || !has(*header, "program", json::value_t::string) ||
        !has_number(header->at("organisation"), "id") || !has_number(*header, "schema"))
      return wrong("the header does not say of what it is, when and by which program");
    file_.organisation = header->at("organisation").at("name");
    file_.org = {header->at("organisation").at("id").get<std::int64_t>()};
    file_.exported_at = header->at("exportedAt");
    file_.program = header->at("program");
    file_.schema = header->at("schema");
    return {};
  }

  Result<void> read_line() {
    const auto line = object();
    TRY(line);
    if (line->contains("sha256")) return read_last(*line);
    if (!has(*line, "table", json::value_t::string) || !has(*line, "row", json::value_t::object))
      return wrong("it is no row: it has no \"table\" or no \"row\"");
    ++file_.rows;
    const auto table = line->at("table").get<std::string>();
    ++file_.tables[table];
    if (reader_.row) TRY(reader_.row({.line = number_, .table = table, .row = line->at("row"), .text = text_}));
    return {};
  }

  Result<void> read_last(const json& last) {
    is_over_ = true;
    file_.digest = to_hex(as_view(digest_.so_far()));
    if (last.at("sha256") != file_.digest)
      return wrong("the lines before it have been changed: their SHA-256 is " + file_.digest + ", not what it says");
    if (last.value("rows", json()) != json(file_.rows) || last.value("tables", json()) != json(file_.tables))
      return wrong("it does not say how many rows there are before it");
    return {};
  }

  void add_to_digest() {
    digest_.add(text_);
    digest_.add("\n");
  }

  std::istream& lines_;
  const ExportReader& reader_;
  std::string text_;
  std::int64_t number_ = 0;
  RunningDigest digest_;
  bool is_over_ = false;
  ExportFile file_;
};

}  // namespace

tl::unexpected<Error> wrong_line(std::int64_t line, const std::string& what) {
  return fail(Error::Kind::invalid, "line " + std::to_string(line) + ": " + what);
}

Result<ExportFile> verify_export(std::istream& lines) { return read_export(lines, {}); }
Result<ExportFile> read_export(std::istream& lines, const ExportReader& reader) { return Reading(lines, reader).run(); }

}  // namespace waybill
