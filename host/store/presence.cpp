// How a host shows that it lives: a session that holds the advisory lock of its id. The lock goes with the session, whatever
// ends it, and whoever gets it then knows.
#include "store/pg_stores.h"

namespace waybill {
namespace {
constexpr Statement kNewId{"new_host_id",
                           "SELECT nextval(pg_get_serial_sequence(quote_ident(current_schema()) || '.hosts', 'host_id'))"};
constexpr Statement kLock{"host_lock", "SELECT pg_try_advisory_lock(hashtext('waybill:' || current_schema()), $1)"};
constexpr Statement kRegister{"host_register",
                              "INSERT INTO hosts (host_id, name, knows) OVERRIDING SYSTEM VALUE VALUES ($1, $2, $3)"};
constexpr Statement kStillThere{"host_there", "SELECT 1 FROM hosts WHERE host_id = $1"};
constexpr Statement kLeave{"host_leave", "DELETE FROM hosts WHERE host_id = $1"};
constexpr Statement kAlive{"host_alive", "SELECT 1"};
constexpr Statement kShards{"shards", "SELECT shards FROM installation"};
}  // namespace

Presence::Presence(DatabaseAddress address, std::string name, int knows)
    : address_(std::move(address)), name_(std::move(name)), knows_(knows) {}

// Whether the session lives. What cannot be read of the schema now is read the next time.
bool Presence::look(Connection& connection) {
  const auto seen = look_at_schema(connection, knows_);
  if (seen) schema_ = *seen;
  return (seen || connection.run(kAlive)) && connection.is_open();
}

Result<HostId> Presence::keep() {
  if (connection_ && look(*connection_)) return id_;
  connection_.reset();
  auto opened = Connection::open(address_, "presence");
  if (!opened) return tl::unexpected(opened.error());
  look(*opened);
  if (id_.value != 0) {  // the session was lost: if nobody has buried us yet, we are still who we were
    const std::string id = std::to_string(id_.value);
    auto locked = opened->run(kLock, {id});
    if (!locked) return tl::unexpected(locked.error());
    auto there = opened->run(kStillThere, {id});
    if (!there) return tl::unexpected(there.error());
    if (locked->flag(0, 0) && there->size() == 1) {
      connection_ = std::move(*opened);
      return id_;
    }
  }
  if (auto fits = refuse_too_new(schema_); !fits) return tl::unexpected(fits.error());
  auto fresh = opened->run(kNewId);
  if (!fresh) return tl::unexpected(fresh.error());
  const std::string id(fresh->text(0, 0));
  // The lock comes before the row: a row without a lock would look like a dead host.
  if (auto locked = opened->run(kLock, {id}); !locked || !locked->flag(0, 0))
    return fail(Error::Kind::unavailable, locked ? "the advisory lock of a new host id is taken" : locked.error().what);
  if (auto made = opened->run(kRegister, {id, name_, std::to_string(knows_)}); !made) return tl::unexpected(made.error());
  id_ = {fresh->number(0, 0)};
  connection_ = std::move(*opened);
  return id_;
}

void Presence::leave() {
  if (!connection_) return;
  static_cast<void>(connection_->run(kLeave, {std::to_string(id_.value)}));  // if it fails, others bury us
  connection_.reset();
}

Result<int> read_shards(const DatabaseAddress& address) {
  Link link(address, "shards");
  auto rows = link.run(kShards);
  if (!rows) return tl::unexpected(rows.error());
  return static_cast<int>(rows->number(0, 0));
}

}  // namespace waybill
