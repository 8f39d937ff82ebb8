// API tokens: only their hashes are kept.
#include "store/organisations/tokens.sql.h"
#include "store/pg_stores.h"
#include "store/submissions/read_rows.h"

namespace waybill {
namespace {

// How the hash of a token is kept that hosts of schema version 23 must not find.
Sha256 hash_apart(const Sha256& hash) { return sha256("apart:" + std::string(as_view(hash))); }

// Those hosts know neither scopes nor ends, and no owners of `default` that are no operators.
bool is_kept_apart(const NewToken& token) {
  return token.lasts || !token.targets.empty() || !token.paths.empty() || (token.org == kDefaultOrgName && token.role == "owner");
}

// Names and paths hold no control characters.
std::vector<std::string> lines(std::string_view text) {
  std::vector<std::string> all;
  while (!text.empty()) {
    const auto end = text.find('\n');
    all.emplace_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return all;
}

std::optional<std::string> array_or_null(const std::vector<std::string>& all) {
  if (all.empty()) return std::nullopt;
  ArrayText array;
  for (const auto& one : all) array.add(one);
  return array.take();
}

TokenView::State state_of(std::string_view ended_as) {
  if (ended_as == "revoked") return TokenView::State::revoked;
  return ended_as == "expired" ? TokenView::State::expired : TokenView::State::live;
}

TokenView read_token(const sql::find_token_row& row) {
  return {.org = {row.org_id()},
          .name = std::string(row.name()),
          .role = std::string(row.role()),
          .org_name = std::string(row.org_name()),
          .org_disabled = row.org_is_disabled(),
          .state = state_of(row.ended_as()),
          .number = row.token_id(),
          .id = std::string(row.public_id()),
          .targets = lines(row.targets()),
          .paths = lines(row.paths()),
          .lasts = row.lasts() ? std::optional(Micros{*row.lasts()}) : std::nullopt};
}

TokenRow read_listed(const sql::tokens_row& row) {
  return {.id = std::string(row.public_id()),
          .name = std::string(row.name()),
          .org = std::string(row.org_name()),
          .role = std::string(row.role()),
          .targets = lines(row.targets()),
          .paths = lines(row.paths()),
          .created = row.created(),
          .expires = row.expires(),
          .used = row.used(),
          .revoked = row.revoked(),
          .certificate = row.certificate()};
}

class PgTokenStore final : public TokenStore {
 public:
  PgTokenStore(const DatabaseAddress& address, std::string purpose) : link_(address, std::move(purpose)) {}

  Result<std::optional<TokenView>> find(const Sha256& hash) override {
    auto rows = link_.read(sql::find_token, {bytea(as_view(hash)), bytea(as_view(hash_apart(hash)))});
    TRY(rows);
    if (rows->empty()) return std::nullopt;
    return read_token(rows->front());
  }

  Result<TokenRow> create(const NewToken& token) override {
    if (token.role == "operator" && token.org != kDefaultOrgName)
      return fail(Error::Kind::invalid, "the role operator is for the organisation " + std::string(kDefaultOrgName) + " only");
    auto found = link_.run(sql::find_org, {token.org});
    TRY(found);
    if (found->empty()) return fail(Error::Kind::not_found, "there is no organisation \"" + token.org + "\"");
    const std::string org = std::to_string(found->front().org_id());
    TRY(link_.run(sql::retire_token, {org, token.name}));
    if (token.certificate) TRY(free_certificate(token.hash));
    const Sha256 hash = is_kept_apart(token) ? hash_apart(token.hash) : token.hash;
    const auto lasts = token.lasts ? std::optional(std::to_string(token.lasts->count())) : std::nullopt;
    auto made = link_.run(sql::create_token,
                          {org, token.name, token.role, bytea(as_view(hash)), token.id, lasts, array_or_null(token.targets),
                           array_or_null(token.paths), token.certificate ? "true" : "false"});
    TRY(made);
    if (made->empty())
      return fail(Error::Kind::conflict,
                  "there is a live token \"" + token.name + "\" already; revoke it first or choose another name");
    return TokenRow{.id = token.id,
                    .name = token.name,
                    .org = token.org,
                    .role = token.role,
                    .targets = token.targets,
                    .paths = token.paths,
                    .created = made->front().created(),
                    .expires = made->front().expires(),
                    .used = {},
                    .revoked = {},
                    .certificate = token.certificate};
  }

  Result<std::vector<TokenRow>> list(const std::optional<std::string>& org, bool also_revoked) override {
    auto rows = link_.read(sql::tokens, {org, also_revoked ? "true" : "false"});
    TRY(rows);
    std::vector<TokenRow> all;
    for (const auto row : *rows) all.push_back(read_listed(row));
    return all;
  }

  Result<bool> revoke(const std::string& org, const std::string& name) override {
    auto rows = link_.run(sql::revoke_token, {org, name});
    TRY(rows);
    return !rows->empty();
  }

  Result<bool> revoke_by_id(const std::string& id) override {
    auto rows = link_.run(sql::revoke_token_by_id, {id});
    TRY(rows);
    return !rows->empty();
  }

  Result<void> note_uses(std::span<const TokenUse> uses) override {
    ArrayText number, ago;
    for (const auto& use : uses) {
      number.add(use.number);
      ago.add(static_cast<std::int64_t>(use.ago.count()));
    }
    TRY(link_.run(sql::note_token_uses, {number.take(), ago.take()}));
    return {};
  }

 private:
  // A certificate is one token at a time.
  Result<void> free_certificate(const Sha256& hash) {
    const auto plain = bytea(as_view(hash)), apart = bytea(as_view(hash_apart(hash)));
    TRY(link_.run(sql::free_hash, {plain, apart}));
    auto live = link_.run(sql::token_of_hash, {plain, apart});
    TRY(live);
    if (live->empty()) return {};
    const auto owner = live->front();
    return fail(Error::Kind::conflict, "this certificate is the token \"" + std::string(owner.name()) + "\" (" +
                                           std::string(owner.public_id()) + ") of " + std::string(owner.org_name()) +
                                           " already; revoke it first");
  }

  Link link_;
};

}  // namespace

std::unique_ptr<TokenStore> make_token_store(const DatabaseAddress& address, const std::string& purpose) {
  return std::make_unique<PgTokenStore>(address, purpose);
}

}  // namespace waybill
