// Reading the files that are in force, and noting them.
#include "app/registry_recorder.h"

#include "registry/registry_digest.h"
#include "registry/registry_history.h"

namespace waybill {
namespace {

// The files of this digest; an error says why they cannot be told.
tl::expected<RegistryFiles, std::string> files_as_loaded(const std::filesystem::path& folder, const std::string& digest) {
  constexpr auto kChanged = "they were changed while they were read";
  if (registry_digest(folder) != digest) return tl::unexpected(kChanged);
  auto files = read_registry_files(folder);
  if (files && registry_digest(folder) != digest) return tl::unexpected(kChanged);
  return files;
}

}  // namespace

void RegistryRecorder::in_force(const LoadActor& actor, const std::string& digest) {
  const std::lock_guard lock(mutex_);
  if (digest == (changes_.empty() ? noted_ : changes_.back().digest)) return;
  auto files = files_as_loaded(config_.registry, digest);
  if (!files) return tell_lost(digest, files.error());
  if (changes_.size() == kMaxUnnoted) {
    tell_lost(changes_.front().digest, "the database took none of those that came after it either");
    changes_.pop_front();
  }
  changes_.push_back({{host_, actor.name, actor.trigger}, digest, std::move(*files)});
  has_news_ = true;
}

void RegistryRecorder::tell_lost(const std::string& digest, const std::string& error) {
  log_.warn("registry.not_noted", {{"digest", digest},
                                   {"error", error},
                                   {"effect", "the registry is in force, and `waybill registry log` does not have it"}});
}

Result<void> RegistryRecorder::record() {
  const std::lock_guard lock(mutex_);  // so that an older state never comes after a newer one
  has_news_ = false;
  for (; !changes_.empty(); changes_.pop_front()) {
    const auto& change = changes_.front();
    const auto noted = store_->note(change.files, digest_of(change.files), change.by, count_targets);
    TRY(noted);
    if (*noted)
      log_.info("registry.noted", {{"version", **noted}, {"digest", change.digest}, {"actor", change.by.actor}});
    else
      log_.debug("registry.known", {{"digest", change.digest}});
    noted_ = change.digest;
  }
  return {};
}

PeriodicTask RegistryRecorder::task() {
  return {.name = "registry_versions",
          .every = Seconds{10},
          .run = [this] { return record(); },
          .is_wanted = [this] { return has_news_.load(); }};
}

}  // namespace waybill
