// The last column is not filled up.
#include "cli/columns.h"

#include <algorithm>

#include "base/printing.h"
#include "cli/json_output.h"

namespace waybill {

void print_columns(const std::vector<Line>& lines) {
  std::vector<std::size_t> width;
  for (const auto& line : lines)
    for (std::size_t i = 0; i < line.size(); ++i) {
      if (i == width.size()) width.push_back(0);
      width[i] = std::max(width[i], line[i].size());
    }
  for (const auto& line : lines) {
    std::string text;
    for (std::size_t i = 0; i < line.size(); ++i) {
      text += line[i];
      if (i + 1 < line.size()) text.append(width[i] - line[i].size() + 2, ' ');
    }
    print_line(text);
  }
}

}  // namespace waybill
