// Times of what happened, as the demo prints them: seconds after the first.
#pragma once

#include <string>

namespace waybill::testing {

double seconds_between(const std::string& from, const std::string& to);
// "       +0.021 s  what"
void print_moment(const std::string& begin, const std::string& at, const std::string& what);
// "ok   demo-sms  sms.realtime  accepted (the gateway takes it at once)"
void print_title(bool good, const std::string& id, const std::string& target, const std::string& status, const std::string& tale);

}  // namespace waybill::testing
