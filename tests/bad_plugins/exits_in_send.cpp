// Ends the process in send, as if all were well.
#include <cstdlib>

#include "poster.h"

namespace {
struct Quitter : kit::Poster {
  using Poster::Poster;
  void send(wb_call, const wb_job*) override { std::exit(0); }
};
}  // namespace

KIT_PLUGIN(Quitter, "exits_in_send");
