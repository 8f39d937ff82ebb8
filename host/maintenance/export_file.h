// The lines of an export, read again and held against what the last one says of them.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/error.h"
#include "base/id.h"

namespace waybill {

// No line is longer: a row of a few megabytes is as long as they get.
inline constexpr std::size_t kMaxExportLine = std::size_t{256} << 20;

struct ExportFile {
  std::string organisation, exported_at, program;
  OrgId org;  // where it was exported
  int schema = 0;
  std::int64_t rows = 0;
  std::map<std::string, std::int64_t> tables;  // rows of each
  std::string digest;
};

struct ExportedRow {
  std::int64_t line = 0;
  const std::string& table;
  const nlohmann::json& row;
  const std::string& text;  // the whole line
};

// An error of these ends the reading.
struct ExportReader {
  std::function<Result<void>(const ExportFile&)> begin;  // what the header says
  std::function<Result<void>(const ExportedRow&)> row;
};

// The error of a line.
tl::unexpected<Error> wrong_line(std::int64_t line, const std::string& what);

// One line at a time is in memory. Error::invalid, with the number of the line, for whatever is not as `waybill org export` has
// written it: it was cut, or changed, or is of a form that this program does not know.
Result<ExportFile> verify_export(std::istream& lines);
// The same, and hands out its rows. Whether they are what was exported is known at the end only.
Result<ExportFile> read_export(std::istream& lines, const ExportReader& reader);

}  // namespace waybill
