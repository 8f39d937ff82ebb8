// What waits, and what was done about it, as the wire and the command line show it; the requests about it, read strictly.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/json_writer.h"
#include "base/public_ids.h"
#include "http/http.h"
#include "waiting/waiting_service.h"

namespace waybill {

inline constexpr std::size_t kMaxWaitingListed = 200;

struct WaitingQuery {
  std::optional<std::string> org;
  WaitingFilter filter;
  std::size_t most = 100;
  std::optional<DeliveryCursor> after;
};
struct WaitingWish {
  std::optional<std::string> org;
  std::string to;  // of rerouting
  WaitingOrder order;
};
struct RateWish {
  std::string org;
  Rate rate;
  std::optional<Seconds> lasts;
};

// All: Error::invalid with a message that names the field.
Result<WaitingQuery> read_waiting_query(const http::Request& request, const PublicIds& ids);
Result<WaitingWish> read_waiting_end(std::string_view body, const PublicIds& ids);
Result<WaitingWish> read_waiting_reroute(std::string_view body, const PublicIds& ids);
Result<RateWish> read_rate_wish(std::string_view body);
Result<void> set_waiting_kind(WaitingFilter& filter, const std::string& word);

std::string waiting_json(const WaitingPage& page, const PublicIds& ids = {});
std::string waiting_done_json(const WaitingDone& done, bool dry_run, const PublicIds& ids = {});
Json rate_json(const TargetName& name, const RateOrder& order);
Json rates_json(const std::vector<TargetRate>& rates);

}  // namespace waybill
