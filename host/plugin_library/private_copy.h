// A plugin's bytes in memory of this process's own, to be loaded from there: what happens to the file no longer matters.
#pragma once

#include <filesystem>

#include "base/error.h"

namespace waybill {

// Where the copy of `file` can be loaded from, a path that no other copy of this process ever has. It lasts as long as the
// process, and nobody can change it any more. An error says why there is none.
Result<std::filesystem::path> private_copy(const std::filesystem::path& file);

// The same as a descriptor, which the caller closes.
Result<int> private_copy_descriptor(const std::filesystem::path& file);

// Lets debuggers, backtraces and dladdr call a library that was loaded from a copy by the name of its file. `library` is what
// dlopen returned, and is never closed.
void name_library(void* library, const std::filesystem::path& file);

}  // namespace waybill
