// How an exchange over the network ended, whatever its protocol.
#pragma once

#include <cstdint>

namespace waybill {

enum class NetError : std::int32_t { ok, refused, resolve, connect, tls, timeout, broken, cancelled };  // numbers as in plugin.h

}  // namespace waybill
