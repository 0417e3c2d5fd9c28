// A build without a fleet says so where one is asked for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/cli.h"
#include "compiler/api/hone.h"
#include "tuner/api/hone_compiler.h"
#include "tuner/cli/tensorc_fleet.h"

namespace hone {
namespace {

using testing::HasSubstr;

Status status_of(std::vector<std::string> words) {
  CLI::App app;
  const TensorcFleet fleet(app);
  std::reverse(words.begin(), words.end());  // as CLI11 takes them
  app.parse(words);
  TensorcOptions options;
  Status status = fleet.apply(options);
  EXPECT_FALSE(options.remote);
  return status;
}

TEST(NoFleet, IsNoHindranceWhereNobodyAsks) { EXPECT_TRUE(status_of({}).ok()); }

TEST(NoFleet, EachFlagIsRefusedByItsName) {
  for (const std::string flag :
       {"--fleet", "--tracker", "--device", "--label", "--tls-ca", "--tls-cert", "--tls-key", "--token-file"})
    EXPECT_THAT(status_of({flag, "value"}).message(),
                testing::AllOf(HasSubstr(flag + ":"), HasSubstr("HONE_WITH_FLEET=OFF")));
}

TEST(NoFleet, LibhoneDoesNotTune) {
  char unset = 'x', *output = &unset;
  EXPECT_EQ(hone_tune(nullptr, 0, nullptr, &output), HONE_BAD_INPUT);
  EXPECT_EQ(output, nullptr);
  EXPECT_THAT(hone_last_error(), HasSubstr("does not tune"));
}

}  // namespace
}  // namespace hone
