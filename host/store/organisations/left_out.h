// What files of organisations do not have.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "store/pg/pg.h"

namespace waybill {

// A table, or "table.column", that an export leaves out.
struct LeftOut {
  std::string_view what, why;
};

// The tables among them, or the columns, as an array for a statement.
inline std::string left_out_names(std::span<const LeftOut> left_out, bool columns) {
  ArrayText names;
  for (const auto& one : left_out)
    if ((one.what.find('.') != std::string_view::npos) == columns) names.add(one.what);
  return names.take();
}

}  // namespace waybill
