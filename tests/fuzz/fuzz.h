// What every fuzz target shares: the promise that ends a run when it is broken, and inputs of several parts.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace waybill::fuzz {

// A broken promise is a crash: libFuzzer saves the input that broke it.
inline void promise(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "broken promise: %s\n", what);
  std::abort();
}

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// The parts of an input between lines that hold nothing but "--", always `count`: missing ones are empty, the last is the rest.
inline std::vector<std::string_view> parts_of(std::string_view input, std::size_t count) {
  constexpr std::string_view kLine = "\n--\n";
  std::vector<std::string_view> parts;
  while (parts.size() + 1 < count) {
    const auto end = input.find(kLine);
    parts.push_back(input.substr(0, end));
    input = end == std::string_view::npos ? std::string_view{} : input.substr(end + kLine.size());
  }
  parts.push_back(input);
  return parts;
}

}  // namespace waybill::fuzz
