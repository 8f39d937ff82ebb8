// Converts Reach to plugin.h's wb_reach.
#pragma once

#include <waybill/plugin.h>

#include "domain/outcome.h"

namespace waybill {

constexpr wb_reach reach_of(Reach reach) {
  switch (reach) {
    case Reach::not_sent:
      return WB_NOT_SENT;
    case Reach::answered:
      return WB_ANSWERED;
    default:
      return WB_MAYBE_SENT;
  }
}

}  // namespace waybill
