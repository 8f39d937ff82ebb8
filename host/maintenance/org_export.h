// An organisation as JSON Lines: what another installation needs to have it, and what its people may ask for.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "base/error.h"
#include "store/organisations/export_store.h"

namespace waybill {

// docs/operations/organisations.md has the form. What reads it refuses another version.
inline constexpr int kExportVersion = 1;
inline constexpr const char* kExportForm = "waybill organisation";

// What an export has not, and why. All other tables of organisations it has, whole.
std::span<const LeftOut> left_out_of_exports();

struct ExportOrder {
  std::string name, actor;
};

// Hands out one line after another, without its end: a header, a line for each row, and a last one with what the others have
// been. Without the last one it is not complete. Error::not_found: there is no such organisation. `progress` is told how many
// rows have been read.
Result<void> export_organisation(ExportStore& store, const ExportOrder& order,
                                 const std::function<Result<void>(const std::string& line)>& print,
                                 const std::function<void(std::int64_t rows)>& progress = {});

}  // namespace waybill
