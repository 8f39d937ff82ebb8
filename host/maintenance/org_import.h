// A file of an export, as an organisation of this installation.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>

#include "base/error.h"
#include "store/organisations/import_store.h"

namespace waybill {

// Reads the file once, from its beginning. Nothing is there unless all of it is: Error::invalid names the line that is not as
// `waybill org export` writes it, or that the database refuses. Error::conflict: this installation cannot have it. A rehearsal
// answers what an import would, and leaves nothing. `progress` is told how many rows have been inserted.
Result<OrgImported> import_organisation(ImportStore& store, const ImportOrder& order, std::istream& lines,
                                        const std::function<void(std::int64_t rows)>& progress = {});

}  // namespace waybill
