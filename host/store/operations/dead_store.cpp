// Dead letters on PostgreSQL: list, show, edit. Replays and clones: dead_replay.cpp, dead_clone.cpp.
#include "domain/form.h"
#include "domain/idempotency.h"
#include "store/operations/dead_letters.sql.h"
#include "store/operations/dead_rows.h"
#include "store/pg/tenant_link.h"
#include "store/pg_stores.h"
#include "store/submissions/read_rows.h"

namespace waybill {
namespace {

constexpr const char* kSnapshot = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

// One thing that an edit changes.
struct Change {
  std::string field, before, after;
  std::string whole;  // the letter's new payload, or its new destination as JSON
};

std::string hash_of(const std::string& text) { return to_hex(as_view(sha256(text))); }

std::string why_not_edited(const DeadLetterState& s) {
  if (s.letter.kind != "form") return "only letters of forms can be edited; this one is of kind " + s.letter.kind;
  if (s.letter.replayed) return "it was replayed already, by " + s.letter.replayed_by;
  if (s.state == "purged" || !s.kept) return "its submission is purged: what it held is not kept any more";
  return {};
}

Result<std::vector<Change>> changes_of(const DeadLetterState& letter, const DeadLetterEdit& edit) {
  std::vector<Change> changes;
  if (edit.fields) {
    auto before = fields_of(letter.payload);
    TRY(before);
    auto whole = with_fields(letter.payload, *edit.fields);
    TRY(whole);
    auto after = fields_of(*whole);
    TRY(after);
    changes.push_back({"fields", std::move(*before), std::move(*after), std::move(*whole)});
  }
  if (edit.destination) {
    auto before = destination_of(letter.contract.destination);
    TRY(before);
    auto whole = with_destination(letter.contract.destination, *edit.destination);
    TRY(whole);
    changes.push_back({"destination", std::move(*before), *edit.destination, std::move(*whole)});
  }
  std::erase_if(changes, [](const Change& change) { return change.before == change.after; });
  return changes;
}

class PgDeadStore final : public DeadStore {
 public:
  PgDeadStore(const DatabaseAddress& address, int shards, std::size_t rate)
      : link_(address, "dead"), shards_(shards), rate_(rate) {}

  Result<DeadPage> list(OrgId org, const DeadFilter& filter, std::size_t most, std::optional<DeliveryCursor> after) override {
    return tenant_.transact(
        org, [&](Connection& connection) { return letters_of(connection, org, filter, most, after); }, kSnapshot);
  }

  Result<std::optional<DeadLetterView>> show(OrgId org, DeliveryId id) override {
    return tenant_.transact(
        org, [&](Connection& connection) { return show_in(connection, org, id); }, kSnapshot);
  }

  Result<void> edit(OrgId org, DeliveryId id, const DeadLetterEdit& edit, const std::string& actor) override {
    return tenant_.transact(org, [&](Connection& connection) { return edit_in(connection, org, id, edit, actor); });
  }

  Result<Replays> replay(OrgId org, const DeadFilter& filter, const std::string& actor, bool dry_run) override {
    return tenant_.transact(
        org,
        [&](Connection& connection) {
          return replay_in(connection, {.org = org, .filter = filter, .actor = actor, .dry_run = dry_run, .rate = rate_});
        },
        dry_run ? kSnapshot : "BEGIN");
  }

  Result<CloneResult> clone(OrgId org, DeliveryId id, const std::string& reference, const std::vector<CloneAction>& actions,
                            const std::string& actor) override {
    return tenant_.transact(org, [&](Connection& connection) {
      return clone_in(connection, {.org = org,
                                   .id = id,
                                   .reference = reference,
                                   .shard = shard_for(org, reference, shards_),
                                   .actions = actions,
                                   .actor = actor});
    });
  }

 private:
  static Result<std::optional<DeadLetterView>> show_in(Connection& connection, OrgId org, DeliveryId id) {
    auto states = states_of(connection, org, {id}, Payloads::read);
    TRY(states);
    if (states->empty()) return std::optional<DeadLetterView>{};
    DeadLetterState& dead = states->front();
    DeadLetterView view{.letter = std::move(dead.letter),
                        .state = std::move(dead.state),
                        .payload = std::move(dead.payload),
                        .destination = std::move(dead.contract.destination),
                        .result = std::move(dead.result),
                        .attempts = {},
                        .edits = {}};
    const std::string shard = std::to_string(shard_of(id)), letter = std::to_string(id.value);
    auto attempts = connection.run(sql::dead_attempts, {shard, letter});
    TRY(attempts);
    for (const auto row : *attempts) view.attempts.push_back(read_attempt(row));
    auto edits = connection.run(sql::dead_edits, {shard, std::to_string(view.letter.submission.value), letter});
    TRY(edits);
    for (const auto row : *edits)
      view.edits.push_back({.id = row.id(),
                            .edited = row.edited(),
                            .actor = std::string(row.actor()),
                            .field = std::string(row.field()),
                            .before = std::string(row.before()),
                            .after = std::string(row.after())});
    return view;
  }

  static Result<void> edit_in(Connection& connection, OrgId org, DeliveryId id, const DeadLetterEdit& edit,
                              const std::string& actor) {
    TRY(lock_submissions_of(connection, org, {id}));
    auto states = states_of(connection, org, {id}, Payloads::read);
    TRY(states);
    if (states->empty()) return fail(Error::Kind::not_found, no_such_letter(id));
    const DeadLetterState& dead = states->front();
    if (auto refused = why_not_edited(dead); !refused.empty()) return fail(Error::Kind::conflict, refused);
    auto changes = changes_of(dead, edit);
    TRY(changes);
    for (const auto& change : *changes) {
      TRY(connection.run(sql::edit_dead,
                         {std::to_string(shard_of(id)), std::to_string(id.value), std::to_string(dead.letter.submission.value),
                          std::to_string(org.value), actor, change.field, change.before, change.after, change.whole,
                          hash_of(change.before), hash_of(change.after)}));
    }
    return {};
  }

  Link link_;
  TenantLink tenant_{link_, WithoutTenantRole::rely_on_statements};
  int shards_;
  std::size_t rate_;
};

}  // namespace

std::unique_ptr<DeadStore> make_dead_store(const DatabaseAddress& address, int shards, std::size_t rate) {
  return std::make_unique<PgDeadStore>(address, shards, rate);
}

}  // namespace waybill
