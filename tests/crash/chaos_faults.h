// Faults as they are done to a round's world: begun and ended when their time has come.
#pragma once

#include <memory>
#include <vector>

#include "crash/chaos_plan.h"
#include "crash/chaos_world.h"

namespace waybill::testing::chaos {

// One thread, which lives as long as the hosts and the server that it starts.
class Faults {
 public:
  Faults(RoundWorld& world, std::vector<Planned> planned);
  ~Faults();
  void run();  // until the last has ended

 private:
  class Active;
  bool begin_next();
  bool end_due();

  RoundWorld& world_;
  std::vector<Planned> planned_;
  std::size_t next_ = 0;
  std::size_t delivered_before_ = 0;
  double last_begin_ = 0;
  std::vector<std::unique_ptr<Active>> active_;
};

}  // namespace waybill::testing::chaos
