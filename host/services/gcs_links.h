// Time-limited links to stored objects, made from their URIs ("gs://bucket/key").
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/error.h"
#include "base/time.h"
#include "services/gcs_key.h"
#include "services/gcs_url.h"

namespace waybill {

inline constexpr Seconds kMaxLinkLength{7 * 24 * 3600};  // Google takes no more

// [any thread]
class GcsLinks {
 public:
  GcsLinks(GcsKey key, const Clock& clock);  // at the endpoint of the key's universe
  GcsLinks(GcsKey key, GcsEndpoint endpoint, const Clock& clock);

  // A URL that lets whoever has it GET the object, from now for `lifetime` (1 s to kMaxLinkLength).
  Result<std::string> link(std::string_view object_uri, Seconds lifetime) const;

 private:
  GcsKey key_;
  GcsEndpoint endpoint_;
  const Clock& clock_;
};

class Secrets;
// The links that this secret, a service account as Google hands it out, can sign; null for the name "".
Result<std::shared_ptr<const GcsLinks>> make_links(const std::string& secret, const Secrets& secrets, const Clock& clock);

}  // namespace waybill
