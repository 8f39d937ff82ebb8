// API tokens: only their hashes are kept.
#include "store/organisations/tokens.sql.h"
#include "store/pg_stores.h"
#include "store/submissions/read_rows.h"

namespace waybill {
namespace {

// How the hash of a token is kept that hosts of schema version 23 must not find (schema/0024_tokens.sql).
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

TokenRow row_of(const Rows& rows, std::size_t row) {
  return {.id = text_of(rows, row, 0),
          .name = text_of(rows, row, 1),
          .org = text_of(rows, row, 2),
          .role = text_of(rows, row, 3),
          .targets = lines(rows.text(row, 4)),
          .paths = lines(rows.text(row, 5)),
          .created = rows.time(row, 6),
          .expires = time_of(rows, row, 7),
          .used = time_of(rows, row, 8),
          .revoked = time_of(rows, row, 9),
          .certificate = rows.flag(row, 10)};
}

class PgTokenStore final : public TokenStore {
 public:
  PgTokenStore(const DatabaseAddress& address, std::string purpose) : link_(address, std::move(purpose)) {}

  Result<std::optional<TokenView>> find(const Sha256& hash) override {
    auto rows = link_.read(sql::find_token, {bytea(as_view(hash)), bytea(as_view(hash_apart(hash)))});
    TRY(rows);
    if (rows->size() == 0) return std::nullopt;
    const auto state = rows->text(0, 5);
    return TokenView{.org = {rows->number(0, 0)},
                     .name = text_of(*rows, 0, 1),
                     .role = text_of(*rows, 0, 2),
                     .org_name = text_of(*rows, 0, 3),
                     .org_disabled = rows->flag(0, 4),
                     .state = state == "revoked"   ? TokenView::State::revoked
                              : state == "expired" ? TokenView::State::expired
                                                   : TokenView::State::live,
                     .number = rows->number(0, 6),
                     .id = text_of(*rows, 0, 7),
                     .targets = lines(rows->text(0, 8)),
                     .paths = lines(rows->text(0, 9)),
                     .lasts = rows->is_null(0, 10) ? std::nullopt : std::optional(Micros{rows->number(0, 10)})};
  }

  Result<TokenRow> create(const NewToken& token) override {
    if (token.role == "operator" && token.org != kDefaultOrgName)
      return fail(Error::Kind::invalid, "the role operator is for the organisation " + std::string(kDefaultOrgName) + " only");
    auto found = link_.run(sql::find_org, {token.org});
    TRY(found);
    if (found->size() == 0) return fail(Error::Kind::not_found, "there is no organisation \"" + token.org + "\"");
    const std::string org = text_of(*found, 0, 0);
    TRY(link_.run(sql::retire_token, {org, token.name}));
    if (token.certificate) TRY(free_certificate(token.hash));
    const Sha256 hash = is_kept_apart(token) ? hash_apart(token.hash) : token.hash;
    const auto lasts = token.lasts ? std::optional(std::to_string(token.lasts->count())) : std::nullopt;
    auto made = link_.run(sql::create_token,
                          {org, token.name, token.role, bytea(as_view(hash)), token.id, lasts, array_or_null(token.targets),
                           array_or_null(token.paths), token.certificate ? "true" : "false"});
    TRY(made);
    if (made->size() == 0)
      return fail(Error::Kind::conflict,
                  "there is a live token \"" + token.name + "\" already; revoke it first or choose another name");
    return TokenRow{.id = token.id,
                    .name = token.name,
                    .org = token.org,
                    .role = token.role,
                    .targets = token.targets,
                    .paths = token.paths,
                    .created = made->time(0, 0),
                    .expires = time_of(*made, 0, 1),
                    .used = {},
                    .revoked = {},
                    .certificate = token.certificate};
  }

  Result<std::vector<TokenRow>> list(const std::optional<std::string>& org, bool also_revoked) override {
    auto rows = link_.read(sql::tokens, {org, also_revoked ? "true" : "false"});
    TRY(rows);
    std::vector<TokenRow> all;
    for (std::size_t row = 0; row < rows->size(); ++row) all.push_back(row_of(*rows, row));
    return all;
  }

  Result<bool> revoke(const std::string& org, const std::string& name) override {
    auto rows = link_.run(sql::revoke_token, {org, name});
    TRY(rows);
    return rows->size() > 0;
  }

  Result<bool> revoke_by_id(const std::string& id) override {
    auto rows = link_.run(sql::revoke_token_by_id, {id});
    TRY(rows);
    return rows->size() > 0;
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
    if (live->size() == 0) return {};
    return fail(Error::Kind::conflict, "this certificate is the token \"" + text_of(*live, 0, 1) + "\" (" + text_of(*live, 0, 2) +
                                           ") of " + text_of(*live, 0, 0) + " already; revoke it first");
  }

  Link link_;
};

}  // namespace

std::unique_ptr<TokenStore> make_token_store(const DatabaseAddress& address, const std::string& purpose) {
  return std::make_unique<PgTokenStore>(address, purpose);
}

}  // namespace waybill
