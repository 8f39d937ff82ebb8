// Signed URLs of Google Cloud Storage, version 4 (GOOG4-RSA-SHA256): the request that one allows, and the text that is signed.
// Source: https://cloud.google.com/storage/docs/authentication/canonical-requests and /signatures.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/time.h"
#include "services/gcs_key.h"

namespace waybill {

struct GcsEndpoint {
  std::string scheme = "https";
  std::string host = "storage.googleapis.com";
  std::string port;  // empty: the scheme's own

  // "https://host:port" or "host:port"; no path.
  static Result<GcsEndpoint> parse(std::string_view text);
  bool operator==(const GcsEndpoint&) const = default;
};

enum class GcsStyle {
  path,            // https://HOST/bucket/object
  virtual_hosted,  // https://bucket.HOST/object
  bucket_bound     // https://HOST/object: the host name belongs to the bucket
};

struct GcsRequest {
  std::string method = "GET";
  std::string bucket;
  std::string object;                                        // empty: the bucket itself
  std::vector<std::pair<std::string, std::string>> headers;  // that the request will have to carry, in any order and case
  std::vector<std::pair<std::string, std::string>> query;
  GcsEndpoint endpoint;
  GcsStyle style = GcsStyle::path;
  std::int64_t unix_seconds = 0;  // valid from
  Seconds lifetime{0};
};

// The parts of signing, each a function of what it is given. `email` is the signer's.
std::string canonical_request(const GcsRequest& request, std::string_view email);
std::string string_to_sign(const GcsRequest& request, std::string_view canonical_request);
Result<std::string> signed_url(const GcsRequest& request, const GcsKey& key);

}  // namespace waybill
