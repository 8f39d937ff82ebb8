// The end of an intake's span, for all surfaces that take submissions in.
#pragma once

#include <string_view>

#include "store/submissions/submission_view.h"
#include "tracing/tracer.h"

namespace waybill {

// Nothing without a tracer, a trace, or a submission: a conflict is none.
inline void note_stored(Tracer* tracer, const Taking& taking, std::string_view kind, const SubmitResult& result) {
  if (tracer == nullptr || !taking || result.how == SubmitResult::How::conflict) return;
  tracer->stored(taking, {.kind = kind,
                          .reference = result.view.client_ref,
                          .target = result.view.target,
                          .is_new = result.how == SubmitResult::How::created,
                          .created = result.view.created});
}

}  // namespace waybill
