// `tensorc run`: artifacts that exist, run as they are run when they were just built.
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "compiler/frontend/onnx/onnx.pb.h"
#include "compiler/model/run_model.h"
#include "tests/e2e/artifact/shell.h"
#include "tests/fakes/decoder_model.h"
#include "tests/fakes/small_model.h"
#include "tests/fakes/temporary_folder.h"

namespace hone {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;

namespace fs = std::filesystem;

struct RunCommand : testing::Test {
  const TemporaryFolder temporary;
  const std::string folder = temporary.path() + "/";

  Ran tensorc(const std::string& arguments) const {
    return shell("cd " + folder + " && " + kBin + "/tensorc " + arguments);
  }
  void build(const std::string& flags, SmallModel::Batch batch = SmallModel::kOfOne) const {
    SmallModel(batch).write(folder + "small.onnx");
    const Ran ran = tensorc("small.onnx --config default -o m.so " + flags);
    ASSERT_EQ(ran.code, 0) << ran.output;
  }
  void write(const std::string& name, const std::vector<int64_t>& shape, const std::vector<double>& values) const {
    onnx::Tensor t;
    t.set_data_type(1);
    for (const int64_t n : shape) t.add_dims(n);
    for (const double v : values) t.add_float_data(static_cast<float>(v));
    fs::create_directories(fs::path(folder + name).parent_path());
    std::ofstream(folder + name, std::ios::binary) << t.SerializeAsString();
  }
  // An image of ones, as many times as the batch says.
  void write_images(const std::string& name, int64_t batch) const {
    write(name + "/input_0.pb", {batch, 3, 20, 20}, std::vector<double>(static_cast<size_t>(batch * 3 * 20 * 20), 1));
  }
  // Bad usage, in one line that has the words, and the code.
  void expect_refused(const std::string& arguments, int code, const std::string& words) const {
    const Ran ran = tensorc("run " + arguments + " 2>&1 >/dev/null | grep -v ' for llvm -mtriple'");
    EXPECT_THAT(ran.output, HasSubstr(words));
    EXPECT_EQ(std::count(ran.output.begin(), ran.output.end(), '\n'), 1) << ran.output;
    EXPECT_EQ(tensorc("run " + arguments).code, code) << ran.output;
  }
};

TEST_F(RunCommand, TimesTheWholeAndItsLayersWithoutBuildingAnything) {
  build("--threads 2");
  fs::remove(folder + "small.onnx");
  fs::rename(folder + "m.so", folder + "renamed.so");
  const Ran ran = tensorc("run renamed.so --bench --profile");
  ASSERT_EQ(ran.code, 0) << ran.output;
  EXPECT_THAT(ran.output, ContainsRegex("ms +share +GFLOPS +layer\n"));
  EXPECT_THAT(ran.output, ContainsRegex("   0 +[0-9.]+ +[0-9.]+% +[0-9.]+  c1 \\+ r1  conv2d\\(n=1,ci=3,"));
  EXPECT_THAT(ran.output, ContainsRegex("% in [0-9]+ changes? of layout \\(transposes\\)\n +[0-9.]+ ms in all"));
  EXPECT_THAT(ran.output, ContainsRegex("\n[0-9.]+ ms \\(median of [0-9]+, fastest [0-9.]+\\)"));
  EXPECT_FALSE(fs::exists(folder + "m.so"));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), fs::directory_iterator()), 2) << "it and its header";
  const Ran bare = tensorc("run renamed.so");
  EXPECT_EQ(bare.code, 0) << bare.output;
  EXPECT_THAT(bare.output, HasSubstr("output classes: f32[1, 10]\noutput features: f32[1, 16, 9, 9]\n"));
}

TEST_F(RunCommand, ComparesWithWhatIsExpected) {
  build("--threads 1");
  write_images("data", 1);
  std::string bytes;
  for (int i = 0; i < 3 * 20 * 20; ++i) {
    const float one = 1;
    bytes.append(reinterpret_cast<const char*>(&one), sizeof one);
  }
  const TensorData image({f32, {1, 3, 20, 20}}, bytes);
  std::vector<double> classes = LoadedModel(folder + "m.so", "m", 1).run({image})[0].values();
  write("data/output_0.pb", {1, 10}, classes);
  const Ran right = tensorc("run m.so --inputs data --bench");
  EXPECT_EQ(right.code, 0) << right.output;
  EXPECT_THAT(right.output, HasSubstr("output classes: largest difference "));
  EXPECT_THAT(right.output, HasSubstr(" ms (median of "));
  classes[3] += 1;
  write("data/output_0.pb", {1, 10}, classes);
  expect_refused("m.so --inputs data", 6, "output 'classes' differs from expected output_0: by ");
  write("data/input_1.pb", {1}, {1});
  expect_refused("m.so --inputs data", 2, "--inputs data: it has 2 inputs; the model takes 1");
  write_images("two", 2);
  expect_refused("m.so --inputs two", 2, "input 'image' is f32[2, 3, 20, 20]; the model takes f32[1, 3, 20, 20]");
}

