// Characters that show nothing, or that move what stands around them: two names that look alike could differ by them, and a line
// could read as another one.
#pragma once

#include <string_view>

namespace waybill {

// Of one character of UTF-8: soft hyphen, zero-width space, word joiner and byte order mark, the Mongolian vowel separator, tags,
// marks, embeddings, overrides and isolates of direction, separators of lines and paragraphs. The plugins have the same set
// (plugins/common/control_characters.h). Not the joiners, which some scripts are written with.
bool is_invisible(std::string_view character);

}  // namespace waybill
