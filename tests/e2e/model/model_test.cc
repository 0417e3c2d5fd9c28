// Models from the command line to programs that use them.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "compiler/frontend/onnx/import.h"
#include "compiler/graph/evaluate.h"
#include "compiler/model/run_model.h"
#include "compiler/runtime/c_objects.h"
#include "tests/e2e/artifact/shell.h"
#include "tests/fakes/small_model.h"
#include "tests/fakes/temporary_folder.h"

namespace hone {
namespace {

using testing::HasSubstr;

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

struct ModelCommand : testing::Test {
  const TemporaryFolder temporary;
  const std::string folder = temporary.path() + "/", model = folder + "small.onnx";
  void SetUp() override { SmallModel().write(model); }

  Ran tensorc(const std::string& arguments) {
    return shell("cd " + folder + " && " + kBin + "/tensorc " + model + " --config default " + arguments + " 2>&1");
  }
  // The classes that the interpreter computes of the program's image.
  std::vector<double> wanted() const {
    const OperatorTable operators = standard_operators();
    const Graph g = import_onnx(model, operators).graph;
    std::string image;
    for (int i = 0; i < 3 * 20 * 20; ++i) {
      const float v = static_cast<float>(i % 17) / 8 - 1;
      image.append(reinterpret_cast<const char*>(&v), sizeof v);
    }
    return interpret(g, {TensorData({f32, {1, 3, 20, 20}}, image)}, &evaluate)[0].values();
  }
  // The output of use_models.c.
  void expect_classes(const Ran& ran) const {
    ASSERT_EQ(ran.code, 0) << ran.output;
    std::istringstream lines(ran.output);
    std::string line;
    for (const double v : wanted()) {
      ASSERT_TRUE(std::getline(lines, line)) << ran.output;
      EXPECT_NEAR(std::stod(line), v, 2e-6) << ran.output;
    }
    EXPECT_FALSE(std::getline(lines, line)) << ran.output;
  }
};

const std::string kProgram = " -I. -I" HONE_SOURCE_DIR "/compiler/runtime/include " HONE_SOURCE_DIR
                             "/tests/e2e/model/use_models.c m.o m_pool.o n.o n_pool.o -pthread -o use ";

TEST_F(ModelCommand, SaysWhatItBuiltAndWhatItAgreesWith) {
  const Ran ran = tensorc("-o m.so --check --threads 2");
  EXPECT_EQ(ran.code, 0) << ran.output;
  EXPECT_THAT(ran.output, HasSubstr("7 layers (7 kernels), configs: 7 default"));
  EXPECT_THAT(ran.output, HasSubstr("check: 7 layers"));
  EXPECT_THAT(tensorc("--emit graph").output, HasSubstr("epilogue=bias+add+silu"));
  EXPECT_THAT(tensorc("--emit graph:after=import").output, HasSubstr("elementwise(op=sigmoid"));
  EXPECT_THAT(tensorc("-o m.so --explain").output, HasSubstr("c2 + s + g + features\n     conv2d(n=1,ci=16"));
  const Ran profile = tensorc("-o m.so --profile --threads 1");
  EXPECT_THAT(profile.output, testing::ContainsRegex("ms +share +GFLOPS"));
  EXPECT_THAT(profile.output, HasSubstr("ms in all"));
  const Ran unknown = tensorc("--emit graph:after=nothing");
  EXPECT_EQ(unknown.code, 2) << unknown.output;
  EXPECT_THAT(unknown.output, HasSubstr("remove_dead"));
}

// The process that loads it has libm's sin and the C library's read before it; its own code calls memset.
TEST_F(ModelCommand, IsCalledLikeFunctionsOfTheCLibrary) {
  for (const char* name : {"sin", "y1", "read"}) {
    const Ran ran = tensorc(std::string("--check --threads 1 -o ") + name + ".so");
    EXPECT_EQ(ran.code, 0) << ran.output;
    EXPECT_THAT(ran.output, HasSubstr("the whole agrees with the imported model"));
  }
  for (const char* name : {"memset", "exp", "free"}) {
    const Ran ran = tensorc(std::string("--threads 1 -o ") + name + ".so");
    EXPECT_EQ(ran.code, 2) << ran.output;
    EXPECT_THAT(ran.output, HasSubstr(std::string("an artifact cannot be called '") + name + "'"));
  }
}

TEST_F(ModelCommand, TakesBytesOfACamera) {
  const std::string format = " --input image=u8:NHWC,mean=123.7:116.3:103.5,std=58";
  const Ran ran = tensorc("-o m.so --check --bench --json --threads 1" + format);
  EXPECT_EQ(ran.code, 0) << ran.output;
  EXPECT_THAT(ran.output, HasSubstr("7 layers"));
  EXPECT_THAT(ran.output, HasSubstr("the whole agrees with the imported model"));
  EXPECT_THAT(ran.output, HasSubstr("dtype=u8:f32:f32:f32,epilogue=bias+relu,prologue=mul[1]+bias"));
  EXPECT_THAT(ran.output, testing::ContainsRegex("\"u8\""));
  EXPECT_THAT(bytes_of(folder + "m.h"), HasSubstr("u8 [1, 20, 20, 3]"));
  // The same on both sides of the passes.
  EXPECT_THAT(tensorc("--emit graph:after=import" + format).output,
              HasSubstr("input \"image\" %image u8[1, 20, 20, 3]"));
}

TEST_F(ModelCommand, TwoModelsInOneProgram) {
  if (pool_object("x86_64").empty()) GTEST_SKIP() << "built without a C compiler";
  ASSERT_EQ(tensorc("--emit obj -o m.o --threads 3").code, 0);
  ASSERT_EQ(tensorc("--emit obj -o n.o --threads 2").code, 0);
  for (const std::string compiler : {"gcc -std=c99 -D_GNU_SOURCE", "g++ -x c++"}) {
    // Behind -x c++ objects would be sources.
    const bool is_cpp = compiler.starts_with("g++");
    const std::string program = HONE_SOURCE_DIR "/tests/e2e/model/use_models.c";
    const Ran built = shell(
        "cd " + folder + " && " + compiler + " -Wall -Wextra -c -I. -I" HONE_SOURCE_DIR "/compiler/runtime/include " +
        program + " -o use.o && " + (is_cpp ? "g++" : "gcc") + " use.o m.o m_pool.o n.o n_pool.o -pthread -o use 2>&1");
    ASSERT_EQ(built.code, 0) << built.output;
    expect_classes(shell(folder + "use 2>&1"));
  }
}

TEST_F(ModelCommand, WeightsInFilesOfTheirOwn) {
  if (weights_object("x86_64").empty()) GTEST_SKIP() << "built without a C compiler";
  for (const std::string name : {"m", "n"})
    ASSERT_EQ(tensorc("--emit obj --threads 2 -o " + name + ".o --weights " + name + ".w").code, 0);
  ASSERT_EQ(bytes_of(folder + "m.w"), bytes_of(folder + "n.w"));
  const Ran built = shell("cd " + folder + " && gcc -DWEIGHTS" + kProgram + " 2>&1");
  ASSERT_EQ(built.code, 0) << built.output;
  expect_classes(shell("cd " + folder + " && ./use 2>&1"));
  // As in the artifact, and checked, and found beside it.
  const Ran apart = tensorc("-o apart.so --weights apart.w --check --bench"), embedded = tensorc("-o embedded.so");
  EXPECT_EQ(apart.code, 0) << apart.output;
  EXPECT_THAT(apart.output, HasSubstr("wrote apart.w apart.so apart.h"));
  const std::vector<TensorData> inputs = {TensorData({f32, {1, 3, 20, 20}}, std::string(4800, '\x3c'))};
  const auto classes = [&](const std::string& name) {
    return LoadedModel(folder + name + ".so", name, 1).run(inputs)[0].values();
  };
  EXPECT_EQ(classes("apart"), classes("embedded"));
}

TEST_F(ModelCommand, OtherFilesAreNoWeights) {
  if (weights_object("x86_64").empty()) GTEST_SKIP() << "built without a C compiler";
  ASSERT_EQ(tensorc("-o m.so --weights m.w").code, 0);
  const std::string right = bytes_of(folder + "m.w");
  std::string hash = right;
  hash[9] = static_cast<char>(hash[9] + 1);
  const auto said = [&](const std::string& file) {
    std::ofstream(folder + "m.w", std::ios::binary) << file;
    try {
      LoadedModel(folder + "m.so", "m", 1);
    } catch (const UserError& e) {
      return std::string(e.what());
    }
    return std::string("taken");
  };
  for (const std::string& file :
       {std::string(), std::string("short"), right.substr(0, right.size() - 1), right + "x", hash})
    EXPECT_THAT(said(file), HasSubstr("m.w: m: this is not the file of its weights, or not all of it"));
  std::filesystem::remove(folder + "m.w");
  EXPECT_EQ(
      shell(kBin + "/tensorc " + model + " --config default -o " + folder + "m.so --weights " + folder + "m.so").code,
      2);
  EXPECT_EQ(said(right), "taken");
}

TEST_F(ModelCommand, RunsOnAarch64) {
  if (pool_object("aarch64").empty()) GTEST_SKIP() << "built without a C compiler for aarch64";
  if (shell("which qemu-aarch64-static aarch64-linux-gnu-gcc").code != 0)
    GTEST_SKIP() << "no cross compiler or emulator";
  for (const std::string name : {"m", "n"})
    ASSERT_EQ(
        tensorc("--emit obj -o " + name + ".o --target 'llvm -mtriple=aarch64-linux -mcpu=cortex-a76 -threads=2'").code,
        0);
  const Ran built = shell("cd " + folder + " && aarch64-linux-gnu-gcc -static " + kProgram + " 2>&1");
  ASSERT_EQ(built.code, 0) << built.output;
  expect_classes(shell("timeout 120 qemu-aarch64-static " + folder + "use no-fork 2>&1"));
}

TEST_F(ModelCommand, SameInputsSameBytes) {
  for (const std::string where : {"a", "b/c"}) {
    std::filesystem::create_directories(folder + where);
    std::filesystem::copy(model, folder + where + "/small.onnx");
    const std::string cpus = where == "a" ? "" : "taskset -c 0 ";
    const Ran ran = shell("cd " + folder + where + " && " + cpus + kBin +
                          "/tensorc small.onnx -o m.so --config default --threads 2 2>&1");
    ASSERT_EQ(ran.code, 0) << ran.output;
  }
  EXPECT_EQ(bytes_of(folder + "a/m.so"), bytes_of(folder + "b/c/m.so"));
  EXPECT_EQ(bytes_of(folder + "a/m.h"), bytes_of(folder + "b/c/m.h"));
}

TEST_F(ModelCommand, ClosedWhileItsPoolLives) {
  ASSERT_EQ(tensorc("-o m.so --threads 2").code, 0);
  auto artifact = std::make_optional(*Artifact::load(folder + "m.so", "m"));
  const auto new_pool = reinterpret_cast<HoneRuntime* (*)(int32_t)>(artifact->symbol("m_pool"));
  const auto free_pool = reinterpret_cast<void (*)(HoneRuntime*)>(artifact->symbol("m_pool_free"));
  if (!new_pool) GTEST_SKIP() << "built without a C compiler";
  HoneRuntime* pool = new_pool(2);
  ASSERT_TRUE(pool);
  artifact.reset();
  LoadedModel again(folder + "m.so", "m", 2);
  EXPECT_EQ(again.run_again(), HONE_OK);
  free_pool(pool);
}

// The header's macros (the arena's bytes) are those of the object beside it.
TEST_F(ModelCommand, WhereTheHeaderCannotBeWrittenTheArtifactStaysAsItWas) {
  const std::string dense = kBin + "/tensorc --task dense --args m=8,n=8,k=8 --config default ";
  for (const std::string& emit : {std::string("so"), std::string("obj"), std::string("c")})
    for (const std::string& command : {kBin + "/tensorc " + model + " --config default ", dense}) {
      const std::string build = "cd " + folder + " && rm -rf m.h && " + command + "--emit " + emit + " -o m.x ";
      ASSERT_EQ(shell(build + "--threads 1").code, 0) << build;
      const std::string before = bytes_of(folder + "m.x");
      const Ran ran =
          shell("cd " + folder + " && rm m.h && mkdir m.h && " + command + "--emit " + emit + " -o m.x --threads 2");
      EXPECT_EQ(ran.code, 2) << ran.output;
      EXPECT_THAT(ran.output, HasSubstr("m.h cannot be written: Is a directory"));
      EXPECT_TRUE(bytes_of(folder + "m.x") == before) << build;
      EXPECT_EQ(shell("ls " + folder + " | grep part").output, "") << build;
    }
}

TEST_F(ModelCommand, RemovesWhatKilledBuildsOfItLeft) {
  for (const char* left : {"m.so.4194304.part", "m.h.4194304-2.part", "other.so.4194304.part"})
    std::ofstream(folder + left) << "half";
  ASSERT_EQ(tensorc("-o m.so").code, 0);
  EXPECT_EQ(shell("ls " + folder).output, "m.h\nm.so\nother.so.4194304.part\nsmall.onnx\n");
}

TEST_F(ModelCommand, OfOneImageIsBuiltForSeveral) {
  const Ran ran = tensorc("-o m.so --model-batch 2 --check --json");
  EXPECT_EQ(ran.code, 0) << ran.output;
  EXPECT_THAT(ran.output, HasSubstr("[2,3,20,20]"));
  EXPECT_THAT(ran.output, HasSubstr("the whole agrees with the imported model"));
}

TEST_F(ModelCommand, BadInputIsOneLineAndNothingIsWritten) {
  const std::vector<std::pair<std::string, std::string>> bad = {
      {"--bind batch=2",
       "--bind batch: no input has a dimension of that name, nor is one called so; there are image ["},
      {"--bind batch", "NAME=VALUE"},
      {"--shape image=1x3x30x30", "dimension 2 is 20 in the model"},
      {"--shape picture=1x3", "there is no such input"},
      {"--shape image=2x3x20x20", "dimension 0 is 1 in the model; --model-batch 2 builds it for more"},
      {"--model-batch 0", "--model-batch: "},
      {"--input picture=u8", "there is no input 'picture'"},
      {"--input image=u8,scale=0", "a scale of 0"},
      {"--target 'opencl -sms=2' --cache n=3", "no input has a dimension of that name"},
      {"--emit ptx", "a model has graph"},
      {"--emit obj --profile", "run a shared object"},
      {"--weights ./bad.so", "the same file as -o bad.so, which is written, too"},
      {"--weights " + folder + "bad.h", "the same file as its header"},
      {"--weights " + model, "the same file as the model"},
      {"--weights nowhere/", "a folder, not a file"},
      {"--weights missing/m.w", "missing/m.w cannot be written: there is no folder missing"},
      {"--report missing/r.html", "missing/r.html cannot be written: there is no folder missing"}};
  for (const auto& [arguments, what] : bad) {
    const Ran ran = tensorc("-o bad.so " + arguments);
    EXPECT_EQ(ran.code, 2) << arguments << ": " << ran.output;
    EXPECT_THAT(ran.output, HasSubstr(what)) << arguments;
    EXPECT_FALSE(std::filesystem::exists(folder + "bad.so")) << arguments;
  }
  const Ran missing = shell(kBin + "/tensorc " + folder + "missing.onnx 2>&1");
  EXPECT_EQ(missing.code, 2);
  EXPECT_THAT(missing.output, HasSubstr("missing.onnx: No such file"));
}

}  // namespace
}  // namespace hone