TEST_F(RunCommand, RunsTheVariantsThatTakeTheInputs) {
  build("--bind 'batch=1|3' --threads 1", SmallModel::kFree);
  const Ran all = tensorc("run m.so --bench");
  EXPECT_EQ(all.code, 0) << all.output;
  for (const char* name : {"batch=1", "batch=3"})
    EXPECT_THAT(all.output, ContainsRegex("\n" + std::string(name) + ": [0-9.]+ ms"));
  write_images("three", 3);
  const Ran three = tensorc("run m.so --bench --inputs three");
  EXPECT_EQ(three.code, 0) << three.output;
  EXPECT_THAT(three.output, HasSubstr("\nbatch=3: "));
  EXPECT_THAT(three.output, testing::Not(HasSubstr("batch=1: ")));
  write_images("two", 2);
  expect_refused("m.so --inputs two", 2, "--inputs two: no variant takes f32[2, 3, 20, 20]");
}

TEST_F(RunCommand, IsToldWhereTheWeightsAre) {
  fs::create_directory(folder + "elsewhere");
  build("--weights elsewhere/m.weights");
  expect_refused("m.so", 2, "m.weights: ");
  const Ran ran = tensorc("run m.so --weights elsewhere/m.weights --bench");
  EXPECT_EQ(ran.code, 0) << ran.output;
  build("");
  expect_refused("m.so --weights elsewhere/m.weights", 2,
                 "--weights elsewhere/m.weights: 'm.so' has its weights in it");
}

TEST_F(RunCommand, RunsADecoderWithAllItsRows) {
  std::ofstream(folder + "decoder.onnx", std::ios::binary) << exported_decoder().model.SerializeAsString();
  const Ran built = tensorc("decoder.onnx --config default --cache past=21 --threads 1 -o d.so");
  ASSERT_EQ(built.code, 0) << built.output;
  const Ran ran = tensorc("run d.so --bench --profile");
  EXPECT_EQ(ran.code, 0) << ran.output;
  EXPECT_THAT(ran.output, HasSubstr("cached_attention("));
  EXPECT_THAT(ran.output, HasSubstr(" ms (median of "));
}

TEST_F(RunCommand, RefusesWhatItCannotRun) {
  expect_refused("nothing.so", 2, "run: 'nothing.so' cannot be read: No such file or directory");
  std::ofstream(folder + "text.so") << "text\n";
  expect_refused("text.so", 2, "run: 'text.so' is not a shared object");
  build("--threads 1");
  fs::copy(folder + "m.so", folder + "cut.so");
  fs::resize_file(folder + "cut.so", fs::file_size(folder + "cut.so") / 2);
  expect_refused("cut.so", 2, "run: 'cut.so' is cut off");
  expect_refused("m.so --check", 2, "--check");
  expect_refused("m.so --inputs nowhere", 2, "--inputs nowhere: there is no such folder");
  fs::create_directory(folder + "bare");
  expect_refused("m.so --inputs bare", 2, "--inputs bare: it has no input_0.npy or input_0.pb; the model takes 1");
  const Ran in_front = tensorc("--emit so run m.so");
  EXPECT_EQ(in_front.code, 2);
  EXPECT_THAT(in_front.output, HasSubstr("--emit belongs to the program alone; the command run does not take it"));
  ASSERT_EQ(tensorc("--task dense --args m=8,n=16,k=16 --config default --emit so -o op.so").code, 0);
  expect_refused("op.so", 2, "run: 'op.so' is an operator's; allowed: a model's");
}

TEST_F(RunCommand, RefusesWhatIsForAnotherMachine) {
#if !defined(__x86_64__)
  GTEST_SKIP() << "what is built here is for machines other than x86";
#endif
  build("--target 'llvm -mtriple=aarch64-linux -mcpu=cortex-a72' --threads 1");
  expect_refused("m.so", 3, "run: 'm.so' is for aarch64, and this program is for x86-64");
  // Instructions that AMD has given up.
  build("--target 'llvm -mtriple=x86_64-linux -mcpu=bdver4' --threads 1");
  if (shell("grep -qw fma4 /proc/cpuinfo").code != 0)
    expect_refused("m.so", 3, "run: 'm.so' is for a CPU that has fma4; this one has not (it was built with --target ");
}

}  // namespace
}  // namespace hone
