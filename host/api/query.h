// What several surfaces read alike of a path, a query or a field.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/id.h"
#include "base/public_ids.h"
#include "base/time.h"
#include "http/http.h"
#include "store/submissions/delivery_cursor.h"

namespace waybill {

// A query parameter that is a text; none also when it is empty: `reference=` says as little as no reference.
std::optional<std::string> given(const http::Request& request, std::string_view parameter);

// Parameters that are more than texts. An empty one is none of what it should be, so it is refused; all: Error::invalid with a
// message that names the parameter. Absent, the limit is `usual`, the others none.
Result<std::size_t> limit_in(const http::Request& request, std::size_t usual, std::size_t most);
Result<std::optional<DeliveryCursor>> cursor_in(const http::Request& request, const PublicIds& ids = {});
Result<std::optional<Timestamp>> time_in(const http::Request& request, std::string_view parameter);
Result<std::optional<std::string>> word_in(const http::Request& request, std::string_view parameter,
                                           std::span<const std::string_view> words);

// What a query says of its page: how many, at most so many, and behind which.
template <class Query>
Result<void> read_page(const http::Request& request, Query& query, std::size_t most, const PublicIds& ids) {
  const auto limit = limit_in(request, query.most, most);
  TRY(limit);
  const auto after = cursor_in(request, ids);
  TRY(after);
  query.most = *limit;
  query.after = *after;
  return {};
}

// The id of a delivery in a path, a query or an argument; none when it cannot be one. This, and what the JSON of deliveries
// shows, are the only places where ids are read and written. Without `ids` they are numbers, as in commands.
std::optional<DeliveryId> delivery_id(std::string_view text, const PublicIds& ids = {});

// The `next` of a page, and its cursor; none when the text cannot be one.
std::string cursor_text(const DeliveryCursor& cursor, const PublicIds& ids = {});
std::optional<DeliveryCursor> delivery_cursor(std::string_view text, const PublicIds& ids = {});

// Both: Error::invalid with a message that names the parameter or field.
Result<std::size_t> read_limit(std::string_view text, std::size_t most);
std::string time_fault(std::string_view field);  // of what is no time
Result<Timestamp> read_time(std::string_view field, std::string_view text);

}  // namespace waybill
