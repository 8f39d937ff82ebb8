// The one tie between the fake host and GoogleTest.
#include <gtest/gtest.h>

#include "waybill/testkit.hpp"

namespace waybill::testkit {

void fail_the_test(const std::string& what) { ADD_FAILURE() << what; }

}  // namespace waybill::testkit
