// Forms on PostgreSQL: each call is a transaction; sweeps and purges take one for each submission that is in trouble.
#include "domain/form_pipeline.h"
#include "store/forms/form_loading.h"
#include "store/forms/form_rows.h"
#include "store/forms/form_transactions.h"
#include "store/forms/forms.sql.h"
#include "store/forms/purge_order.h"
#include "store/pg/tenant_link.h"
#include "store/pg_stores.h"
#include "store/submissions/read_rows.h"

namespace waybill {
namespace {

// False while a host still holds a delivery of it: next time.
Result<bool> purge_form(Connection& connection, SubmissionId id) {
  const Parameters key{std::to_string(shard_of(id)), std::to_string(id.value)};
  auto locked = connection.run(sql::lock_form_submission_by_id, key);
  TRY(locked);
  auto free = cancel_open(connection, id);
  TRY(free);
  if (!*free) return false;
  const auto submission = locked->front();
  std::string state(submission.state());
  std::optional<std::pair<OrgId, FormAlert>> dropped;
  if (const auto* move = form_overdue(state)) {
    auto failed = connection.run(sql::overdue_form, {key[0], key[1], state, move->reason, move->audit, move->trigger});
    TRY(failed);
    if (failed->size() == 1) {
      const auto overdue = failed->front();
      dropped = {OrgId{overdue.org_id()},
                 dropped_alert(submission.client_ref(), submission.target(), overdue.cancelled(), overdue.unscanned())};
      state = move->to;
    }
  }
  if (state == kFormPurged) return false;
  const auto& move = form_purged(state);
  auto purged = connection.run(sql::purge_form, {key[0], key[1], state, move.audit, move.trigger, null_if_empty(move.reason)});
  TRY(purged);
  if (dropped) TRY(raise(connection, dropped->first, dropped->second));  // last: incidents are rows that many transactions want
  return purged->size() == 1;
}

class PgFormStore final : public FormStore {
 public:
  PgFormStore(const DatabaseAddress& address, int shards, Millis kept, Millis try_again)
      : link_(address, "forms"), shards_(shards), kept_(kept), purge_order_(try_again), not_swept_(try_again) {}

  Result<SubmitResult> submit(const NewFormSubmission& submission) override {
    const Shard shard = shard_for(submission.org, submission.client_ref, shards_);
    return tenant_.transact(submission.org,
                            [&](Connection& connection) { return submit_form(connection, shard, submission, kept_); });
  }

  Result<std::optional<FormState>> finalize(OrgId org, const std::string& client_ref) override {
    const Shard shard = shard_for(org, client_ref, shards_);
    return tenant_.transact(org, [&](Connection& connection) { return finalize_form(connection, shard, org, client_ref); });
  }

  Result<std::optional<FormState>> scan(OrgId org, const std::string& attachment, Scan result,
                                        const std::string& actor) override {
    return tenant_.transact(org,
                            [&](Connection& connection) { return scan_attachment(connection, org, attachment, result, actor); });
  }

