// What a plugin's process asks, answered by the services of its host.
#pragma once

#include <waybill/plugin.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace waybill::plugin_process {

// The call that a question is for; 0: for none. False: it is no question.
bool call_of_question(std::uint32_t kind, std::string_view body, std::uint64_t& call);

// Appends the answer's frame. False: it is no question. Calls only services that any thread may call.
bool answer_question(const wb_host& host, std::uint32_t kind, std::string_view body, std::string& answer);

}  // namespace waybill::plugin_process
