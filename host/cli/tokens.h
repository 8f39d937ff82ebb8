// `waybill token ...`: what clients show to the host. No host need run.
#pragma once

#include <string>
#include <vector>

#include "app/installation.h"

namespace waybill {

struct TokenOptions {
  std::string org = "default";
  std::string name, role = "member";
  std::string expires;  // "90d"; "": never
  std::vector<std::string> targets, paths;
  bool future_targets = false;  // the registry need not have them yet
  std::string certificate;      // the file of one that is shown instead of a secret; "": there is a secret
  std::string id;               // of one to revoke, instead of its name
  bool all_orgs = false;        // list those of every organisation
  bool also_revoked = false;    // list them, too
};

int create_token(const GlobalOptions& options, const TokenOptions& wanted);
int list_tokens(const GlobalOptions& options, const TokenOptions& token);
int revoke_token(const GlobalOptions& options, const TokenOptions& token);

}  // namespace waybill
