// Text that crosses the plugin boundary; clean_text makes what plugins say safe to keep.
#pragma once

#include <string_view>

#include "base/utf8.h"

struct wb_str;

namespace waybill {

// A null pointer is the empty text, whatever length comes with it.
std::string_view view_of(const wb_str& text);
wb_str borrow(std::string_view text);

}  // namespace waybill
