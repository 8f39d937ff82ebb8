// How a connection is secured: what TransportRules name, read from its files and checked.
#pragma once

#include <memory>
#include <string>

#include "base/error.h"
#include "base/problem.h"
#include "base/secret.h"
#include "egress/transport_rules.h"

namespace waybill {

class Secrets;

struct Transport {
  std::string authorities;  // PEM: who may sign a server's certificate; empty: the system's
  std::string certificate;  // PEM, with its chain: what is shown to a server that asks for one; empty: none
  Secret key;               // PEM
  TlsVersion tls_min = TlsVersion::v1_2;
  bool insecure = false;          // a header with a secret may go to http://
  bool unverified_login = false;  // a relay's login need not be protected by verified TLS
  std::string identity{};         // a hash: the same for the same contents
};

// Reads and checks the files. A problem is at `place`, with the name of the field behind its own; `remarks` gets what is no
// problem yet, such as a certificate that has expired. Nothing of a key is ever repeated.
tl::expected<std::shared_ptr<const Transport>, Problems> load_transport(const TransportRules& rules, const Secrets& secrets,
                                                                        const Problem& place, Problems& remarks);

}  // namespace waybill
