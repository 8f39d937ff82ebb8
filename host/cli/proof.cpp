// The command that proves what was sent: what it prints for people, and the document.
#include "cli/proof.h"

#include <nlohmann/json.hpp>

#include "api/proof_json.h"
#include "api/query.h"
#include "base/printing.h"
#include "cli/commands.h"
#include "cli/database_command.h"
#include "cli/json_output.h"

namespace waybill {
namespace {

std::string or_unknown(const std::string& text) { return text.empty() ? "not on record" : text; }

void print_attempt(const ProvedAttempt& proved) {
  const auto& a = proved.attempt;
  print_line("  attempt " + std::to_string(a.number) + "  " + format_rfc3339(a.started) + " to " +
             (a.finished ? format_rfc3339(*a.finished) : "an end that nobody saw") + ": " + a.outcome +
             (a.code == 0 ? "" : ", code " + std::to_string(a.code)) + (a.reason.empty() ? "" : ", " + a.reason) +
             (a.error.empty() ? "" : ": " + a.error));
  print_line("    sent       SHA-256 " + or_unknown(proved.sent_hash));
  if (!proved.signed_with.empty()) print_line("    signed     with key " + proved.signed_with);
  if (!a.provider_ref.empty()) print_line("    provider   " + a.provider_ref);
}

void print_proof(const Proof& proof) {
  const auto& s = proof.submission;
  print_text(Ink::bold, "%s", s.client_ref.empty() ? std::to_string(s.id.value).c_str() : s.client_ref.c_str());
  print_line(": " + s.state);
  print_line("  kind       " + proof.kind + " for " + s.target + ", organisation " + proof.organisation);
  print_line("  taken in   " + format_rfc3339(s.created) + ", SHA-256 of its content " + proof.content_hash);
  print_line("  ended      " +
             (s.completed ? format_rfc3339(*s.completed) + (s.reason.empty() ? "" : ", " + s.reason) : "not yet"));
  for (const auto& one : proof.deliveries) {
    print_line("delivery " + std::to_string(one.view.delivery.value) + " by " + one.view.action_type + " to " +
               one.contract.cooldown_key() + ": " + std::string(to_string(one.view.status)));
    if (!one.composed_hash.empty()) print_line("  composed   " + one.composed_type + ", SHA-256 " + one.composed_hash);
    for (const auto& attempt : one.attempts) print_attempt(attempt);
    if (one.attempts.empty()) print_line("  never attempted");
  }
  print_line("audit");
  for (const auto& one : proof.audit) print_line("  " + format_rfc3339(one.created) + "  " + one.action + " by " + one.actor);
  if (!proof.is_complete) print_line("there are more attempts than are listed here");
}

}  // namespace

int prove(const GlobalOptions& options, const ProofOptions& wanted) {
  return on_organisation(options, wanted.org, [&](const Config&, const Reading& reading) {
    const auto& address = reading.database.address;
    const auto store = make_proof_store(address, reading.shards);
    const auto proof = find_proof(*store, reading.org, wanted.kind, wanted.id, ids_in_commands(address));
    if (!proof) return failed(proof.error().what);
    if (!*proof) return failed("organisation \"" + wanted.org + "\" has no submission \"" + wanted.id + "\"");
    if (options.json)
      print_json(proof_json(**proof));
    else
      print_proof(**proof);
    return 0;
  });
}

}  // namespace waybill
