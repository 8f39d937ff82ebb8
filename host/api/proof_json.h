// The proof of what was sent for a submission, as the wire and the command line show it.
#pragma once

#include <string>

#include "base/error.h"
#include "base/json_writer.h"
#include "base/public_ids.h"
#include "http/http.h"
#include "store/operations/proof_store.h"

namespace waybill {

// One document; what is not on record is null.
Json proof_json(const Proof& proof, const PublicIds& ids = {});

// The submission that is asked for by kind and reference; a notification's reference is its id. None: there is none.
// Error::invalid: there is no such kind.
Result<std::optional<Proof>> find_proof(ProofStore& store, OrgId org, const std::string& kind, const std::string& reference,
                                        const PublicIds& ids);

}  // namespace waybill
