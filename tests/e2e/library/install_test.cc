// Builds docs/examples/compiler on what `cmake --install build --component compiler` installs, and runs it.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "tests/e2e/artifact/shell.h"
#include "tests/fakes/temporary_folder.h"
#include "tests/fakes/test_model.h"

namespace hone {
namespace {

using testing::AllOf;
using testing::HasSubstr;

const std::string kExamples = std::string(HONE_SOURCE_DIR) + "/docs/examples/compiler";

struct InstalledCompiler : testing::Test {
  const TemporaryFolder temporary;
  const std::string folder = temporary.path(), prefix = folder + "/prefix";

  void SetUp() override {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "these libraries want a sanitizer's runtime, which the programs here have not";
#endif
    setenv("HONE_DB", (folder + "/hub.db").c_str(), 1);
    for (const char* component : {"runtime", "compiler", "tuner"}) {
      const Ran installed =
          shell(std::string("cmake --install " HONE_BIN_DIR "/.. --component ") + component + " --prefix " + prefix);
      ASSERT_EQ(installed.code, 0) << installed.output;
    }
    // y = relu(x W + j), W of ones.
    TestModel model;
    model.input("x", {"batch", 16}).node("MatMul", {"x", "w"}, {"xw"}).node("Add", {"xw", "b"}, {"z"});
    model.node("Relu", {"z"}, {"y"}).output("y");
    std::vector<float> bias;
    for (int j = 0; j < 8; ++j) bias.push_back(static_cast<float>(j));
    model.floats("w", {16, 8}, std::vector<float>(16 * 8, 1)).floats("b", {8}, bias);
    std::ofstream(folder + "/mlp.onnx", std::ios::binary) << model.model.SerializeAsString();
  }
  Ran build() const {
    return shell("cmake -S " + kExamples + " -B " + folder + "/build -DCMAKE_PREFIX_PATH=" + prefix +
                 " -DMODEL=" + folder + "/mlp.onnx && cmake --build " + folder + "/build");
  }
};

TEST_F(InstalledCompiler, ExamplesAreBuiltWithFindPackageAndRun) {
  const Ran built = build();
  ASSERT_EQ(built.code, 0) << built.output;
  EXPECT_THAT(built.output, HasSubstr("hone: mlp"));
  EXPECT_EQ(shell(folder + "/build/model_in_program").output, "16 17 18 19 20 21 22 23 \n");
  EXPECT_THAT(shell("readelf -dW " + folder + "/build/model_in_program").output, testing::Not(HasSubstr("libhone")));
  const Ran ran = shell("cd " + folder + " && build/compile_and_run");
  EXPECT_EQ(ran.code, 0);
  EXPECT_THAT(ran.output,
              AllOf(HasSubstr("64 x 64 products are right\n"), HasSubstr("error 32: "), HasSubstr("abacus")));
  // Built again only when the model changes.
  EXPECT_THAT(build().output, testing::Not(HasSubstr("hone: mlp")));
  std::filesystem::last_write_time(folder + "/mlp.onnx", std::filesystem::file_time_type::clock::now());
  EXPECT_THAT(build().output, HasSubstr("hone: mlp"));
}

TEST_F(InstalledCompiler, AModelOfTensorFlowLiteIsBuiltWithAProgram) {
  std::filesystem::copy(HONE_SOURCE_DIR "/tests/data/pets.tflite", folder + "/pets.tflite");
  std::ofstream(folder + "/CMakeLists.txt")
      << "cmake_minimum_required(VERSION 3.13)\nproject(p C)\nfind_package(hone REQUIRED COMPONENTS runtime compiler)\n"
         "hone_add_model(pets pets.tflite OPTIONS --input image=u8,normalized --threads 1)\n"
         "add_executable(first first.c)\ntarget_link_libraries(first PRIVATE pets)\n";
  // The first pixel's colours are the scores: -1 to 1.
  std::ofstream(folder + "/first.c") << R"(#include <stdio.h>
#include <stdlib.h>
#include "pets.h"
int main(void) {
  static unsigned char image[192] = {0, 255, 0};
  float scores[3];
  int64_t in[] = {1, 8, 8, 3}, out[] = {1, 3};
  DLTensor x = {image, {kDLCPU, 0}, 4, {kDLUInt, 8, 1}, in, NULL, 0};
  DLTensor y = {scores, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, out, NULL, 0};
  const DLTensor* tensors[] = {&x, &y};
  const int32_t code = pets_run(tensors, 2, aligned_alloc(64, PETS_ARENA_BYTES / 64 * 64 + 64), NULL);
  printf("%s: %.3f %.3f %.3f\n", pets_error(code), scores[0], scores[1], scores[2]);
  return 0;
}
)";
  const Ran built = shell("cmake -S " + folder + " -B " + folder + "/b -DCMAKE_PREFIX_PATH=" + prefix +
                          " && cmake --build " + folder + "/b");
  ASSERT_EQ(built.code, 0) << built.output;
  EXPECT_THAT(built.output, HasSubstr("hone: pets"));
  EXPECT_THAT(shell(folder + "/b/first").output, HasSubstr(": -1.000 1.000 -1.000\n"));
}

TEST_F(InstalledCompiler, PkgConfigAndStrictCompilersTakeIt) {
  const std::string pc = shell("dirname $(find " + prefix + " -name hone.pc)").output;
  const std::string config = "$(PKG_CONFIG_PATH=" + pc.substr(0, pc.find('\n')) + " pkg-config --cflags --libs hone)";
  for (const std::string compiler : {"g++ -std=c++17 -Wpedantic", "g++ -std=c++20", "clang++ -std=c++17"}) {
    if (shell("command -v " + compiler.substr(0, compiler.find(' '))).code != 0) continue;
    const Ran ran = shell(compiler + " -Wall -Wextra -Werror " + kExamples + "/compile_and_run.cc " + config + " -o " +
                          folder + "/with_pkg_config");
    EXPECT_EQ(ran.code, 0) << ran.output;
  }
  const Ran ran =
      shell("cd " + folder + " && LD_LIBRARY_PATH=" + pc.substr(0, pc.find('\n')) + "/.. ./with_pkg_config");
  EXPECT_THAT(ran.output, HasSubstr("products are right"));
  // A header of C.
  for (const std::string compiler : {"gcc -std=c11 -Wpedantic", "gcc -x c++"}) {
    std::ofstream(folder + "/c.c")
        << "#include <hone_compiler.h>\nint main(void) { return hone_compiler_version() - 1; }\n";
    const Ran c = shell(compiler + " -Wall -Wextra -Werror -fsyntax-only " + folder + "/c.c " + config);
    EXPECT_EQ(c.code, 0) << c.output;
  }
}

TEST_F(InstalledCompiler, AComponentThatIsNotThereIsSaid) {
  std::ofstream(folder + "/CMakeLists.txt") << "cmake_minimum_required(VERSION 3.13)\nproject(p C)\n"
                                               "find_package(hone REQUIRED COMPONENTS runtime trainer)\n";
  const Ran ran = shell("cmake -S " + folder + " -B " + folder + "/b -DCMAKE_PREFIX_PATH=" + prefix);
  EXPECT_NE(ran.code, 0);
  EXPECT_THAT(ran.output, HasSubstr("hone's trainer is not installed here"));
}

}  // namespace
}  // namespace hone
