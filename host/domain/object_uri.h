// The URI of a stored object ("gs://bucket/key"), as far as a link to it can be signed.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace waybill {

struct GcsObject {
  std::string bucket;
  std::string key;
  bool operator==(const GcsObject&) const = default;
};

// Refuses what cannot be the name of a bucket or an object, and keys with a segment "." or "..", which browsers would resolve
// before they ask, so that no link could ever reach them. Error::invalid says why.
Result<GcsObject> parse_gcs_uri(std::string_view uri);

}  // namespace waybill
