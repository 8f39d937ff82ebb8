// The spans of a delivery: its wait, its attempt, and the settlement of that.
#pragma once

#include "domain/contract.h"
#include "domain/job.h"
#include "store/queue/rescue_store.h"
#include "store/queue/settle_store.h"
#include "tracing/tracer.h"

namespace waybill {

// Of a settlement that was written at `written`. All are children of the intake's span, but the settlement, which is its
// attempt's.
void record_spans(Tracer& tracer, const Finished& finished, const Settlement& settlement, Timestamp written);
// Of an attempt that its host was lost with: it ends when another host takes the delivery back.
void record_spans(Tracer& tracer, const OrphanedDelivery& lost, const Contract& contract, const Settlement& settlement,
                  Timestamp taken_back);

}  // namespace waybill
