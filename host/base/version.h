// Which Waybill this is.
#pragma once

#include <string>

namespace waybill {

// "1.0.0", as in CMakeLists.txt, CHANGELOG.md and the package. Both are made by the build.
const char* built_version();
// The commit that a release was built of, with "+" if the tree had further changes; "" for other builds, and for trees without a
// history.
const char* built_commit();

// "1.0.0 (3f2a91c0d4e7)", for people
std::string version_words();

}  // namespace waybill
