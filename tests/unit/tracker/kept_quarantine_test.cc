#include "tracker/state/kept_quarantine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/exit_code.h"
#include "tests/fakes/temporary_folder.h"

namespace hone::tracker {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class KeptQuarantineTest : public testing::Test {
 protected:
  KeptQuarantine reopened() const {
    auto out = KeptQuarantine::open(path_);
    EXPECT_TRUE(out.ok()) << out.status();
    return out.ok() ? *out : KeptQuarantine();
  }
  void write(const std::string& text) const { std::ofstream(path_) << text; }
  std::string text() const {
    std::ostringstream out;
    out << std::ifstream(path_).rdbuf();
    return out.str();
  }

  const TemporaryFolder folder_;
  const std::string path_ = folder_.path() + "/state";
};

TEST_F(KeptQuarantineTest, HoldsDevicesAndAllOfAnAgentAndIsThereAgain) {
  KeptQuarantine kept = reopened();
  EXPECT_EQ(text(), "hone tracker state 1\nend\n") << "made where there was none";
  ASSERT_TRUE(kept.begin("lab1").ok());
  ASSERT_TRUE(kept.begin("lab2/cpu").ok());
  EXPECT_EQ(text(), "hone tracker state 1\nquarantined lab1\nquarantined lab2/cpu\nend\n");
  const KeptQuarantine again = reopened();
  EXPECT_TRUE(again.holds("lab1/cpu"));
  EXPECT_TRUE(again.holds("lab1/cuda7")) << "which nobody has seen yet";
  EXPECT_TRUE(again.holds("lab2/cpu"));
  EXPECT_FALSE(again.holds("lab2/cuda0"));
  EXPECT_FALSE(again.holds("lab11/cpu"));
  EXPECT_TRUE(again.names("lab2"));
  EXPECT_FALSE(again.names("lab"));
}

TEST_F(KeptQuarantineTest, EndsForADeviceWhoseAgentItHoldsAndNotForTheOthers) {
  KeptQuarantine kept = reopened();
  ASSERT_TRUE(kept.begin("lab1/cpu").ok());
  ASSERT_TRUE(kept.begin("lab1").ok());
  EXPECT_THAT(reopened().names(), ElementsAre("lab1"));
  ASSERT_TRUE(kept.end("lab1/cpu", {"lab1/cpu", "lab1/cuda0"}).ok());
  EXPECT_THAT(reopened().names(), ElementsAre("lab1/cuda0"));
  ASSERT_TRUE(kept.end("lab1", {}).ok());
  EXPECT_THAT(reopened().names(), testing::IsEmpty());
}

TEST_F(KeptQuarantineTest, ADamagedFileIsRefusedInOneLineAndLeftAsItIs) {
  const std::string whole = "hone tracker state 1\nquarantined lab1\nend\n";
  write(whole);
  EXPECT_TRUE(reopened().holds("lab1/cpu"));
  std::vector<std::string> bad = {"hello\n",
                                  "hone tracker state 2\nend\n",
                                  whole + "more\n",
                                  whole + "\n",
                                  "hone tracker state 1\nquarantined \nend\n",
                                  "hone tracker state 1\nqaurantined lab1\nend\n",
                                  "hone tracker state 1\nquarantined " + std::string(300, 'x') + "\nend\n"};
  for (size_t cut = 0; cut + 1 < whole.size(); ++cut) bad.push_back(whole.substr(0, cut));
  for (const std::string& text : bad) {
    write(text);
    const Status status = KeptQuarantine::open(path_).status();
    EXPECT_EQ(exit_code_of(status), kExitUsage) << text;
    EXPECT_THAT(message_of(status), HasSubstr(path_)) << text;
    EXPECT_EQ(message_of(status).find('\n'), std::string::npos) << message_of(status);
    EXPECT_EQ(this->text(), text);
  }
}

TEST_F(KeptQuarantineTest, AFileThatCannotBeReadOrWrittenIsRefused) {
  std::filesystem::create_directory(path_);
  EXPECT_THAT(message_of(KeptQuarantine::open(path_).status()), HasSubstr(path_));
  EXPECT_THAT(message_of(KeptQuarantine::open(folder_.path() + "/none/state").status()),
              HasSubstr("No such file or directory"));
}

TEST_F(KeptQuarantineTest, WhatCannotBeKeptDoesNotHold) {
  KeptQuarantine kept = reopened();
  ASSERT_TRUE(kept.begin("lab1").ok());
  std::filesystem::remove_all(folder_.path());
  EXPECT_EQ(exit_code_of(kept.begin("lab2")), kExitUsage);
  EXPECT_FALSE(kept.holds("lab2/cpu"));
  EXPECT_FALSE(kept.end("lab1", {}).ok());
  EXPECT_TRUE(kept.holds("lab1/cpu"));
  EXPECT_TRUE(kept.begin("lab1/cpu").ok()) << "which changes nothing";
}

}  // namespace
}  // namespace hone::tracker
