// Dead letters as the wire and the command line show them, and the requests about them, read strictly.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "base/public_ids.h"
#include "http/http.h"
#include "store/operations/dead_store.h"

namespace waybill {

inline constexpr std::size_t kMaxListed = 1000;
inline constexpr std::size_t kUsuallyListed = 100;

struct DeadQuery {
  DeadFilter filter;
  std::size_t most = kUsuallyListed;
  std::optional<DeliveryCursor> after;
};
struct ReplayRequest {
  DeadFilter filter;
  bool dry_run = false;
};

// All of them: Error::invalid with a message that names the field.
Result<DeadQuery> read_dead_query(const http::Request& request, const PublicIds& ids = {});
Result<DeadLetterEdit> read_edit(std::string_view body);
Result<bool> read_dry_run(std::string_view body);               // of one letter; an empty body is an empty object
Result<ReplayRequest> read_bulk_replay(std::string_view body);  // of many: at least one filter
Result<std::string> read_new_reference(std::string_view body);

// Why this is no edit, or "" if it is one.
std::string edit_fault(const DeadLetterEdit& edit);

std::string dead_page_json(const DeadPage& page, const PublicIds& ids = {});
std::string dead_letter_json(const DeadLetterView& view, const PublicIds& ids = {});
std::string replays_json(const Replays& replays, bool dry_run, const PublicIds& ids = {});
std::string cloned_json(const CloneResult& cloned);

}  // namespace waybill
