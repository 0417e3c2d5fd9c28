// The files that `cmake --install build --component runtime` installs, and docs/examples built against them and run.
#include <gmock/gmock.h>

#include <filesystem>

#include "tests/e2e/artifact/shell.h"
#include "tests/fakes/temporary_folder.h"

namespace hone {
namespace {

using testing::AllOf;
using testing::HasSubstr;

const std::string kSource = HONE_SOURCE_DIR;
const std::string kExamples = kSource + "/docs/examples";

struct Installed : testing::Test {
  const TemporaryFolder temporary;
  const std::string folder = temporary.path(), prefix = folder + "/prefix", lib = prefix + "/lib";
  std::string pkg_config;  // the folder of hone-runtime.pc

  void SetUp() override {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "these libraries want a sanitizer's runtime, which the programs here have not";
#endif
    const Ran installed = shell("cmake --install " HONE_BIN_DIR "/.. --component runtime --prefix " + prefix);
    ASSERT_EQ(installed.code, 0) << installed.output;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(prefix))
      if (entry.path().filename() == "hone-runtime.pc") pkg_config = entry.path().parent_path();
    ASSERT_NE(pkg_config, "");
  }
  std::string flags(const std::string& what) const {
    return "$(PKG_CONFIG_PATH=" + pkg_config + " pkg-config " + what + " hone-runtime)";
  }
  void emit(const std::string& file) {
    const Ran ran = shell(kBin + "/tensorc --task dense --args m=64,n=64,k=64 --threads 2 --config default --emit " +
                          (file.ends_with(".so") ? "so" : "obj") + " -o " + folder + "/" + file);
    ASSERT_EQ(ran.code, 0) << ran.output;
  }
  void expect_prints(const std::string& command, const testing::Matcher<std::string>& what) {
    const Ran ran = shell("cd " + folder + " && " + command);
    EXPECT_EQ(ran.code, 0) << command << "\n" << ran.output;
    EXPECT_THAT(ran.output, what) << command;
  }
};

const auto kProductPrints = AllOf(HasSubstr("with two tensors: product takes 3 tensors: a, b, matmul\n"),
                                  HasSubstr("64 x 64 products are right\n"));
const auto kRuntimePrints =
    AllOf(HasSubstr("input  a: code 2, 32 bits, [64, 64]\n"), HasSubstr("output matmul: code 2, 32 bits, [64, 64]\n"),
          HasSubstr("matmul = 64 64 64 64\n"), HasSubstr(" ms  product"));

// The error of faces for a foreign model, here product.so; with its own model it runs in docs/picture.md.
const std::string kFacesOfProduct =
    "{ printf 'P6 1 1 255 rgb' > dot.ppm; ./faces product.so dot.ppm found.ppm 2>&1; "
    "test $? = 1; }";
const auto kFacesPrints = HasSubstr("product takes 2 inputs");

// As README.md of the examples says it, with each compiler that is there.
TEST_F(Installed, ExamplesAreBuiltAsCAndAsCxxAndRun) {
  emit("product.o");
  emit("product.so");
  for (const std::string compiler :
       {"gcc -std=c11 -Wpedantic", "gcc", "g++ -std=c++17 -x c++", "clang -std=c11 -Wpedantic", "clang++ -x c++"}) {
    if (shell("command -v " + compiler.substr(0, compiler.find(' '))).code != 0) continue;
    const std::string strict = compiler + " -Wall -Wextra -Werror ";
    expect_prints(strict + flags("--cflags") + " -I. " + kExamples +
                      "/artifact_only.c -x none product*.o -pthread -o artifact_only && ./artifact_only",
                  kProductPrints);
    EXPECT_THAT(shell("readelf -dW " + folder + "/artifact_only").output, testing::Not(HasSubstr("hone")));
    expect_prints(strict + kExamples + "/with_runtime.c -x none " + flags("--cflags --libs") +
                      " -o with_runtime && LD_LIBRARY_PATH=" + pkg_config + "/.. ./with_runtime product.so",
                  kRuntimePrints);
    expect_prints(strict + kExamples + "/faces.c -x none " + flags("--cflags --libs") +
                      " -lm -o faces && export LD_LIBRARY_PATH=" + pkg_config + "/.. && " + kFacesOfProduct,
                  kFacesPrints);
  }
  // All in one file, as on a system without a loader.
  expect_prints("gcc " + flags("--cflags") + " -I. " + kExamples +
                    "/artifact_only.c product*.o -static -pthread -o artifact_only && ./artifact_only",
                kProductPrints);
}

TEST_F(Installed, ExamplesAreBuiltWithFindPackage) {
  emit("product.o");
  emit("product.so");
  const Ran built = shell("cmake -S " + kExamples + " -B " + folder + "/build -DCMAKE_PREFIX_PATH=" + prefix +
                          " -DARTIFACTS=" + folder + " && cmake --build " + folder + "/build");
  ASSERT_EQ(built.code, 0) << built.output;
  expect_prints("build/with_runtime product.so", kRuntimePrints);
  expect_prints("build/with_runtime_static product.so", kRuntimePrints);
  expect_prints("build/artifact_only", kProductPrints);
  expect_prints("cd build && cp ../product.so . && " + kFacesOfProduct, kFacesPrints);
  EXPECT_THAT(shell("readelf -dW " + folder + "/build/with_runtime").output, HasSubstr("[libhone_runtime.so.0]"));
}

// The folder may be moved, and its files are small and show nothing but the interface.
TEST_F(Installed, IsSmallMovesAndShowsItsInterfaceAlone) {
  const std::string moved = folder + "/moved";
  std::filesystem::rename(prefix, moved);
  const std::string found = shell("find " + moved + " -name libhone_runtime.a").output;
  EXPECT_LT(std::filesystem::file_size(found.substr(0, found.find('\n'))), 1u << 20);
  EXPECT_EQ(shell("grep -rl " + folder + " " + moved).output, "");
  EXPECT_EQ(shell("nm -D --defined-only $(find " + moved + " -name libhone_runtime.so) | grep -v ' T hone_'").output,
            "");
  EXPECT_EQ(shell("nm -D --defined-only $(find " + moved + " -name libhone_runtime.so) | grep internal").output, "");
}

// From source, with every compiler here, as for a board.
TEST(RuntimeFromSource, CompilesWithoutWarnings) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder.path() + "/dlpack");
  std::filesystem::copy_file("/usr/include/dlpack/dlpack.h", folder.path() + "/dlpack/dlpack.h");
  const std::string include = " -I" + kSource + " -I" + kSource + "/compiler/runtime/include -I" + folder.path();
  for (const std::string compiler : {"gcc", "clang", "aarch64-linux-gnu-gcc"}) {
    if (shell("command -v " + compiler).code != 0) continue;
    const Ran ran =
        shell(compiler + " -std=c11 -O2 -Wall -Wextra -Wpedantic -Werror -fPIC -shared -fvisibility=hidden" + include +
              " " + kSource + "/compiler/api/*.c " + kSource + "/compiler/runtime/pool/pool.c -pthread -ldl -o " +
              folder.path() + "/libhone_runtime.so");
    EXPECT_EQ(ran.code, 0) << compiler << "\n" << ran.output;
  }
  for (const std::string language : {"gcc -x c -std=c11", "g++ -x c++ -std=c++17", "clang -x c++ -std=c++17"}) {
    if (shell("command -v " + language.substr(0, language.find(' '))).code != 0) continue;
    const Ran ran = shell(language + " -Wall -Wextra -Wpedantic -Werror -fsyntax-only" + include + " " + kSource +
                          "/compiler/api/hone.h");
    EXPECT_EQ(ran.code, 0) << language << "\n" << ran.output;
  }
}

}  // namespace
}  // namespace hone
