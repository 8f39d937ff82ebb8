// docs/openapi.yaml is what it says it is.  T31
#include <gtest/gtest.h>

#include "support/process.h"
#include "support/temp_folder.h"
#include "support/world.h"

namespace waybill::testing {
namespace {

// T31: by a public validator; the versions of all that it needs are in package-lock.json
TEST(OpenApiDocument, IsValid) {
  const TempFolder folder;
  for (const auto* file : {"package.json", "package-lock.json", "validate.mjs"})
    std::filesystem::copy_file(std::filesystem::path(WAYBILL_SOURCE_FOLDER) / "tests/integration/openapi" / file,
                               folder.path() / file);
  const auto npm = run(
      {.arguments = {"/bin/sh", "-c", "npm ci --ignore-scripts --no-audit --no-fund --loglevel=error"}, .folder = folder.path()});
  if (npm.exit_code != 0) {
    ASSERT_FALSE(must_run()) << "npm cannot install the package @seriousme/openapi-schema-validator: " << npm.err;
    GTEST_SKIP() << "npm cannot install the package @seriousme/openapi-schema-validator";
  }
  const auto checked =
      run({.arguments = {"/bin/sh", "-c", "exec node validate.mjs \"$0\"", WAYBILL_SOURCE_FOLDER "/docs/openapi.yaml"},
           .folder = folder.path()});
  EXPECT_EQ(checked.exit_code, 0) << checked.err;
  EXPECT_EQ(checked.out, "3.0\n");
}

}  // namespace
}  // namespace waybill::testing
