// Load on the intake: keep-alive connections that each post one intent after the other.
#pragma once

#include <cstdint>
#include <string>

namespace waybill::bench {

struct LoadResult {
  std::uint64_t acknowledged = 0;
  double seconds = 0;
};

// From this thread. Each intent is new and `body_bytes` long. Throws on any answer but 2xx.
LoadResult run_load(std::uint16_t port, int connections, int seconds, int body_bytes, const std::string& prefix);

std::string intent(const std::string& id, int body_bytes);  // as JSON

}  // namespace waybill::bench
