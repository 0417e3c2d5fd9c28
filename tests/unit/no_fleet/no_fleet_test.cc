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

// The text that a command with these words ends with.
std::string told(const std::vector<std::string>& words) {
  CommandLine line;
  const TensorcFleet fleet(line);
  TensorcOptions options;
  const CommandEnd end = run_command(line, words, [&] { return fleet.apply(options); });
  EXPECT_FALSE(options.remote);
  return end.text;
}

TEST(NoFleet, IsNoHindranceWhereNobodyAsks) { EXPECT_EQ(told({}), ""); }

TEST(NoFleet, EachFlagIsRefusedByItsName) {
  for (const std::string flag :
       {"--fleet", "--tracker", "--device", "--label", "--tls-ca", "--tls-cert", "--tls-key", "--token-file"})
    EXPECT_THAT(told({flag, "value"}), testing::AllOf(HasSubstr(flag + ":"), HasSubstr("HONE_WITH_FLEET=OFF")));
}

TEST(NoFleet, ATeamsTophubIsRefusedInOneLine) {
  for (const std::string flag : {"--tophub=https://lab:9192", "--trust-tenant=tuner bob"})
    EXPECT_THAT(told({flag}), testing::AllOf(HasSubstr("--tophub: "), HasSubstr("HONE_WITH_FLEET=OFF")));
  EXPECT_EQ(told({"--tophub", ""}), "") << "none";
}

TEST(NoFleet, LibhoneDoesNotTune) {
  char unset = 'x', *output = &unset;
  EXPECT_EQ(hone_tune(nullptr, 0, nullptr, &output), HONE_BAD_INPUT);
  EXPECT_EQ(output, nullptr);
  output = &unset;
  EXPECT_EQ(hone_tune_template(nullptr, nullptr, 0, nullptr, &output), HONE_BAD_INPUT);
  EXPECT_EQ(output, nullptr);
  EXPECT_THAT(hone_last_error(), HasSubstr("does not tune"));
}

}  // namespace
}  // namespace hone
