// A sender with one extension, whose call does what the plugin under it wants.
#pragma once

#include "poster.h"

namespace kit {

class Able : public Poster {
 public:
  using Poster::Poster;
  virtual void asked(wb_call call, const wb_job* job, const wb_failure_query* query) = 0;
};

inline void ask_able(wb_sender* self, wb_call call, const wb_job* job) {
  static_cast<Able&>(poster(self)).asked(call, job, nullptr);
}
inline void ask_able_for_failures(wb_sender* self, wb_call call, const wb_job* job, const wb_failure_query* query) {
  static_cast<Able&>(poster(self)).asked(call, job, query);
}

}  // namespace kit
