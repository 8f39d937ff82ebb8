// SHA-256 over what comes piece by piece.
#pragma once

#include <memory>
#include <string_view>

#include "domain/idempotency.h"

namespace waybill {

class RunningDigest {
 public:
  RunningDigest();
  ~RunningDigest();
  RunningDigest(const RunningDigest&) = delete;
  RunningDigest& operator=(const RunningDigest&) = delete;

  void add(std::string_view bytes);
  Sha256 so_far() const;  // more may be added afterwards

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace waybill
