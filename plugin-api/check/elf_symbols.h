// The names that a shared library offers to others, read from its file without loading it.
#pragma once

#include <filesystem>
#include <string>
#include <tl/expected.hpp>
#include <vector>

namespace waybill::conformance {

// Sorted. An error says why the file is no library for this machine.
tl::expected<std::vector<std::string>, std::string> exported_symbols(const std::filesystem::path& file);

}  // namespace waybill::conformance
