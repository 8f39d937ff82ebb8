// Problems as one line of text, in the form that editors and people know from compilers.
#include "base/problem.h"

namespace waybill {

std::string to_string(const Problem& problem) {
  std::string text = problem.file;
  if (problem.line > 0) text += (text.empty() ? "line " : ":") + std::to_string(problem.line);
  if (!text.empty()) text += ": ";
  if (!problem.field.empty()) text += problem.field + ": ";
  return text + problem.message;
}

}  // namespace waybill
