// How the connections of one target, or of one sender, are secured: what the operator writes beside its other fields.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/problem.h"

namespace waybill {

enum class TlsVersion : std::uint8_t { v1_2, v1_3 };

struct TransportRules {
  std::filesystem::path ca_file;             // who may sign a server's certificate; empty: the system's authorities
  std::filesystem::path client_certificate;  // PEM, with its chain; empty: none is shown
  std::string client_key;                    // a path, or {secret:NAME}; empty: the key stands in the certificate's file
  TlsVersion tls_min = TlsVersion::v1_2;
  bool insecure = false;          // secrets may go out in clear: in headers to http://, and as a relay's login
  bool unverified_login = false;  // a sender's: the operator chose a `tls` that does not protect the login

  bool operator==(const TransportRules&) const = default;
};

// The names of the fields, in a target of the registry as in an entry of `senders`.
inline constexpr std::array<std::string_view, 5> kTransportFields{"ca_file", "client_certificate", "client_key", "tls_min",
                                                                  "insecure"};
bool is_transport_field(std::string_view name);

// A field's value: a text, as a number was written, or true or false. None: it is of another kind.
struct TransportValue {
  std::optional<std::string> text{};
  std::optional<bool> flag{};
};
// Takes one of kTransportFields in; relative paths are relative to `folder`. Else what the value must be, and `rules` stays.
std::optional<std::string> take_transport_field(TransportRules& rules, std::string_view name, const TransportValue& value,
                                                const std::filesystem::path& folder);

// The name of the secret that holds the key; none: it is in a file.
std::optional<std::string> key_secret(const TransportRules& rules);

// A target's rules, and where they stand: its path in its file. None: the target has none of the fields.
struct TargetTransport {
  Problem place;  // file, line and field; without a message
  std::optional<TransportRules> rules{};
};
using TargetTransports = std::map<std::string, TargetTransport, std::less<>>;  // by target

}  // namespace waybill
