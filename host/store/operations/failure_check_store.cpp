// Failure checks on PostgreSQL.
#include "store/operations/failure_check_store.h"

#include "domain/idempotency.h"
#include "store/operations/alerts.sql.h"
#include "store/operations/failure_checks.sql.h"
#include "store/pg_stores.h"

namespace waybill {
namespace {

constexpr Millis kKept = std::chrono::hours(24 * 90);

// What tells a failure from others, in whichever list it stands: the references, or all that is known without them.
std::string identity_of(const std::string& action_type, const ReportedFailure& failure) {
  std::string text = action_type;
  text.append(1, '\0').append(failure.provider_ref).append(1, '\0').append(failure.reference);
  if (failure.provider_ref.empty() && failure.reference.empty()) {
    text.append(1, '\0').append(failure.status).append(1, '\0').append(failure.detail);
    if (failure.failed_at) text.append(1, '\0').append(std::to_string(failure.failed_at->micros));
  }
  return to_hex(as_view(sha256(text)));
}

// The columns `provider_ref`, `reference`, `status`, `detail` and `failed`.
template <class OneRow>
ReportedFailure read_failure(const OneRow& row) {
  return {.provider_ref = std::string(row.provider_ref()),
          .reference = std::string(row.reference()),
          .status = std::string(row.status()),
          .detail = std::string(row.detail()),
          .failed_at = row.failed()};
}

std::optional<std::string> micros_of(std::optional<Timestamp> time) {
  return time ? std::optional(std::to_string(time->micros)) : std::nullopt;
}

class PgFailureCheckStore final : public FailureCheckStore {
 public:
  PgFailureCheckStore(const DatabaseAddress& address, Millis lease)
      : link_(address, "failure_checks"), lease_(std::to_string(lease.count())) {}

  Result<FailureCheckState> state() override {
    const auto rows = link_.read(sql::failure_check_state, {lease_});
    TRY(rows);
    const auto row = rows->front();
    FailureCheckState state{
        .now = row.now(), .schedule = {}, .next = {}, .last_tick = {}, .tick = {}, .begun = {}, .host = {}, .newest = {}};
    state.newest = row.newest_schedule();
    if (!row.schedule()) return state;
    state.schedule = row.schedule();
    state.next = row.next();
    state.last_tick = row.last_tick();
    state.tick = row.tick();
    state.begun = row.begun();
    state.tries = static_cast<int>(value_or_zero(row.tries()));
    state.is_free = row.is_free();
    state.host = text_or_empty(row.host());
    return state;
  }

  Result<void> tell(HostId host, const std::string& schedule) override {
    TRY(link_.run(sql::tell_failure_schedule, {std::to_string(host.value), schedule}));
    return {};
  }

  Result<std::vector<HostSchedule>> schedules() override {
    const auto rows = link_.read(sql::failure_schedules);
    TRY(rows);
    std::vector<HostSchedule> all;
    for (const auto row : *rows) all.push_back({std::string(row.name()), std::string(row.schedule())});
    return all;
  }

  Result<void> plan(const std::string& schedule, std::optional<Timestamp> next, const FailureCheckState& seen) override {
    TRY(link_.run(sql::plan_failure_check, {schedule, micros_of(next), seen.schedule, micros_of(seen.next)}));
    return {};
  }

  Result<std::optional<FailureCheck>> begin(const FailureCheckState& seen, Timestamp tick, Timestamp next,
                                            const std::string& host) override {
    return taken(link_.run(sql::begin_failure_check, {micros_of(seen.next), micros_of(tick), micros_of(next), host, lease_}));
  }
  Result<std::optional<FailureCheck>> resume(const std::string& host) override {
    return taken(link_.run(sql::resume_failure_check, {host, lease_}));
  }
  Result<std::optional<FailureCheck>> begin_by_hand(const std::string& host) override {
    return taken(link_.run(sql::begin_failure_check_by_hand, {host, lease_}));
  }

  Result<std::optional<Timestamp>> checked_until(const std::string& target) override {
    const auto rows = link_.read(sql::failure_check_since, {target});
    TRY(rows);
    return rows->empty() ? std::nullopt : std::optional(rows->front().checked_until());
  }

  Result<bool> store(const FailureCheck& check, const std::string& target, const std::string& action_type,
                     std::span<const ReportedFailure> page) override {
    ArrayText identity, status, detail, at, provider_ref, reference;
    for (const auto& one : page) {
      identity.add(identity_of(action_type, one));
      status.add(one.status);
      detail.add(one.detail);
      if (one.failed_at)
        at.add(one.failed_at->micros);
      else
        at.add_null();
      provider_ref.add(one.provider_ref);
      reference.add(one.reference);
    }
    return is_mine(
        link_.run(sql::store_failures, {std::to_string(check.token), lease_, target, action_type, identity.take(), status.take(),
                                        detail.take(), at.take(), provider_ref.take(), reference.take()}));
  }

