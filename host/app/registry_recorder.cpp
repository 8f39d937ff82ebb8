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

void RegistryRecorder::in_force(const LoadActor& actor, std::string digest) {
  const std::lock_guard lock(mutex_);
  if (change_ && change_->digest == digest) return;
  if (digest == noted_) return change_.reset();
  change_ = Change{{host_, actor.name, actor.trigger}, std::move(digest)};
  has_news_ = true;
}

Result<void> RegistryRecorder::record() {
  const std::lock_guard lock(mutex_);  // so that an older state never comes after a newer one
  has_news_ = false;
  if (!change_) return {};
  const auto files = files_as_loaded(config_.registry, change_->digest);
  if (!files) {
    log_.warn("registry.not_noted", {{"digest", change_->digest},
                                     {"error", files.error()},
                                     {"effect", "the registry is in force, and `waybill registry log` does not have it"}});
    change_.reset();
    return {};
  }
  const auto noted = store_->note(*files, digest_of(*files), change_->by, count_targets);
  TRY(noted);
  if (*noted)
    log_.info("registry.noted", {{"version", **noted}, {"digest", change_->digest}, {"actor", change_->by.actor}});
  else
    log_.debug("registry.known", {{"digest", change_->digest}});
  noted_ = change_->digest;
  change_.reset();
  return {};
}

PeriodicTask RegistryRecorder::task() {
  return {.name = "registry_versions",
          .every = Seconds{10},
          .run = [this] { return record(); },
          .is_wanted = [this] { return has_news_.load(); }};
}

}  // namespace waybill
