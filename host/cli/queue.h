// `waybill queue`: how long the queue is, how fast it moves, and when it will be empty. No host need run.
#pragma once

#include <string>

#include "app/installation.h"

namespace waybill {

struct QueueOptions {
  std::string org;  // "": all
  std::string target, action_type;
};

int tell_queue(const GlobalOptions& options, const QueueOptions& wanted);

}  // namespace waybill
