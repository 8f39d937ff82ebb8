// What processes have used, and what machine they run on, as Linux tells it in /proc.
#pragma once

#include <sys/types.h>

#include <string>

namespace waybill::bench {

double cpu_seconds(pid_t process);          // user and system
double cpu_seconds_of_tree(pid_t process);  // with its children, also those that have ended
double resident_mb(pid_t process);
double peak_resident_mb(pid_t process);  // the most since its start

struct Machine {
  int cores = 0;
  std::string cpu;
  double memory_mb = 0;
};
Machine this_machine();

}  // namespace waybill::bench
