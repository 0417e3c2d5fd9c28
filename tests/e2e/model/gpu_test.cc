// Models for GPUs from the command line; run where there is an OpenCL device (PoCL).
#include <gmock/gmock.h>

#include <fstream>

#include "base/json.h"
#include "tests/e2e/artifact/shell.h"
#include "tests/fakes/decoder_model.h"
#include "tests/fakes/small_model.h"
#include "tests/fakes/temporary_folder.h"
#include "tests/fakes/test_model.h"

namespace hone {
namespace {

using testing::HasSubstr;

struct GpuModelCommand : testing::Test {
  const TemporaryFolder temporary;
  const std::string folder = temporary.path() + "/";
  void SetUp() override { SmallModel().write(folder + "small.onnx"); }
  Ran run(const std::string& program, const std::string& arguments) {
    return shell("cd " + folder + " && " + kBin + "/" + program + " " + arguments);
  }
  Ran tensorc(const std::string& arguments) { return run("tensorc", "small.onnx --config default " + arguments); }
};

TEST_F(GpuModelCommand, IsCheckedAndTimedOnADevice) {
  const Ran ran = tensorc("--target opencl -o m.so --check --bench --explain --profile --report r.json");
  if (ran.code == 3) GTEST_SKIP() << ran.output;
  ASSERT_EQ(ran.code, 0) << ran.output;
  for (const char* text : {"layers (", "check: 6 kernels, ", "check: the whole agrees with the imported model",
                           "c2 + s + g + features\n     conv2d(n=1,ci=16", " ms in all", "ms (median of "})
    EXPECT_THAT(ran.output, HasSubstr(text));
  std::ifstream file(folder + "r.json");
  const Json report = Json::parse(file, nullptr, false);
  ASSERT_TRUE(report.is_object());
  EXPECT_EQ(report["variants"][0]["layers"].size(), 6u);
  for (const auto& layer : report["variants"][0]["layers"]) EXPECT_LT(layer["error"], 1e-4) << layer;
  const Ran tasks = run("tuner", "--model small.onnx --target opencl --print-tasks");
  EXPECT_EQ(tasks.code, 0) << tasks.output;
  EXPECT_THAT(tasks.output, HasSubstr("conv2d(n=1,ci=16"));
}

TEST_F(GpuModelCommand, IsBuiltWithoutADevice) {
  for (const std::string target : {"opencl -sms=8", "cuda -arch=sm_80"}) {
    const Ran ran = tensorc("--target '" + target + "' -o m.so --json");
    ASSERT_EQ(ran.code, 0) << ran.output;
    const Json j = Json::parse(ran.output.substr(ran.output.find('{'), ran.output.rfind('}') + 1), nullptr, false);
    ASSERT_TRUE(j.is_object()) << ran.output;
    EXPECT_THAT(j["target"].get<std::string>(), testing::StartsWith(target));
    EXPECT_EQ(j["arena_on"], "device");
    EXPECT_EQ(j["layers"].size(), 6);
    const Ran header =
        shell("cd " + folder +
              " && gcc -fsyntax-only -Wall -Werror -x c -I " HONE_SOURCE_DIR "/compiler/runtime/include m.h");
    EXPECT_EQ(header.code, 0) << header.output;
  }
  const Ran tasks = run("tuner", "--model small.onnx --target 'cuda -arch=sm_80' --print-tasks");
  EXPECT_EQ(tasks.code, 0) << tasks.output;
  EXPECT_THAT(tasks.output, HasSubstr("conv2d(n=1,ci=16"));
}

TEST_F(GpuModelCommand, HasVariants) {
  SmallModel(SmallModel::kFree).write(folder + "small.onnx");
  const Ran ran = tensorc("--target opencl -o m.so --bind 'batch=1|3' --check");
  if (ran.code == 3) GTEST_SKIP() << ran.output;
  ASSERT_EQ(ran.code, 0) << ran.output;
  for (const char* name : {"batch=1", "batch=3"})
    EXPECT_THAT(ran.output, HasSubstr(std::string(name) + ": check: the whole agrees with the imported model"));
}

TEST_F(GpuModelCommand, HasCachesThatGrowInPlace) {
  std::ofstream(folder + "decoder.onnx", std::ios::binary) << exported_decoder().model.SerializeAsString();
  const std::string flags = "--cache past=21 --target opencl ";
  const Ran ran = run("tensorc", "decoder.onnx --config default -o d.so --check --bench --json " + flags);
  if (ran.code == 3) GTEST_SKIP() << ran.output;
  ASSERT_EQ(ran.code, 0) << ran.output;
  for (const char* text : {"check: the whole agrees with the imported model", "ms (median of ", "cached_attention(",
                           R"("caches":[{"input":"past_k")"})
    EXPECT_THAT(ran.output, HasSubstr(text));
  const Ran tasks = run("tuner", "--model decoder.onnx --print-tasks " + flags);
  EXPECT_EQ(tasks.code, 0) << tasks.output;
  EXPECT_THAT(tasks.output, HasSubstr("cached_attention("));
}

TEST_F(GpuModelCommand, RunsAnArtifactThatExists) {
  const Ran built = tensorc("--target opencl -o m.so --weights m.weights");
  if (built.code == 3) GTEST_SKIP() << built.output;
  ASSERT_EQ(built.code, 0) << built.output;
  const Ran ran = run("tensorc", "run m.so --bench --profile");
  ASSERT_EQ(ran.code, 0) << ran.output;
  for (const char* text : {"inputs, to the device  copy", "conv2d(n=1,ci=16", " ms in all", " ms (median of "})
    EXPECT_THAT(ran.output, HasSubstr(text));
}

TEST_F(GpuModelCommand, SaysWhatItDoesNotHave) {
  const Ran nowhere = tensorc("--target 'opencl -sms=2 -shared=1048576K' -o m.so --check");
  EXPECT_EQ(nowhere.code, 3) << nowhere.output;
  const std::string target = "--target 'opencl -sms=2' -o m.so ";
  const Ran refused = tensorc(target + "--threads '1|2'");
  EXPECT_EQ(refused.code, 2) << refused.output;
  EXPECT_THAT(refused.output, HasSubstr("a model for a GPU has one variant"));
}

TEST_F(GpuModelCommand, TellsWhatRunsOnTheHostAndMayRefuseIt) {
  TestModel m;
  m.input("x", {2, 64}).node("Relu", {"x"}, {"r"}).node("NonZero", {"r"}, {"i"}).output("i");
  std::ofstream(folder + "top.onnx", std::ios::binary) << m.model.SerializeAsString();
  const std::string flags = "--config default --target 'opencl -sms=2' ",
                    told =
                        "1 of the layers runs on the host, between the device's: 'NonZero_i' (nonzero); 1160 bytes are "
                        "copied there and back in "
                        "every call";
  const Ran built = run("tensorc", "top.onnx -o top.so --report r.json " + flags);
  ASSERT_EQ(built.code, 0) << built.output;
  EXPECT_THAT(built.output, HasSubstr(told));
  std::ifstream file(folder + "r.json");
  const Json report = Json::parse(file, nullptr, false);
  std::vector<std::string> on_host;
  for (const auto& layer : report["variants"][0]["layers"])
    if (layer["source"] == "host") on_host.push_back(layer["alone"]);
  EXPECT_THAT(on_host, testing::ElementsAre("it runs on the host, between the device's layers: 128 bytes are copied "
                                            "there, 1032 back"));
  const Ran refused = run("tensorc", "top.onnx -o refused.so --require-device " + flags);
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.output, HasSubstr("tensorc: --require-device: " + told));
  EXPECT_EQ(shell("test -e " + folder + "refused.so").code, 1) << "nothing is written";
  EXPECT_EQ(tensorc("--target 'opencl -sms=2' -o m.so --require-device").code, 0);
  const Ran cpu = tensorc("--require-device -o m.so");
  EXPECT_EQ(cpu.code, 2);
  EXPECT_THAT(cpu.output, HasSubstr("--require-device is for a GPU; the target is 'llvm"));
}

TEST_F(GpuModelCommand, HasItsWeightsInAFileOfTheirOwn) {
  const Ran ran = tensorc("--target opencl -o m.so --weights m.weights --check --bench");
  if (ran.code == 3) GTEST_SKIP() << ran.output;
  ASSERT_EQ(ran.code, 0) << ran.output;
  EXPECT_THAT(ran.output, HasSubstr("wrote m.weights m.so m.h"));
  EXPECT_THAT(ran.output, HasSubstr("check: the whole agrees with the imported model"));
}

}  // namespace
}  // namespace hone