  Result<bool> put_off(const FailureCheck& check, Millis wait) override {
    return is_mine(link_.run(sql::put_off_failure_check, {std::to_string(check.token), std::to_string(wait.count())}));
  }

  Result<std::vector<DigestLine>> so_far(const FailureCheck& check) override {
    const auto rows = link_.run(sql::digest_so_far, {std::to_string(check.token)});
    TRY(rows);
    std::vector<DigestLine> lines;
    for (const auto row : *rows) {
      const OrgId org{row.org_id()};
      if (lines.empty() || lines.back().org != org) lines.push_back({.org = org, .by_status = {}});
      const auto failures = static_cast<std::uint64_t>(row.failures());
      lines.back().by_status[std::string(row.status())] = failures;
      lines.back().failures += failures;
      lines.back().linked += static_cast<std::uint64_t>(row.linked());
    }
    return lines;
  }

  Result<std::vector<DigestFailure>> first(const FailureCheck& check, OrgId org, std::size_t most) override {
    const auto rows =
        link_.run(sql::first_failures, {std::to_string(check.token), std::to_string(org.value), std::to_string(most)});
    TRY(rows);
    std::vector<DigestFailure> all;
    for (const auto row : *rows)
      all.push_back({.failure = read_failure(row),
                     .target = std::string(row.target()),
                     .action_type = {},
                     .submission = std::string(row.client_ref())});
    return all;
  }

  Result<bool> finish(const FailureCheck& check, const Ending& ending) override {
    ArrayText targets, known, at, problems;
    for (const auto& [target, asked] : ending.targets) {
      targets.add(target);
      known.add(target);
      at.add(asked.micros);
    }
    for (const auto& problem : ending.problems) problems.add(problem);
    const std::string of_targets = targets.take(), of_problems = problems.take();
    return link_.transact([&](Connection& connection) -> Result<bool> {
      const auto ended = connection.run(sql::end_failure_check, {std::to_string(check.token)});
      TRY(ended);
      if (ended->empty()) return false;
      const auto was = ended->front();
      const auto digest = std::to_string(value_or_zero(was.digest_id()));
      for (const auto& [org, words] : ending.organisations) {
        const auto of_org = std::to_string(org.value);
        TRY(connection.run(sql::store_digest, {of_org, digest, micros_of(was.tick()), was.by_hand() ? "true" : "false",
                                               micros_of(was.begun()), of_targets, of_problems}));
        if (!words.empty()) TRY(connection.run(sql::raise_alert, {of_org, "failed_messages", "digest-" + digest, words}));
      }
      TRY(connection.run(sql::note_checked, {known.take(), at.take()}));
      TRY(connection.run(sql::forget_digests, {std::to_string(kKept.count())}));
      return true;
    });
  }

  Result<std::vector<FailureDigest>> digests(OrgId org, std::size_t most) override {
    const auto rows = link_.read(sql::failure_digests, {std::to_string(org.value), std::to_string(most)});
    TRY(rows);
    std::vector<FailureDigest> all;
    for (const auto row : *rows)
      all.push_back({.id = row.digest_id(),
                     .tick = row.tick(),
                     .begun = row.begun(),
                     .finished = row.finished(),
                     .by_hand = row.by_hand(),
                     .targets = std::string(row.targets()),
                     .problems = std::string(row.problems()),
                     .by_status = std::string(row.by_status()),
                     .failures = static_cast<std::uint64_t>(row.failures())});
    return all;
  }

  Result<std::vector<DigestFailure>> failures(OrgId org, std::int64_t digest, std::size_t most) override {
    const auto rows =
        link_.read(sql::failures_of_digest, {std::to_string(org.value), std::to_string(digest), std::to_string(most)});
    TRY(rows);
    std::vector<DigestFailure> all;
    for (const auto row : *rows)
      all.push_back({.failure = read_failure(row),
                     .target = std::string(row.target()),
                     .action_type = std::string(row.action_type()),
                     .submission = std::string(row.client_ref())});
    return all;
  }

 private:
  template <class OneRow>
  static Result<std::optional<FailureCheck>> taken(const Result<RowsOf<OneRow>>& rows) {
    TRY(rows);
    if (rows->empty()) return std::nullopt;
    const auto row = rows->front();
    return FailureCheck{.token = value_or_zero(row.token()),
                        .tick = row.tick(),
                        .begun = row.begun(),
                        .now = row.now(),
                        .tries = static_cast<int>(row.tries())};
  }
  template <class OneRow>
  static Result<bool> is_mine(const Result<RowsOf<OneRow>>& rows) {
    TRY(rows);
    return rows->front().count() > 0;
  }

  Link link_;
  const std::string lease_;
};

}  // namespace

std::unique_ptr<FailureCheckStore> make_failure_check_store(const DatabaseAddress& address, Millis lease) {
  return std::make_unique<PgFailureCheckStore>(address, lease);
}

}  // namespace waybill
