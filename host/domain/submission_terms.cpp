// Reading a submission's terms.
#include "domain/submission_terms.h"

#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>

namespace waybill {
namespace {

constexpr Seconds kMaxAhead{366 * 86'400};

// Takes a number and the blank behind it.
std::optional<Timestamp> take_time(std::string_view& text) {
  std::int64_t micros = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), micros);
  text.remove_prefix(std::min<std::size_t>(text.size(), static_cast<std::size_t>(end - text.data()) + 1));
  if (error != std::errc{} || micros == 0) return std::nullopt;
  return Timestamp{micros};
}

}  // namespace

Terms terms_of(SubmissionTerms terms) {
  if (terms == SubmissionTerms{}) return nullptr;
  return std::make_shared<const SubmissionTerms>(std::move(terms));
}

std::string terms_fault(const Terms& terms, Timestamp now) {
  if (!terms) return {};
  for (const auto& [field, time] : {std::pair{"notBefore", &terms->not_before}, std::pair{"expiresAt", &terms->expires}})
    if (*time && **time > now + kMaxAhead) return std::string(field) + " must not be more than 366 days ahead";
  return {};
}

Terms terms_from(std::string_view column) {
  SubmissionTerms terms;
  terms.not_before = take_time(column);
  terms.expires = take_time(column);
  terms.producer = column;
  return terms_of(std::move(terms));
}

}  // namespace waybill
