// Whether a client's certificate is one that the listener takes.
#pragma once

#include <filesystem>

#include "base/error.h"

namespace waybill::http {

// An error with its reason unless a connection that shows the first certificate of `file` (PEM; others are the chain to its
// authority) would be taken now by a listener with this tls.client_ca.
Result<void> expect_client_certificate(const std::filesystem::path& file, const std::filesystem::path& client_ca);

}  // namespace waybill::http
