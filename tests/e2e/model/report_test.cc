// Reports from the command line.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "base/json.h"
#include "tests/e2e/artifact/shell.h"
#include "tests/fakes/small_model.h"
#include "tests/fakes/temporary_folder.h"

namespace hone {
namespace {

using testing::HasSubstr;

struct ReportCommand : testing::Test {
  const TemporaryFolder temporary;
  const std::string folder = temporary.path() + "/", model = folder + "small.onnx";
  void SetUp() override { SmallModel().write(model); }

  // The machine's roof is kept in the test's folder, and measured there.
  Ran tensorc(const std::string& arguments) {
    return shell("cd " + folder + " && XDG_CACHE_HOME=" + folder + " " + kBin + "/tensorc " + model +
                 " --config default " + arguments + " 2>&1");
  }
  OrderedJson data(const std::string& name) const {
    std::ifstream file(folder + name);
    return OrderedJson::parse(file, nullptr, false);
  }
};

TEST_F(ReportCommand, HasTimesErrorsAndMemoryAndIsComparedWithTheNext) {
  const Ran first = tensorc("-o m.so --threads 1 --check --bench --report r.html --report r.json");
  ASSERT_EQ(first.code, 0) << first.output;
  EXPECT_THAT(first.output, HasSubstr("wrote r.html r.json"));
  const OrderedJson j = data("r.json");
  ASSERT_TRUE(j.is_object());
  EXPECT_EQ(j["model"], "small.onnx");
  EXPECT_EQ(j["artifact_bytes"], static_cast<int64_t>(std::filesystem::file_size(folder + "m.so")));
  const OrderedJson& v = j["variants"][0];
  EXPECT_GT(v["median_seconds"], 0);
  EXPECT_THAT(v["check"].get<std::string>(), HasSubstr("agree with their references"));
  ASSERT_GT(v["layers"].size(), 3u);
  for (const auto& layer : v["layers"]) {
    EXPECT_GT(layer["seconds"], 0) << layer;
    EXPECT_GT(layer["roof_seconds"], 0) << layer;
    EXPECT_LT(layer["error"], 1e-4) << layer;
  }
  int64_t most = 0;
  for (const auto& b : v["buffers"]) most = std::max(most, b["offset"].get<int64_t>() + b["bytes"].get<int64_t>());
  EXPECT_GT(most, 0);
  EXPECT_LE(most, v["arena_bytes"]);

  const Ran second = tensorc("-o m.so --threads 1 --disable fuse_epilogues --report next.json --compare r.html");
  ASSERT_EQ(second.code, 0) << second.output;
  const OrderedJson next = data("next.json");
  std::set<std::string> states;
  for (const auto& pair : next["compared"]["variants"][0]["layers"]) states.insert(pair["state"]);
  EXPECT_THAT(states, testing::Contains("same"));
  EXPECT_THAT(states, testing::Contains("new"));
}

TEST_F(ReportCommand, OfAnotherMachineHasNoTimes) {
  const Ran ran =
      tensorc("-o m.o --emit obj --target 'llvm -mtriple=aarch64-linux -mcpu=cortex-a72 -threads=1' --report r.json");
  ASSERT_EQ(ran.code, 0) << ran.output;
  EXPECT_THAT(ran.output, HasSubstr("no times"));
  const OrderedJson j = data("r.json");
  EXPECT_EQ(j["machine"], "");
  EXPECT_FALSE(j["variants"][0]["layers"][0].contains("seconds"));
  EXPECT_FALSE(j["variants"][0]["layers"][0].contains("roof_seconds"));
}

TEST_F(ReportCommand, DamagedOlderReportsAreOneLineAndNothingIsBuilt) {
  std::ofstream(folder + "old.json") << "{\"hone_report\": 1, \"variants\": 3}";
  const Ran ran = tensorc("-o m.so --report r.html --compare old.json");
  EXPECT_EQ(ran.code, 2);
  EXPECT_EQ(ran.output, "tensorc: 'old.json' is a damaged report: variants\n");
  EXPECT_FALSE(std::filesystem::exists(folder + "m.so"));
}

}  // namespace
}  // namespace hone
