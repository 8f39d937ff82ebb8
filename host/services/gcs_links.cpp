// Links to stored objects, each a URL that is signed for a time.
#include "services/gcs_links.h"

#include "domain/object_uri.h"
#include "services/secrets.h"

namespace waybill {

GcsLinks::GcsLinks(GcsKey key, const Clock& clock)
    : key_(std::move(key)), endpoint_{.host = "storage." + key_.universe_domain()}, clock_(clock) {}

GcsLinks::GcsLinks(GcsKey key, GcsEndpoint endpoint, const Clock& clock)
    : key_(std::move(key)), endpoint_(std::move(endpoint)), clock_(clock) {}

Result<std::string> GcsLinks::link(std::string_view object_uri, Seconds lifetime) const {
  if (lifetime < Seconds{1} || lifetime > kMaxLinkLength)
    return fail(Error::Kind::invalid, "a link lives for 1 second to 7 days, not " + std::to_string(lifetime.count()) + " s");
  auto object = parse_gcs_uri(object_uri);
  TRY(object);
  return signed_url({.bucket = std::move(object->bucket),
                     .object = std::move(object->key),
                     .endpoint = endpoint_,
                     .unix_seconds = clock_.unix_seconds(),
                     .lifetime = lifetime},
                    key_);
}

Result<std::shared_ptr<const GcsLinks>> make_links(const std::string& secret, const Secrets& secrets, const Clock& clock) {
  if (secret.empty()) return nullptr;
  const auto* values = secrets.find(secret);
  if (values == nullptr) return fail(Error::Kind::invalid, "there is no secret " + secret);
  auto key = GcsKey::from_service_account(values->front().expose());
  if (!key) return fail(Error::Kind::invalid, "secret " + secret + ": " + key.error().what);
  return std::make_shared<const GcsLinks>(std::move(*key), clock);
}

}  // namespace waybill
