// What the kernel says of this process, for the metrics that every Prometheus client has.
#pragma once

namespace waybill {

// 0 where the kernel does not tell.
struct ProcessNumbers {
  double resident_bytes = 0;
  double virtual_bytes = 0;
  double memory_limit = 0;  // of its cgroup and those around it, else the machine's memory
  double cpu_seconds = 0;   // of user and system, of all threads
  double started = 0;       // seconds since 1970
  double open_files = 0;
  double max_files = 0;
};
ProcessNumbers process_numbers();

}  // namespace waybill
