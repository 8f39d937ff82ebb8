// The key of the ids that the API shows.
#include "base/hex.h"
#include "store/pg_stores.h"
#include "store/submissions/id_keys.sql.h"

namespace waybill {

Result<PublicIds> read_public_ids(const DatabaseAddress& address) {
  Link link(address, "shards");
  const auto rows = link.run(sql::id_key);
  TRY(rows);
  if (rows->size() != 1)
    return fail(Error::Kind::invalid, "the table id_keys has no row: restore it, or insert a key of 16 random bytes");
  return PublicIds(Secret(from_hex(rows->front().key())), rows->front().shown_until());
}

}  // namespace waybill
