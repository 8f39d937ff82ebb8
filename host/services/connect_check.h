// Whether servers can be reached, as messages would reach them, without sending one. Each call blocks, and ends in its time.
#pragma once

#include <memory>
#include <string>

#include "base/error.h"
#include "base/time.h"
#include "services/smtp_connection.h"

namespace waybill {

// Connects to a URL's host and port and, for https, shakes hands and checks the certificate; nothing is asked. Error::invalid for
// a URL that cannot be called, else Error::unavailable with what went wrong.
Result<void> try_connect(const std::string& url, std::shared_ptr<const Transport> transport, const EgressPolicy& policy,
                         Millis at_most);

// Connects to a relay, greets it (EHLO), begins TLS as the login says, logs in where there is a user, and says goodbye. The error
// names the step that failed.
Result<void> try_relay(const SmtpLogin& login, std::shared_ptr<const EgressPolicy> policy, Millis at_most);

}  // namespace waybill
