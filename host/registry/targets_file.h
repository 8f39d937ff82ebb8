// The text of targets.json as contracts: every rule of a target, checked against the loaded plugins.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/problem.h"
#include "domain/action_types.h"
#include "domain/contract.h"
#include "egress/transport_rules.h"
#include "registry/time_limits.h"

namespace waybill {

inline constexpr std::size_t kMaxTargetNameLength = 200;
inline constexpr std::int64_t kMaxAcceptanceSeconds = 31'536'000;  // a year
inline constexpr std::int64_t kMaxAttempts = 1000;

// Whether a file may have an empty list of targets: an installation for channels alone has none.
enum class EmptyTargets { refuse, allow };

// Problems name `file`. All are found, as far as the text is JSON. `absent` as for load_registry. `transports` gets an entry for
// each target, `limits` one for each with a limit of its own.
tl::expected<std::vector<Contract>, Problems> read_targets(std::string_view text, const std::string& file,
                                                           const ActionTypes& types, Problems* absent = nullptr,
                                                           TargetTransports* transports = nullptr, TimeLimits* limits = nullptr,
                                                           EmptyTargets empty = EmptyTargets::refuse);

}  // namespace waybill
