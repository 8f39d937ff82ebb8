// The words of the version.
#include "base/version.h"

namespace waybill {

std::string version_words() {
  const std::string version = built_version(), commit = built_commit();
  return commit.empty() ? version : version + " (" + commit + ")";
}

}  // namespace waybill
