// Putting an earlier version in the place of the registry folder, all of it at once, with the folder of before kept beside it.
#pragma once

#include <filesystem>

#include "base/error.h"
#include "domain/registry_files.h"

namespace waybill {

// A copy of the registry folder beside it, with the files of a version in it, to be checked and put in its place. What is no part
// of versions, such as certificates, is there as it is now. Deleted with this, unless it was put in place. One thread at a time.
class StagedRegistry {
 public:
  // `folder`: the registry; a link is followed.
  static Result<StagedRegistry> make(const std::filesystem::path& folder, const RegistryFiles& files);
  ~StagedRegistry();
  StagedRegistry(StagedRegistry&& other) noexcept;
  StagedRegistry& operator=(StagedRegistry&&) = delete;

  const std::filesystem::path& path() const { return path_; }
  // Exchanges both folders in one step. Returns where the one of before is now.
  Result<std::filesystem::path> put_in_place();

 private:
  StagedRegistry(std::filesystem::path folder, std::filesystem::path path) : folder_(std::move(folder)), path_(std::move(path)) {}

  std::filesystem::path folder_, path_;  // path_ is empty once there is nothing to delete
};

}  // namespace waybill
