// Judges tables, indexes and partitions: pure functions of the server's statistics.
#pragma once

#include <vector>

#include "cli/finding.h"
#include "store/operations/table_health.h"

namespace waybill {

Findings judge_vacuum(bool autovacuum_is_on, const std::vector<TableBehind>& tables);
Finding judge_queue_size(const QueueSize& size);
Findings judge_indexes(const std::vector<OddIndex>& indexes);
Findings judge_months(const std::vector<LogMonth>& months);

}  // namespace waybill
