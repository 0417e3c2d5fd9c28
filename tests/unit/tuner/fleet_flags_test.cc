#include "tuner/cli/fleet_flags.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace hone {
namespace {

TEST(FleetFlags, TheFileIsAmongTheFilesThatNothingIsWrittenOver) {
  TuneRequest f;
  f.credentials.fleet = "ann.hone";
  const auto files = credential_files(f);
  EXPECT_NE(std::find(files.begin(), files.end(), std::pair<std::string, std::string>("--fleet", "ann.hone")),
            files.end());
}

}  // namespace
}  // namespace hone
