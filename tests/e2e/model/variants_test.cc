// Models of several variants from the command line to C programs.
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/json.h"
#include "compiler/runtime/artifact.h"
#include "compiler/runtime/c_objects.h"
#include "tests/e2e/artifact/shell.h"
#include "tests/fakes/small_model.h"
#include "tests/fakes/temporary_folder.h"
#include "tests/fakes/test_model.h"

namespace hone {
namespace {

using testing::HasSubstr;

std::string bytes_of_in_variants(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

struct VariantsCommand : testing::Test {
  const TemporaryFolder temporary;
  const std::string folder = temporary.path() + "/", model = folder + "small.onnx";
  void SetUp() override { SmallModel(SmallModel::kFree).write(model); }

  Ran tensorc(const std::string& arguments) {
    return shell("cd " + folder + " && " + kBin + "/tensorc " + model + " --config default " + arguments + " 2>&1");
  }
};

const std::string kVariantsProgram = " -I. -I" HONE_SOURCE_DIR "/compiler/runtime/include " HONE_SOURCE_DIR
                                     "/tests/e2e/model/use_variants.c m.o b1.o b2.o b5.o m_pool.o -pthread -o use ";

TEST_F(VariantsCommand, ComputeWhatModelsOfOneBindingDo) {
  if (pool_object("x86_64").empty()) GTEST_SKIP() << "built without a C compiler";
  ASSERT_EQ(tensorc("--emit obj -o m.o --bind 'batch=1|2|5' --threads '1|2'").code, 0);
  for (const std::string batch : {"1", "2", "5"})
    ASSERT_EQ(tensorc("--emit obj -o b" + batch + ".o --threads 2 --bind batch=" + batch).code, 0);
  for (const std::string compiler :
       {"gcc -std=c99 -D_GNU_SOURCE", "gcc -std=c99 -D_GNU_SOURCE -O2 -fsanitize=thread"}) {
    const Ran built = shell("cd " + folder + " && " + compiler + " -Wall -Wextra" + kVariantsProgram + "2>&1");
    ASSERT_EQ(built.code, 0) << built.output;
    const Ran ran = shell(folder + "use 2>&1");
    EXPECT_EQ(ran.code, 0);
    EXPECT_EQ(ran.output, "");
  }
}

TEST_F(VariantsCommand, RunOnAarch64) {
  if (pool_object("aarch64").empty()) GTEST_SKIP() << "built without a C compiler for aarch64";
  if (shell("which qemu-aarch64-static aarch64-linux-gnu-gcc").code != 0)
    GTEST_SKIP() << "no cross compiler or emulator";
  const std::string target = " --target 'llvm -mtriple=aarch64-linux -mcpu=cortex-a76'";
  ASSERT_EQ(tensorc("--emit obj -o m.o --bind 'batch=1|2|5' --threads '1|2'" + target).code, 0);
  for (const std::string batch : {"1", "2", "5"})
    ASSERT_EQ(tensorc("--emit obj -o b" + batch + ".o --threads 2 --bind batch=" + batch + target).code, 0);
  const Ran built = shell("cd " + folder + " && aarch64-linux-gnu-gcc -static" + kVariantsProgram + "2>&1");
  ASSERT_EQ(built.code, 0) << built.output;
  const Ran ran = shell("timeout 120 qemu-aarch64-static " + folder + "use no-fork 2>&1");
  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(ran.output, "");
}

TEST_F(VariantsCommand, AreBuiltCheckedAndTimedEach) {
  const Ran ran = tensorc("-o m.so --bind 'batch=1|3' --threads '2|1' --check --bench --explain --profile");
  EXPECT_EQ(ran.code, 0) << ran.output;
  for (const std::string name :
       {"batch=1, 2 threads", "batch=1, 1 thread", "batch=3, 2 threads", "batch=3, 1 thread"}) {
    EXPECT_THAT(ran.output, HasSubstr(name + ": 7 layers (7 kernels), configs: 7 default; arena"));
    EXPECT_THAT(ran.output, HasSubstr(name + ": check: 7 layers, "));
    EXPECT_THAT(ran.output, HasSubstr(name + ": check: the whole agrees with the imported model"));
    EXPECT_THAT(ran.output, testing::ContainsRegex(name + ": [0-9.]+ ms \\(median of"));
    EXPECT_THAT(ran.output, HasSubstr(name + ":\n   0 c1 + r1\n"));
  }
  EXPECT_THAT(ran.output, HasSubstr("4 variants, "));
  EXPECT_THAT(ran.output, HasSubstr("of which 0.0 MB are for variants behind the first"));
  EXPECT_THAT(bytes_of_in_variants(folder + "m.h"), HasSubstr("4 variants: m_run takes the first one"));
  EXPECT_THAT(bytes_of_in_variants(folder + "m.h"), HasSubstr("0 input: f32 [3, 3, 20, 20]  image"));
}

TEST_F(VariantsCommand, AreDescribedAndShareOneFileOfWeights) {
  const Ran ran = tensorc("-o m.so --bind 'batch=1|3' --weights m.w --json --bench");
  EXPECT_EQ(ran.code, 0) << ran.output;
  ASSERT_EQ(tensorc("-o alone.so --bind batch=1 --weights alone.w").code, 0);
  EXPECT_EQ(bytes_of_in_variants(folder + "m.w"), bytes_of_in_variants(folder + "alone.w"));
  const auto artifact = Artifact::load(folder + "m.so", "m");
  ASSERT_TRUE(artifact.ok());
  const Json j = Json::parse(artifact->description()->json);
  ASSERT_EQ(j["variants"].size(), 2u);
  EXPECT_EQ(j["variants"][1]["name"], "batch=3");
  EXPECT_EQ(j["variants"][1]["inputs"][0]["shape"], (std::vector<int64_t>{3, 3, 20, 20}));
  EXPECT_EQ(j["variants"][1]["layers"].size(), 7u);
  EXPECT_EQ(j["arena_bytes"], j["variants"][1]["arena_bytes"]);
  EXPECT_FALSE(j.contains("layers"));
}

TEST_F(VariantsCommand, InputsOfAFolderSayWhichOneRuns) {
  const auto write = [&](const std::string& name, int64_t batch) {
    onnx::Tensor image;
    image.set_data_type(1);
    for (const int64_t n : {batch, int64_t{3}, int64_t{20}, int64_t{20}}) image.add_dims(n);
    for (int64_t i = 0; i < batch * 3 * 20 * 20; ++i) image.add_float_data(1);
    std::filesystem::create_directory(folder + name);
    std::ofstream(folder + name + "/input_0.pb", std::ios::binary) << image.SerializeAsString();
  };
  write("three", 3);
  write("two", 2);
  const std::string flags = "-o m.so --bind 'batch=1|3' --threads '1|2' --bench --inputs ";
  const Ran ran = tensorc(flags + "three");
  EXPECT_EQ(ran.code, 0) << ran.output;
  EXPECT_THAT(ran.output, testing::ContainsRegex("batch=3, 2 threads: [0-9.]+ ms"));
  EXPECT_THAT(ran.output, testing::ContainsRegex("batch=3, 1 thread: [0-9.]+ ms"));
  EXPECT_THAT(ran.output, testing::Not(testing::ContainsRegex("batch=1, [12] threads?: [0-9.]+ ms")));
  std::filesystem::remove(folder + "m.so");
  const Ran none = tensorc(flags + "two");
  EXPECT_EQ(none.code, 2);
  EXPECT_THAT(none.output, HasSubstr("--inputs two: no variant takes f32[2, 3, 20, 20]"));
  EXPECT_FALSE(std::filesystem::exists(folder + "m.so"));
}

TEST_F(VariantsCommand, FoldersMayHaveInputsThatAreBound) {
  TestModel m(13);
  m.input("x", {2}).input("n", {}, kInt64).input("z", {2}).node("Cast", {"n"}, {"f"}).number("to", kFloat);
  m.node("Mul", {"x", "f"}, {"scaled"}).node("Sub", {"scaled", "z"}, {"y"}).output("y");
  m.node("Less", {"y", "z"}, {"is_less"}).output("is_less");
  std::ofstream(folder + "bound.onnx", std::ios::binary) << m.model.SerializeAsString();
  const auto write = [&](const std::string& name, const std::vector<float>& values, bool is_vector) {
    onnx::Tensor t;
    t.set_data_type(is_vector ? kFloat : kInt64);
    if (is_vector) t.add_dims(static_cast<int64_t>(values.size()));
    for (const float v : values) is_vector ? t.add_float_data(v) : t.add_int64_data(static_cast<int64_t>(v));
    std::filesystem::create_directory(folder + "data");
    std::ofstream(folder + "data/" + name, std::ios::binary) << t.SerializeAsString();
  };
  write("input_0.pb", {1, 2}, true);
  write("input_1.pb", {3}, false);
  write("input_2.pb", {10, 20}, true);
  write("output_0.pb", {-7, -14}, true);
  onnx::Tensor bools;
  bools.set_data_type(kBool);
  bools.add_dims(2);
  for (const int v : {1, 1}) bools.add_int32_data(v);
  std::ofstream(folder + "data/output_1.pb", std::ios::binary) << bools.SerializeAsString();
  const std::string run = "cd " + folder + " && " + kBin +
                          "/tensorc bound.onnx --bind n=3 -o bound.so --config default --check --inputs data 2>&1";
  const Ran right = shell(run);
  EXPECT_EQ(right.code, 0) << right.output;
  write("output_0.pb", {-7, -15}, true);
  const Ran other = shell(run);
  EXPECT_EQ(other.code, 6) << "the file may be wrong";
  EXPECT_THAT(other.output, HasSubstr("output 'y' differs from expected output_0: by "));
  EXPECT_THAT(other.output, testing::Not(HasSubstr("bug")));
  std::filesystem::remove(folder + "data/input_2.pb");
  std::filesystem::remove(folder + "data/input_1.pb");
  const Ran few = shell(run);
  EXPECT_EQ(few.code, 2);
  EXPECT_THAT(few.output, HasSubstr("--inputs data: it has 1 inputs; the model takes 2"));
}

TEST_F(VariantsCommand, SameInputsSameBytes) {
  for (const std::string where : {"a", "b/c"}) {
    std::filesystem::create_directories(folder + where);
    std::filesystem::copy(model, folder + where + "/small.onnx");
    const std::string cpus = where == "a" ? "" : "taskset -c 0 ";
    const Ran ran = shell("cd " + folder + where + " && " + cpus + kBin +
                          "/tensorc small.onnx -o m.so --config default --bind 'batch=2|1' --threads '1|2' 2>&1");
    ASSERT_EQ(ran.code, 0) << ran.output;
  }
  EXPECT_EQ(bytes_of_in_variants(folder + "a/m.so"), bytes_of_in_variants(folder + "b/c/m.so"));
  EXPECT_EQ(bytes_of_in_variants(folder + "a/m.h"), bytes_of_in_variants(folder + "b/c/m.h"));
}

TEST_F(VariantsCommand, BadOnesAreOneLineAndNothingIsWritten) {
  const std::vector<std::pair<std::string, std::string>> bad = {
      {"--bind 'batch=1|'", "--bind batch=1|: a value is missing"},
      {"--bind 'batch=|'", "a value is missing"},
      {"--bind 'batch=1|2|1'", "1 is there twice"},
      {"--bind 'batch=1|01'", "01 is there twice"},
      {"--bind 'batch=1|x'", "'x' is not a whole number"},
      {"--bind 'batch=1|2' --bind batch=3", "--bind batch is given twice"},
      {"--bind batch=2 --shape 'image=1x3x20x20|2x3x20x20'", "--shape image: batch is 1 there, and 2 by --bind"},
      {"--threads 0", "--threads: '0' is not a whole number from 1 to 1024"},
      {"--threads '1|0'", "'0' is not a whole number"},
      {"--threads '2|2'", "2 is there twice"},
      {"--threads '2|'", "a value is missing"},
      {"--bind 'batch=1|2' --emit graph", "prints one binding"},
      {"--bind 'batch=1|2|3|4|5|6|7|8|9|10|11|12|13' --threads '1|2|3|4|5'", "13 x 5 = 65 variants; an artifact has"}};
  for (const auto& [arguments, what] : bad) {
    const Ran ran = tensorc("-o bad.so " + arguments);
    EXPECT_EQ(ran.code, 2) << arguments << ": " << ran.output;
    EXPECT_THAT(ran.output, HasSubstr(what)) << arguments;
    EXPECT_EQ(std::count(ran.output.begin(), ran.output.end(), '\n'), 1) << ran.output;
    EXPECT_FALSE(std::filesystem::exists(folder + "bad.so")) << arguments;
  }
  const Ran op = shell(kBin + "/tensorc --task dense --threads '1|2' 2>&1");
  EXPECT_EQ(op.code, 2);
  EXPECT_THAT(op.output, HasSubstr("an operator has one number of threads"));
}

}  // namespace
}  // namespace hone
