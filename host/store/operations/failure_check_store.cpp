// Failure checks on PostgreSQL.
#include "store/operations/failure_check_store.h"

#include "domain/idempotency.h"
#include "store/operations/alerts.sql.h"
#include "store/operations/failure_checks.sql.h"
#include "store/pg_stores.h"
#include "store/submissions/read_rows.h"

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
    FailureCheckState state{
        .now = rows->time(0, 0), .schedule = {}, .next = {}, .last_tick = {}, .tick = {}, .begun = {}, .host = {}, .newest = {}};
    if (!rows->is_null(0, 9)) state.newest = text_of(*rows, 0, 9);
    if (rows->is_null(0, 1)) return state;
    state.schedule = text_of(*rows, 0, 1);
    state.next = time_of(*rows, 0, 2);
    state.last_tick = time_of(*rows, 0, 3);
    state.tick = time_of(*rows, 0, 4);
    state.begun = time_of(*rows, 0, 5);
    state.tries = static_cast<int>(rows->number(0, 6));
    state.is_free = rows->flag(0, 7);
    state.host = rows->is_null(0, 8) ? "" : text_of(*rows, 0, 8);
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
    for (std::size_t row = 0; row < rows->size(); ++row) all.push_back({text_of(*rows, row, 0), text_of(*rows, row, 1)});
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
    return rows->size() == 0 ? std::nullopt : std::optional(rows->time(0, 0));
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
    for (std::size_t row = 0; row < rows->size(); ++row) {
      const OrgId org{rows->number(row, 0)};
      if (lines.empty() || lines.back().org != org) lines.push_back({.org = org, .by_status = {}});
      const auto count = static_cast<std::uint64_t>(rows->number(row, 2));
      lines.back().by_status[text_of(*rows, row, 1)] = count;
      lines.back().failures += count;
      lines.back().linked += static_cast<std::uint64_t>(rows->number(row, 3));
    }
    return lines;
  }

  Result<std::vector<DigestFailure>> first(const FailureCheck& check, OrgId org, std::size_t most) override {
    const auto rows =
        link_.run(sql::first_failures, {std::to_string(check.token), std::to_string(org.value), std::to_string(most)});
    TRY(rows);
    std::vector<DigestFailure> all;
    for (std::size_t row = 0; row < rows->size(); ++row)
      all.push_back({.failure = {.provider_ref = text_of(*rows, row, 3),
                                 .reference = text_of(*rows, row, 2),
                                 .status = text_of(*rows, row, 0),
                                 .detail = text_of(*rows, row, 5),
                                 .failed_at = time_of(*rows, row, 6)},
                     .target = text_of(*rows, row, 1),
                     .action_type = {},
                     .submission = text_of(*rows, row, 4)});
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
      if (ended->size() == 0) return false;
      const auto digest = text_of(*ended, 0, 0), tick = text_of(*ended, 0, 1);
      for (const auto& [org, words] : ending.organisations) {
        const auto of_org = std::to_string(org.value);
        TRY(connection.run(sql::store_digest,
                           {of_org, digest, tick, text_of(*ended, 0, 2), text_of(*ended, 0, 3), of_targets, of_problems}));
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
    for (std::size_t row = 0; row < rows->size(); ++row)
      all.push_back({.id = rows->number(row, 0),
                     .tick = rows->time(row, 1),
                     .begun = rows->time(row, 3),
                     .finished = rows->time(row, 4),
                     .by_hand = rows->flag(row, 2),
                     .targets = text_of(*rows, row, 5),
                     .problems = text_of(*rows, row, 6),
                     .by_status = text_of(*rows, row, 8),
                     .failures = static_cast<std::uint64_t>(rows->number(row, 7))});
    return all;
  }

  Result<std::vector<DigestFailure>> failures(OrgId org, std::int64_t digest, std::size_t most) override {
    const auto rows =
        link_.read(sql::failures_of_digest, {std::to_string(org.value), std::to_string(digest), std::to_string(most)});
    TRY(rows);
    std::vector<DigestFailure> all;
    for (std::size_t row = 0; row < rows->size(); ++row)
      all.push_back({.failure = {.provider_ref = text_of(*rows, row, 5),
                                 .reference = text_of(*rows, row, 6),
                                 .status = text_of(*rows, row, 2),
                                 .detail = text_of(*rows, row, 3),
                                 .failed_at = time_of(*rows, row, 4)},
                     .target = text_of(*rows, row, 0),
                     .action_type = text_of(*rows, row, 1),
                     .submission = text_of(*rows, row, 7)});
    return all;
  }

 private:
  static Result<std::optional<FailureCheck>> taken(const Result<Rows>& rows) {
    TRY(rows);
    if (rows->size() == 0) return std::nullopt;
    return FailureCheck{.token = rows->number(0, 0),
                        .tick = rows->time(0, 1),
                        .begun = rows->time(0, 2),
                        .now = rows->time(0, 4),
                        .tries = static_cast<int>(rows->number(0, 3))};
  }
  static Result<bool> is_mine(const Result<Rows>& rows) {
    TRY(rows);
    return rows->number(0, 0) > 0;
  }

  Link link_;
  const std::string lease_;
};

}  // namespace

std::unique_ptr<FailureCheckStore> make_failure_check_store(const DatabaseAddress& address, Millis lease) {
  return std::make_unique<PgFailureCheckStore>(address, lease);
}

}  // namespace waybill
