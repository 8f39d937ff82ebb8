// How a connection is secured: what TransportRules name, read from its files and checked.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/problem.h"
#include "base/secret.h"
#include "base/time.h"
#include "egress/transport_rules.h"

struct x509_store_st;

namespace waybill {

class Secrets;

// Who may sign a server's certificate. Parsed once, and shared by all connections.
struct Authorities {
  std::shared_ptr<x509_store_st> store;
  std::string mark;          // PEM of one of them, and a hash of all: what curl tells connections apart by
  bool has_expired = false;  // each of them
};
// Of certificates in PEM. Null: there is none, or one that cannot be read.
std::shared_ptr<const Authorities> authorities_in(const std::string& pem);

// One of the certificates of a file in PEM, and when it ends.
struct CertificateEnd {
  std::string subject;
  Timestamp ends;
};
// In their order in the file. Error::invalid: it cannot be read, or holds none.
Result<std::vector<CertificateEnd>> certificate_ends(const std::filesystem::path& file);

struct Transport {
  std::shared_ptr<const Authorities> authorities;  // null: the system's
  std::string certificate;                         // PEM, with its chain: shown to a server that asks for one; empty: none
  Secret key;                                      // PEM
  TlsVersion tls_min = TlsVersion::v1_2;
  bool insecure = false;          // a header with a secret may go to http://
  bool unverified_login = false;  // a relay's login need not be protected by verified TLS
  std::string identity{};         // a hash: the same for the same contents
};

// Reads and checks the files; one that many targets name is read once. Lives while a registry is loaded.
class TransportReader {
 public:
  // `remarks` gets what is no problem yet, such as a certificate that has expired.
  TransportReader(const Secrets& secrets, Problems& remarks) : secrets_(secrets), remarks_(remarks) {}

  // A problem is at `place`, with the name of the field behind its own. Nothing of a key is ever repeated.
  tl::expected<std::shared_ptr<const Transport>, Problems> read(const TransportRules& rules, const Problem& place);

 private:
  class Reading;
  using Found = tl::expected<std::shared_ptr<const Authorities>, std::string>;
  const Found& authorities_of(const std::filesystem::path& file);

  const Secrets& secrets_;
  Problems& remarks_;
  std::map<std::filesystem::path, Found> authorities_;
};

}  // namespace waybill
