#include "tuner/cli/fleet_flags.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace hone {
namespace {

TEST(FleetFlags, AreRepeatedAsTheyWereGiven) {
  TunerFlags f;
  EXPECT_EQ(fleet_words(f), "");
  f.credentials.fleet = "my files/ann.hone";
  f.device = "lab1";
  f.labels = {"room=2", "board=pi 4"};
  EXPECT_EQ(fleet_words(f), " --device lab1 --label room=2 --label 'board=pi 4' --fleet 'my files/ann.hone'");
  f = {};
  f.tracker = "lab:9190";
  f.credentials.token = "t";
  f.insecure = true;
  EXPECT_EQ(fleet_words(f), " --tracker lab:9190 --token-file t --insecure");
}

TEST(FleetFlags, TheFileIsAmongTheFilesThatNothingIsWrittenOver) {
  TunerFlags f;
  f.credentials.fleet = "ann.hone";
  const auto files = credential_files(f);
  EXPECT_NE(std::find(files.begin(), files.end(), std::pair<std::string, std::string>("--fleet", "ann.hone")),
            files.end());
}

}  // namespace
}  // namespace hone
