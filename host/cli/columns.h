// Lines of several columns, each as wide as its widest entry.
#pragma once

#include <string>
#include <vector>

namespace waybill {

using Line = std::vector<std::string>;
void print_columns(const std::vector<Line>& lines);

}  // namespace waybill
