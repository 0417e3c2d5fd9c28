// Models of TensorFlow Lite from the command line: a small one, and published ones beside what TensorFlow Lite gives.
#include <gmock/gmock.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "tests/e2e/artifact/shell.h"
#include "tests/fakes/temporary_folder.h"
#include "tests/fakes/tflite_model.h"

namespace hone {
namespace {

using testing::AllOf;
using testing::HasSubstr;

struct TfliteFiles : testing::Test {
  const TemporaryFolder temporary;
  const std::string folder = temporary.path() + "/";
  Ran run(const std::string& command) { return shell("cd " + folder + " && " + kBin + "/" + command + " 2>&1"); }
  void write_small() {
    TfliteModel m;
    m.input("image:0", {1, 8, 8, 3})
        .floats("w", {4, 3, 3, 3}, std::vector<float>(108, 0.25f))
        .floats("b", {4}, {1, 2, 3, 4});
    constexpr int32_t kConv = 3;
    m.op(kConv, {"image:0", "w", "b"}, {"scores:0"}, tables::CreateConvOptions(m.b, 0, 2, 2, 1)).output("scores:0");
    std::ofstream(folder + "m.tflite", std::ios::binary) << m.bytes();
  }
};

TEST_F(TfliteFiles, AreBuiltCheckedAndListedAsOthersAre) {
  write_small();
  const Ran built = run("tensorc m.tflite -o m.so --check");
  ASSERT_EQ(built.code, 0) << built.output;
  EXPECT_THAT(built.output, HasSubstr("the whole agrees with the imported model"));
  EXPECT_EQ(run("tensorc run m.so").code, 0);
  const Ran tasks = run("tuner m.tflite --print-tasks");
  ASSERT_EQ(tasks.code, 0) << tasks.output;
  EXPECT_THAT(tasks.output, AllOf(HasSubstr("conv2d"), HasSubstr("ci=3")));
  const Ran growing = run("tensorc m.tflite --cache past=4 -o m.so");
  EXPECT_EQ(growing.code, 2);
  EXPECT_THAT(growing.output, HasSubstr("models of TensorFlow Lite have no caches that grow"));
  const Ran other = run("tensorc m.tflite --bind batch=2 -o m.so");
  EXPECT_EQ(other.code, 2);
  EXPECT_THAT(other.output, HasSubstr("there are image:0 [1, 8, 8, 3]"));
}

// HONE_TFLITE_MODELS: a folder with models, and below expected/NAME what they give (input_0.npy, output_0.npy, …).
TEST_F(TfliteFiles, PublishedModelsGiveWhatTensorFlowLiteGives) {
  const char* models = std::getenv("HONE_TFLITE_MODELS");
  if (!models) GTEST_SKIP() << "HONE_TFLITE_MODELS names no folder with models";
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(models))
    if (entry.path().extension() == ".tflite") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  EXPECT_FALSE(files.empty());
  for (const std::filesystem::path& file : files) {
    const std::string name = file.stem().string();
    const Ran built = run("tensorc " + file.string() + " -o m.so --threads 1");
    ASSERT_EQ(built.code, 0) << name << "\n" << built.output;
    const std::filesystem::path expected = std::filesystem::path(models) / "expected" / name;
    const bool is_known = std::filesystem::exists(expected / "output_0.npy");
    const Ran ran = run("tensorc run m.so --bench" + (is_known ? " --inputs " + expected.string() : ""));
    EXPECT_EQ(ran.code, 0) << name << "\n" << ran.output;
    std::cout << name << (is_known ? "" : " (nothing to compare with)") << "\n" << ran.output;
  }
}

}  // namespace
}  // namespace hone
