// OpenSSL's generator.
#include "base/random.h"

#include <openssl/rand.h>

#include <stdexcept>

namespace waybill {

std::string random_bytes(std::size_t count) {
  std::string bytes(count, '\0');
  if (RAND_bytes(reinterpret_cast<unsigned char*>(bytes.data()), static_cast<int>(count)) != 1)
    throw std::runtime_error("no random bytes can be had");
  return bytes;
}

}  // namespace waybill
