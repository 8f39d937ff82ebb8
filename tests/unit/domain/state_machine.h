// Every status and every event, for tests that go through all of them.
#pragma once

#include "domain/status.h"

namespace waybill {

inline constexpr Status kStatuses[] = {Status::waiting,  Status::open,      Status::due,      Status::claimed,  Status::accepted,
                                       Status::rejected, Status::exhausted, Status::deferred, Status::cancelled};
inline constexpr Event kEvents[] = {Event::ready,  Event::claim,  Event::release, Event::retry, Event::lease_lost,
                                    Event::accept, Event::reject, Event::exhaust, Event::defer, Event::cancel};

}  // namespace waybill
