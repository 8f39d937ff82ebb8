// The registry as a value, how it is read from its folder, and the one that is in use.
#include "registry/registry.h"

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <system_error>

#include "registry/located_json.h"
#include "registry/targets_file.h"

namespace waybill {
namespace {

tl::expected<std::string, std::string> read_text(const std::filesystem::path& file) {
  std::error_code error;
  const auto status = std::filesystem::status(file, error);
  if (error) return tl::unexpected("cannot be read: " + error.message());
  if (!std::filesystem::is_regular_file(status)) return tl::unexpected(std::string("cannot be read: not a file"));
  std::ifstream in(file, std::ios::binary);
  if (!in) return tl::unexpected("cannot be read: " + std::generic_category().message(errno));
  std::string text;  // one byte more than allowed is enough to be refused
  for (char chunk[1 << 16]; text.size() <= kLargestJson && (in.read(chunk, sizeof chunk), in.gcount() > 0);)
    text.append(chunk, static_cast<std::size_t>(in.gcount()));
  if (in.bad()) return tl::unexpected("cannot be read: " + std::generic_category().message(errno));
  return text;
}

}  // namespace

Registry::Registry(std::vector<Contract> targets) : targets_(std::move(targets)) {
  std::sort(targets_.begin(), targets_.end(), [](const Contract& a, const Contract& b) { return a.target < b.target; });
}

const Contract* Registry::find(std::string_view target) const {
  const auto at = std::lower_bound(targets_.begin(), targets_.end(), target,
                                   [](const Contract& contract, std::string_view name) { return contract.target < name; });
  return at != targets_.end() && at->target == target ? &*at : nullptr;
}

tl::expected<Registry, Problems> load_registry(const std::filesystem::path& folder, const ActionTypes& types, Problems* absent) {
  const auto file = folder / "targets.json";
  const auto text = read_text(file);
  if (!text) return tl::unexpected(Problems{{file.string(), 0, "", text.error()}});
  auto targets = read_targets(*text, file.string(), types, absent);
  if (!targets) return tl::unexpected(std::move(targets.error()));
  return Registry(std::move(*targets));
}

LiveRegistry::LiveRegistry(Registry first) : current_(std::make_shared<const Registry>(std::move(first))) {}

std::shared_ptr<const Registry> LiveRegistry::current() const {
  const std::lock_guard lock(mutex_);
  return current_;
}

void LiveRegistry::swap_in(Registry next) {
  auto fresh = std::make_shared<const Registry>(std::move(next));
  const std::lock_guard lock(mutex_);
  current_.swap(fresh);
}

}  // namespace waybill
