// How a host tells a plugin's process what it may have.
#include "plugin_protocol/isolation_words.h"

#include <charconv>

namespace waybill::plugin_process {
namespace {

bool read_number(const std::string& text, std::size_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

}  // namespace

std::vector<std::string> words_of(const Isolation& isolation) {
  std::vector<std::string> words{"--memory",      std::to_string(isolation.memory_bytes),
                                 "--threads",     std::to_string(isolation.threads),
                                 "--descriptors", std::to_string(isolation.descriptors)};
  if (isolation.network) words.emplace_back("--network");
  for (const auto& path : isolation.read) {
    words.emplace_back("--read");
    words.push_back(path.string());
  }
  return words;
}

bool read_words(const std::vector<std::string>& words, Isolation& isolation) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--network") {
      isolation.network = true;
      continue;
    }
    if (i + 1 == words.size()) return false;
    const auto& name = words[i];
    const auto& value = words[++i];
    if (name == "--read")
      isolation.read.emplace_back(value);
    else if (auto* const number = name == "--memory"        ? &isolation.memory_bytes
                                  : name == "--threads"     ? &isolation.threads
                                  : name == "--descriptors" ? &isolation.descriptors
                                                            : nullptr;
             number == nullptr || !read_number(value, *number))
      return false;
  }
  return true;
}

}  // namespace waybill::plugin_process
