// AWS Signature Version 4 of a request, in its headers, by the description in the IAM user guide ("Create a signed AWS API
// request").
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/secret.h"

namespace waybill {

struct AwsRequest {
  std::string_view method, url, body;
  std::string_view authority;               // of the URL: "example.org:443"
  const std::vector<std::string>& headers;  // lines "Name: value", as they are sent
};
struct AwsKey {
  std::string_view region, service;
  const Secret& id;
  const Secret& secret;
};

// The lines to be sent besides: Host, X-Amz-Date, for s3 the body's hash, and Authorization. Signed are these, Content-Type and
// all others whose names begin with X-Amz-.
std::vector<std::string> aws_signature(const AwsRequest& request, const AwsKey& key, std::int64_t unix_now);

}  // namespace waybill
