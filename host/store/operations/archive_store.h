// The archive: pipelines' submissions that ended, or failed and were left, long ago. Each object has its own session; one thread
// at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/id.h"
#include "base/time.h"

namespace waybill {

// How long they stay where work is done; 0: for ever.
struct ArchiveAges {
  Millis ended{0};
  Millis blocked{0};
};

struct ArchiveFilter {
  std::string pipeline, state, reference, submission;  // "": any
};

struct ArchivedSubmission {
  std::string submission, pipeline, state, reference;
  Timestamp created, archived;
  std::optional<Timestamp> blocked, ended;
};

class ArchiveStore {
 public:
  virtual ~ArchiveStore() = default;
  enum class Why : std::uint8_t { ended, blocked };
  struct Place {
    SubmissionId id{};
    Timestamp since{};  // its end, or since when it has waited for a replay
  };
  // Up to `most` that are older than `age`, behind `after`, the oldest first.
  virtual Result<std::vector<Place>> archivable(Shard shard, Why why, Millis age, const Place& after, std::size_t most) = 0;
  // One commit. Moves those that are still old enough and that nobody has locked or claimed. Returns how many.
  virtual Result<std::uint64_t> archive(Shard shard, std::span<const SubmissionId> ids, const ArchiveAges& ages) = 0;
  // Deletes up to `most` that were archived longer than `age` ago. Returns how many.
  virtual Result<std::uint64_t> delete_archived(Millis age, std::size_t most) = 0;

  virtual Result<std::vector<ArchivedSubmission>> list(OrgId org, const ArchiveFilter& filter, std::size_t most) = 0;
  // Their records (JSON), the newest first: an id may have been handed in again after its submission was archived.
  virtual Result<std::vector<std::string>> records(OrgId org, const std::string& submission) = 0;
};

}  // namespace waybill
