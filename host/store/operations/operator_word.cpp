// What a word of an operator may be.
#include "store/operations/operator_word.h"

#include "base/utf8.h"

namespace waybill {

Result<void> check_text(const char* field, const std::string& text) {
  if (text.empty() || text.size() > kMaxReason || !is_clean_utf8(text))
    return fail(Error::Kind::invalid, std::string(field) + " must be a text of 1 to " + std::to_string(kMaxReason) + " bytes");
  return {};
}

}  // namespace waybill
