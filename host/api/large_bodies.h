// Requests with large bodies are read on threads of their own, so that no batch of one client holds up the event loops of all.
#pragma once

#include "api/session_pool.h"
#include "http/http.h"
#include "telemetry/log.h"

namespace waybill {

// What carries out a request with a large body. Organisations take turns (session_pool.h). These threads yield the processor to
// all others of the host.
struct BodyReader {};
using BodyPool = SessionPool<BodyReader>;

// The same route, with large bodies (Route::large_body) read in the pool, which must outlive it. 503 or 429 when too much waits.
http::Route read_in(BodyPool& pool, http::Route route, Log& log);

}  // namespace waybill
