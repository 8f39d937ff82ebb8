// The limit that a drain is held against: libcurl's multi interface posting the same bodies, with no queue behind it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace waybill::bench {

struct CurlLoopResult {
  double seconds = 0;
  double cpu_seconds = 0;  // of the calling thread
};

// Posts `count` bodies with a constant signature over `connections` connections from this thread. Throws unless all got a 200.
CurlLoopResult run_curl_loop(std::uint16_t port, std::size_t count, std::size_t body_bytes, std::size_t connections);

}  // namespace waybill::bench
