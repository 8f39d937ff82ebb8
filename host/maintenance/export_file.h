// The lines of an export, read again and held against what the last one says of them.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <map>
#include <string>

#include "base/error.h"

namespace waybill {

// No line is longer: a row of a few megabytes is as long as they get.
inline constexpr std::size_t kMaxExportLine = std::size_t{256} << 20;

struct ExportFile {
  std::string organisation, exported_at, program;
  int schema = 0;
  std::int64_t rows = 0;
  std::map<std::string, std::int64_t> tables;  // rows of each
  std::string digest;
};

// One line at a time is in memory. Error::invalid, with the number of the line, for whatever is not as `waybill org export` has
// written it: it was cut, or changed, or is of a form that this program does not know.
Result<ExportFile> verify_export(std::istream& lines);

}  // namespace waybill
