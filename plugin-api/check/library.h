// The plugin's file, loaded as the host loads it, and how far its descriptor can be trusted.
#pragma once

#include <waybill/plugin.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "fake_host/text.h"

namespace waybill::conformance {

inline constexpr const char* kEntry = "wb_plugin_v1";

using fake_host::view;

// Both load for this process's life. An error says what is wrong, and which check says more.
tl::expected<void*, std::string> load_library(const std::filesystem::path& file);
tl::expected<wb_plugin_entry, std::string> open_library(const std::filesystem::path& file);
tl::expected<const wb_plugin*, std::string> descriptor_of(wb_plugin_entry entry);

std::string_view payload_schema_of(const wb_action& action);  // "" before minor 4
// Its actions that can be used at all, each type once; an error if the descriptor cannot be walked, or needs a newer host.
tl::expected<std::vector<const wb_action*>, std::string> usable_actions(const wb_plugin* plugin);

}  // namespace waybill::conformance