  Result<std::optional<FormView>> find(OrgId org, const std::string& client_ref) override {
    const Shard shard = shard_for(org, client_ref, shards_);
    return tenant_.transact(
        org, [&](Connection& connection) { return read_form(connection, shard, org, client_ref); },
        "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
  }

  Result<SubmissionPage> list(OrgId org, const SubmissionFilter& filter, std::size_t most,
                              const std::optional<DeliveryCursor>& after) override {
    return list_submissions(tenant_, org, filter, most, after);
  }

  Result<FormChanges> load(std::span<const Form> forms, const LoadActor& actor) override {
    return link_.transact([&](Connection& connection) { return load_forms(connection, forms, actor); });
  }

  Result<std::int64_t> ask_reload(const std::string& asked_by, std::span<const std::string> hosts) override {
    return link_.transact([&](Connection& connection) { return waybill::ask_reload(connection, asked_by, hosts); });
  }
  Result<std::optional<ReloadRequest>> newest_reload(const std::string& host) override {
    return link_.transact([&](Connection& connection) { return waybill::newest_reload(connection, host); });
  }
  Result<void> publish_registry(HostId host, const RegistryReport& report) override {
    return link_.transact([&](Connection& connection) { return waybill::publish_registry(connection, host, report); });
  }
  Result<std::vector<HostRegistry>> registries() override {
    return link_.transact([&](Connection& connection) { return read_registries(connection); });
  }

  Result<SweepResult> sweep(Shard shard, Seconds age) override {
    constexpr std::size_t kPage = 500, kMaxFailures = 20;
    SweepResult swept;
    Timestamp after;
    SubmissionId after_id;
    for (;;) {
      auto page =
          link_.run(sql::forms_in_processing, {std::to_string(shard), std::to_string(age.count()), std::to_string(after.micros),
                                               std::to_string(after_id.value), std::to_string(kPage)});
      TRY(page);
      std::vector<SubmissionId> submissions;
      for (const auto row : *page) {
        after_id = {row.submission_id()};
        after = row.since();
        if (!not_swept_.is_to_wait(after_id)) submissions.push_back(after_id);
      }
      TRY(advance_each(shard, submissions, kMaxFailures, swept));
      if (swept.failures.size() >= kMaxFailures) return swept;  // each may have waited long for a lock
      if (page->size() < kPage) break;
    }
    not_swept_.forget_settled();
    return swept;
  }

  Result<PurgeResult> purge(Shard shard, std::size_t most) override {
    const auto behind = purge_order_.behind(shard);
    auto expired = link_.run(sql::expired_forms, {std::to_string(shard), std::to_string(most),
                                                  std::to_string(behind.expires.micros), std::to_string(behind.id.value)});
    TRY(expired);
    PurgeResult purged;
    for (const auto row : *expired) {
      const SubmissionId id{row.submission_id()};
      purge_order_.went_on(shard, {row.expires(), id});  // also when the database goes away meanwhile
      if (purge_order_.is_to_wait(id)) continue;
      auto done = link_.transact([&](Connection& connection) { return purge_form(connection, id); });
      if (!done && done.error().kind == Error::Kind::unavailable && !link_.run(sql::forms_alive)) {
        if (purged.count == 0 && purged.failures.empty()) return tl::unexpected(done.error());
        return purged;  // the next call meets the same trouble, or goes on behind it
      }
      if (!done) {
        purge_order_.failed(id);
        purged.failures.push_back({id, done.error().what});
        continue;
      }
      purge_order_.done(id);
      purged.count += *done ? 1 : 0;
    }
    if (expired->size() < most) {
      purge_order_.begin_again(shard);
      purge_order_.forget_settled();
    }
    return purged;
  }

 private:
  // All at once, or each on its own when they cannot be.
  Result<void> advance_each(Shard shard, const std::vector<SubmissionId>& submissions, std::size_t max_failures,
                            SweepResult& swept) {
    const auto move = [&](const std::vector<SubmissionId>& some) {
      return link_.transact([&](Connection& connection) { return advance_forms(connection, shard, some); });
    };
    if (submissions.empty()) return {};
    auto all = move(submissions);
    if (all) {
      swept.moved += all->moved;
      for (const auto id : submissions) not_swept_.done(id);
      return {};
    }
    for (const auto id : submissions) {
      auto done = move({id});
      if (done) {
        swept.moved += done->moved;
        not_swept_.done(id);
        continue;
      }
      if (done.error().kind == Error::Kind::unavailable && !link_.run(sql::forms_alive)) return tl::unexpected(done.error());
      not_swept_.failed(id);
      swept.failures.push_back({id, done.error().what});
      if (swept.failures.size() >= max_failures) return {};
    }
    return {};
  }

  Link link_;
  TenantLink tenant_{link_, WithoutTenantRole::rely_on_statements};
  int shards_;
  Millis kept_;
  PurgeOrder purge_order_;
  FailedForms not_swept_;
};

}  // namespace

std::unique_ptr<FormStore> make_form_store(const DatabaseAddress& address, int shards, Millis kept, Millis try_again) {
  return std::make_unique<PgFormStore>(address, shards, kept, try_again);
}

}  // namespace waybill
