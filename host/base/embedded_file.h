// A file of the source tree that the build compiled in: see cmake/WaybillEmbed.cmake.
#pragma once

#include <span>
#include <string_view>

namespace waybill {

struct EmbeddedFile {
  std::string_view path;  // relative to the folder that was embedded
  std::string_view text;
};

}  // namespace waybill
