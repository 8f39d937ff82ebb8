// Writes findings as lines of JSON to a pipe.
#include "findings.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

namespace waybill::conformance {
namespace {

constexpr std::size_t kMaxFindings = 6;
constexpr std::size_t kMaxBytes = 400;

}  // namespace

void Findings::write_line(const char* key, std::string_view value) {
  using Json = nlohmann::json;
  std::string text(value.substr(0, kMaxBytes));
  std::replace_if(
      text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; }, ' ');
  const auto line = Json{{key, text}}.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
  for (std::string_view rest = line; !rest.empty();) {
    const auto size = write(pipe_, rest.data(), rest.size());
    if (size <= 0) return;
    rest.remove_prefix(static_cast<std::size_t>(size));
  }
}

void Findings::found(const std::string& what, std::string_view during) {
  const std::lock_guard lock(mutex_);
  if (reported_.size() > kMaxFindings || !reported_.insert(what).second) return;
  if (reported_.size() > kMaxFindings) return write_line(kFoundKey, "and more");
  write_line(kFoundKey, during.empty() ? what : std::string(during) + ": " + what);
}

void Findings::skipped(const std::string& why) { write_line(kSkippedKey, why); }
void Findings::action_type(std::string_view type) { write_line(kTypeKey, type); }
void Findings::done() { write_line(kDoneKey, ""); }

void Findings::doing(std::string_view what) {
  auto add = [this, size = std::size_t{0}](std::string_view words) mutable {
    words = words.substr(0, kMaxDoing - size);
    std::memcpy(doing_ + size, words.data(), words.size());
    size += words.size();
    doing_[size] = '\0';
  };
  add(what);
  if (given_.empty()) return;
  add(", ");  // one after the other, without an allocation: some checks count those
  add(given_);
}

}  // namespace waybill::conformance
