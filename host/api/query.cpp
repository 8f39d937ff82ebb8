// Reading numbers, times and cursors.
#include "api/query.h"

#include <algorithm>

#include "api/integer.h"
#include "store/submissions/submission_list.h"

namespace waybill {
namespace {

std::string one_of(std::span<const std::string_view> words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i)
    text += (i == 0 ? "" : i + 1 == words.size() ? " or " : ", ") + std::string(words[i]);
  return text;
}

}  // namespace

std::optional<std::string> given(const http::Request& request, std::string_view parameter) {
  auto text = request.query_value(parameter);
  return text && !text->empty() ? text : std::nullopt;
}

Result<std::size_t> limit_in(const http::Request& request, std::size_t usual, std::size_t most) {
  const auto text = request.query_value("limit");
  return text ? read_limit(*text, most) : usual;
}

Result<std::optional<DeliveryCursor>> cursor_in(const http::Request& request, const PublicIds& ids) {
  const auto text = request.query_value("cursor");
  if (!text) return std::nullopt;
  const auto cursor = delivery_cursor(*text, ids);
  if (!cursor) return fail(Error::Kind::invalid, "cursor must be the \"next\" of an answer");
  return cursor;
}

Result<std::optional<Timestamp>> time_in(const http::Request& request, std::string_view parameter) {
  const auto text = request.query_value(parameter);
  if (!text) return std::nullopt;
  return read_time(parameter, *text);
}

Result<std::optional<std::string>> word_in(const http::Request& request, std::string_view parameter,
                                           std::span<const std::string_view> words) {
  auto text = request.query_value(parameter);
  if (text && std::find(words.begin(), words.end(), *text) == words.end())
    return fail(Error::Kind::invalid, std::string(parameter) + " must be " + one_of(words));
  return text;
}

std::optional<DeliveryId> delivery_id(std::string_view text, const PublicIds& ids) {
  const auto number = ids.read(text);
  return number ? std::optional(DeliveryId{*number}) : std::nullopt;
}

std::string cursor_text(const DeliveryCursor& cursor, const PublicIds& ids) {
  return std::to_string(cursor.at.micros) + "." + ids.text(cursor.id.value);
}

std::optional<DeliveryCursor> delivery_cursor(std::string_view text, const PublicIds& ids) {
  const auto dot = text.find('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const auto at = whole_number<std::int64_t>(text.substr(0, dot));
  const auto id = delivery_id(text.substr(dot + 1), ids);
  if (!at || *at < 0 || *at > kEndOfTime.micros || !id) return std::nullopt;
  return DeliveryCursor{{*at}, *id};
}

Result<std::size_t> read_limit(std::string_view text, std::size_t most) {
  const auto limit = whole_number<std::size_t>(text).value_or(0);
  if (limit < 1 || limit > most)
    return fail(Error::Kind::invalid, "limit must be a whole number from 1 to " + std::to_string(most));
  return limit;
}

std::string time_fault(std::string_view field) {
  return std::string(field) + " must be an RFC 3339 time, such as 2026-12-31T00:00:00Z";
}

Result<Timestamp> read_time(std::string_view field, std::string_view text) {
  const auto time = parse_rfc3339(text);
  if (!time) return fail(Error::Kind::invalid, time_fault(field));
  return *time;
}

}  // namespace waybill
