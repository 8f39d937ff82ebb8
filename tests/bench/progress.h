// What goes on, for whoever waits: one line on standard error before something takes long. The figures go to standard output.
#pragma once

#include <cstdio>
#include <string>

namespace waybill::bench {

inline void tell(const std::string& what) { std::fprintf(stderr, "... %s\n", what.c_str()); }

// `round` from 0.
inline void tell_round(const std::string& measure, int round, int rounds) {
  tell(measure + ": round " + std::to_string(round + 1) + " of " + std::to_string(rounds));
}

}  // namespace waybill::bench
