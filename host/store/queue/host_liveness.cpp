// How a host shows that it lives: a session that holds the advisory lock of its id. The lock goes with the session, whatever
// ends it, and whoever gets it then knows.
#include "store/queue/host_liveness.h"

#include "store/pg_stores.h"
#include "store/queue/host_liveness.sql.h"

namespace waybill {

HostLiveness::HostLiveness(DatabaseAddress address, std::string name, int knows, Millis lease)
    : address_(std::move(address)), name_(std::move(name)), knows_(knows), lease_(lease) {}

// What cannot be read of the schema now is read the next time.
void HostLiveness::look(Connection& connection) {
  if (const auto seen = look_at_schema(connection, knows_)) schema_ = *seen;
}

Result<HostId> HostLiveness::keep() {
  time_.reset();
  if (connection_) {
    look(*connection_);
    const auto there = connection_->run(sql::host_there, {std::to_string(id_.value)});
    if (there && there->size() == 1) time_ = there->front().now();
    if (connection_->is_open() && (!there || there->size() == 1)) return id_;  // an error: the session has the lock all the same
    connection_.reset();
  }
  auto opened = Connection::open(address_, "liveness");
  TRY(opened);
  look(*opened);
  auto session = opened->run(sql::host_session, {std::to_string(lease_.count())});
  TRY(session);
  time_ = session->front().now();
  const auto process_id = std::to_string(session->front().process_id());
  if (id_.value != 0) {
    const auto back = come_back(*opened);
    TRY(back);
    if (*back) {
      session_ = process_id;
      connection_ = std::move(*opened);
      return id_;
    }
  }
  TRY(refuse_too_new(schema_));
  auto fresh = opened->run(sql::new_host_id);
  TRY(fresh);
  const std::string id = std::to_string(fresh->front().host_id());
  // The lock comes before the row: a row without a lock would look like a dead host.
  if (auto locked = opened->run(sql::host_lock, {id}); !locked || !locked->front().is_taken())
    return fail(Error::Kind::unavailable, locked ? "the advisory lock of a new host id is taken" : locked.error().what);
  TRY(opened->run(sql::host_register, {id, name_, std::to_string(knows_)}));
  id_ = {fresh->front().host_id()};
  session_ = process_id;
  connection_ = std::move(*opened);
  return id_;
}

// The last session was lost. Whether this is still the host that it was: nobody has rescued it.
Result<bool> HostLiveness::come_back(Connection& session) {
  const std::string id = std::to_string(id_.value);
  auto locked = session.run(sql::host_lock, {id});
  TRY(locked);
  if (!locked->front().is_taken()) {
    auto old = session.run(sql::host_end_session, {id, session_});
    TRY(old);
    if (!old->empty()) return fail(Error::Kind::unavailable, "the server is ending the last session of this host");
    return false;  // a rescuer has the lock
  }
  auto there = session.run(sql::host_back, {id});
  TRY(there);
  return there->size() == 1;
}

Result<void> HostLiveness::renew(Shard shard, std::span<const ClaimToken> claims, Millis lease) {
  if (!connection_) return fail(Error::Kind::unavailable, "this host is not present");
  ArrayText tokens;
  for (const auto token : claims) tokens.add(token.value);
  TRY(connection_->run(sql::renew_leases, {std::to_string(shard), tokens.take(), std::to_string(lease.count())}));
  return {};
}

Result<void> HostLiveness::renew_channels(Millis lease) {
  if (!connection_) return fail(Error::Kind::unavailable, "this host is not present");
  TRY(connection_->run(sql::renew_channel_hosts, {std::to_string(id_.value), std::to_string(lease.count())}));
  return {};
}

void HostLiveness::leave() {
  if (!connection_) return;
  static_cast<void>(connection_->run(sql::host_leave, {std::to_string(id_.value)}));  // if it fails, others rescue what is left
  connection_.reset();
}

Result<Timestamp> read_time(const DatabaseAddress& address) {
  Link link(address, "time");
  auto rows = link.run(sql::database_time);
  TRY(rows);
  return rows->front().now();
}

Result<int> read_shards(const DatabaseAddress& address) {
  Link link(address, "shards");
  auto rows = link.run(sql::shards);
  TRY(rows);
  return static_cast<int>(rows->front().shards());
}

}  // namespace waybill
