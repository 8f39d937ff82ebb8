// The table of purposes.
#include "store/pg/session_limits.h"

namespace waybill {
namespace {

struct Limit {
  std::string_view purpose;
  Millis DatabaseTimeouts::*statement;  // null: for ever
  bool writes;
};

constexpr Limit kLimits[] = {
    {"liveness", &DatabaseTimeouts::liveness, true},
    {"intake", &DatabaseTimeouts::intake, true},
    {"forms", &DatabaseTimeouts::intake, true},
    {"notify", &DatabaseTimeouts::intake, true},
    {"pipelines", &DatabaseTimeouts::intake, true},
    {"read", &DatabaseTimeouts::read, false},
    {"tokens", &DatabaseTimeouts::read, false},
    {"check", &DatabaseTimeouts::read, true},
    {"shards", &DatabaseTimeouts::read, false},
    {"claim", &DatabaseTimeouts::claim, true},
    {"settle", &DatabaseTimeouts::settle, true},
    {"tasks", &DatabaseTimeouts::maintenance, true},
    {"rescue", &DatabaseTimeouts::maintenance, true},
    {"suspects", &DatabaseTimeouts::maintenance, true},
    {"alerts", &DatabaseTimeouts::maintenance, true},
    {"monitor", &DatabaseTimeouts::read, false},
    {"doctor", &DatabaseTimeouts::read, false},
    {"drain", &DatabaseTimeouts::maintenance, true},
    {"archive", &DatabaseTimeouts::maintenance, true},
    {"fence", &DatabaseTimeouts::maintenance, true},
    {"erase", &DatabaseTimeouts::maintenance, true},
    {"failure_checks", &DatabaseTimeouts::maintenance, true},
    {"dead", &DatabaseTimeouts::maintenance, false},
    {"organisations", &DatabaseTimeouts::maintenance, false},
    {"schema", nullptr, false},  // from here on: one at a time, and somebody watches
    {"export", nullptr, true},
    {"import", nullptr, true},
    {"migrate", nullptr, true},
    {"roles", nullptr, true},
};

}  // namespace

SessionLimits limits_of(std::string_view purpose, const DatabaseTimeouts& timeouts) {
  for (const auto& row : kLimits) {
    if (row.purpose != purpose) continue;
    if (!row.statement) return {.statement = Millis{0}, .lock = Millis{0}, .writes = row.writes};
    return {.statement = timeouts.*row.statement, .lock = timeouts.lock, .writes = row.writes};
  }
  return {.statement = timeouts.maintenance, .lock = timeouts.lock, .writes = false};
}

}  // namespace waybill
