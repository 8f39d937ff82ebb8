// One try for all: they are stored in the same tables.
#include "app/store_probe.h"

#include <algorithm>
#include <utility>

namespace waybill {

PeriodicTask store_probe(MaintenanceStore& store, std::vector<StoreHealth*> healths) {
  return {.name = "store_probe", .every = Seconds{2}, .run = [&store, healths = std::move(healths)]() -> Result<void> {
            const auto is_in_doubt = [](const StoreHealth* one) { return !one->trouble().empty(); };
            if (std::none_of(healths.begin(), healths.end(), is_in_doubt)) return {};
            if (auto tried = store.try_to_store(); !tried) {
              for (auto* one : healths)
                if (is_in_doubt(one)) one->failed();
              return tried;
            }
            for (auto* one : healths)
              if (is_in_doubt(one)) one->stored();
            return {};
          }};
}

}  // namespace waybill
