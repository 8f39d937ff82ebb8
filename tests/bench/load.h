// Load on the intake: keep-alive connections that each post one request after the other.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "bench/host.h"

namespace waybill::bench {

struct Load {
  std::string path;
  std::function<std::string(std::uint64_t number)> body;  // of the request with this number, from 1
  std::function<bool(std::string_view answer)> good;      // head and body of an answer, whole
};

// When no more requests are begun: whichever comes first.
struct LoadEnd {
  std::chrono::seconds time = std::chrono::hours(1);
  std::uint64_t requests = ~std::uint64_t{0};
};

struct LoadResult {
  std::uint64_t acknowledged = 0;  // requests
  double seconds = 0;
};

// From this thread. Throws on an answer that is not good.
LoadResult run_load(std::uint16_t port, int connections, const Load& load, const LoadEnd& end);

Load single_intents(std::size_t body_bytes);
Load batches_of_intents(std::uint64_t size, std::size_t body_bytes);  // each item must be taken

std::string intent(const std::string& id, std::size_t body_bytes, const char* target = kTarget);  // as JSON

}  // namespace waybill::bench
