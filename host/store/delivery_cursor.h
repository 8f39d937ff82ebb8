// A place in a list of deliveries that is ordered by time and id: the page behind it begins after it.
#pragma once

#include "base/id.h"
#include "base/time.h"

namespace waybill {

struct DeliveryCursor {
  Timestamp at;
  DeliveryId id;
};

}  // namespace waybill
