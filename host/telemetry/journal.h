// Events as entries of the systemd journal, with their fields as fields. libsystemd is behind this.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "telemetry/log.h"

namespace waybill {

// Whether standard error leads to the journal, as JOURNAL_STREAM says (systemd.exec(5)).
bool is_standard_error_the_journal();

// MESSAGE is `text`, WAYBILL_EVENT the event; a field `target` becomes WAYBILL_TARGET. False: the journal did not take it.
bool write_to_journal(Log::Level level, std::string_view event, std::span<const Field> fields, const std::string& text);

// The name that a field has in the journal: only A to Z, 0 to 9 and "_" are allowed there, 64 of them.
std::string journal_name(std::string_view key);

}  // namespace waybill
