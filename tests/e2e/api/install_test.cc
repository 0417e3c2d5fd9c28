// The files that `cmake --install build --component runtime` and `--component gpu` install, and docs/examples built
// against them and run.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <sstream>

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

// The same with libhone_gpu beside it.
struct GpuInstalled : Installed {
  void SetUp() override {
    Installed::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    const Ran installed = shell("cmake --install " HONE_BIN_DIR "/.. --component gpu --prefix " + prefix);
    ASSERT_EQ(installed.code, 0) << installed.output;
    library = std::filesystem::path(pkg_config).parent_path();
    has_device = shell("ls /etc/OpenCL/vendors/*.icd").code == 0;
    const Ran ran = shell(kBin + "/tensorc --task dense --args m=64,n=64,k=64 --config default --target opencl -o " +
                          folder + "/product.so");
    if (ran.code != 0 && !has_device) GTEST_SKIP() << ran.output;
    ASSERT_EQ(ran.code, 0) << ran.output;
  }
  std::string gpu_flags(const std::string& what) const {
    return "$(PKG_CONFIG_PATH=" + pkg_config + " pkg-config " + what + " hone-gpu)";
  }
  // The example prints its device and products of ones; where there is no OpenCL device it says so.
  void expect_runs(const std::string& program) {
    const Ran ran =
        shell("cd " + folder + " && LD_LIBRARY_PATH=" + library.string() + " " + program + " product.so opencl");
    EXPECT_EQ(ran.code, has_device ? 0 : 1) << ran.output;
    const testing::Matcher<std::string> runs = AllOf(HasSubstr("opencl:0: "), HasSubstr("matmul = 64 64 64 64\n"));
    const testing::Matcher<std::string> says_why = HasSubstr("no OpenCL");
    EXPECT_THAT(ran.output, has_device ? runs : says_why);
  }
  std::filesystem::path library;
  bool has_device = false;
};

TEST_F(GpuInstalled, TheExampleIsBuiltAsCAndAsCxxAndRuns) {
  for (const std::string compiler : {"gcc -std=c11 -pedantic-errors", "g++ -std=c++17 -x c++",
                                     "clang -std=c11 -pedantic-errors", "clang++ -std=c++17 -x c++"}) {
    if (shell("command -v " + compiler.substr(0, compiler.find(' '))).code != 0) continue;
    SCOPED_TRACE(compiler);
    const Ran built = shell("cd " + folder + " && " + compiler + " -Wall -Wextra -Werror " + kExamples +
                            "/on_gpu.c -x none " + gpu_flags("--cflags --libs") + " -o on_gpu");
    ASSERT_EQ(built.code, 0) << built.output;
    expect_runs("./on_gpu");
  }
  // Archives: the program needs neither library, and hone_open of it finds the one inside.
  const Ran built = shell("cd " + folder + " && gcc -std=c11 " + kExamples + "/on_gpu.c " + gpu_flags("--cflags") +
                          " " + library.string() + "/libhone_gpu.a " + library.string() +
                          "/libhone_runtime.a -pthread -ldl -o on_gpu_static");
  ASSERT_EQ(built.code, 0) << built.output;
  EXPECT_THAT(shell("readelf -dW " + folder + "/on_gpu_static").output, testing::Not(HasSubstr("libhone")));
  expect_runs("./on_gpu_static");
}

// hone::gpu by CMake, and a program that knows hone.h alone beside it.
TEST_F(GpuInstalled, TheExampleIsBuiltWithFindPackage) {
  std::filesystem::create_directory(folder + "/project");
  std::ofstream(folder + "/project/CMakeLists.txt")
      << "cmake_minimum_required(VERSION 3.13)\nproject(on_gpu LANGUAGES C)\nset(CMAKE_C_STANDARD 11)\n"
         "find_package(hone REQUIRED COMPONENTS runtime gpu)\n"
         "foreach(kind gpu gpu_static)\n  add_executable(on_${kind} " +
             kExamples +
             "/on_gpu.c)\nendforeach()\n"
             "target_link_libraries(on_gpu PRIVATE hone::gpu hone::runtime)\n"
             "target_link_libraries(on_gpu_static PRIVATE hone::gpu_static hone::runtime_static)\n"
             "add_executable(with_runtime " +
             kExamples +
             "/with_runtime.c)\n"
             "target_link_libraries(with_runtime PRIVATE hone::runtime)\n"
             "add_executable(with_runtime_static " +
             kExamples +
             "/with_runtime.c)\n"
             "target_link_libraries(with_runtime_static PRIVATE hone::gpu_static hone::runtime_static)\n";
  const Ran built = shell("cmake -S " + folder + "/project -B " + folder + "/build -DCMAKE_PREFIX_PATH=" + prefix +
                          " && cmake --build " + folder + "/build");
  ASSERT_EQ(built.code, 0) << built.output;
  expect_runs("build/on_gpu");
  expect_runs("build/on_gpu_static");
  if (!has_device) return;
  for (const char* const program : {"build/with_runtime", "build/with_runtime_static"})
    expect_prints(std::string(program) + " product.so", HasSubstr("matmul = 64 64 64 64\n"));
}

TEST_F(GpuInstalled, ItShowsItsInterfaceAloneAndNeedsLibcAlone) {
  const std::string shared = library.string() + "/libhone_gpu.so";
  EXPECT_EQ(
      shell("nm -D --defined-only " + shared + " | grep -v ' T hone_gpu_' | grep -v ' [DR] hone_gpu_library'").output,
      "");
  EXPECT_EQ(shell("readelf -dW " + shared + " | grep NEEDED | grep -vE 'lib(c|dl|pthread)\\.so|ld-linux'").output, "");
  EXPECT_EQ(shell("grep -rl " + folder + " " + prefix).output, "");
}

// As old as JetPack 4 has it, glibc 2.27, which has all of these. Whoever adds a function looks when it came.
constexpr const char* kLibcOfBoards[] = {"__cxa_finalize",
                                         "__register_atfork",
                                         "__tls_get_addr",
                                         "atoi",
                                         "calloc",
                                         "clock_gettime",
                                         "dlerror",
                                         "dlopen",
                                         "dlsym",
                                         "free",
                                         "getpid",
                                         "malloc",
                                         "memcmp",
                                         "memcpy",
                                         "memmove",
                                         "memset",
                                         "nanosleep",
                                         "posix_memalign",
                                         "pthread_cond_broadcast",
                                         "pthread_cond_destroy",
                                         "pthread_cond_init",
                                         "pthread_cond_signal",
                                         "pthread_cond_timedwait",
                                         "pthread_cond_wait",
                                         "pthread_condattr_destroy",
                                         "pthread_condattr_init",
                                         "pthread_condattr_setclock",
                                         "pthread_mutex_destroy",
                                         "pthread_mutex_init",
                                         "pthread_mutex_lock",
                                         "pthread_mutex_unlock",
                                         "pthread_once",
                                         "realloc",
                                         "sched_yield",
                                         "snprintf",
                                         "sscanf",
                                         "strcmp",
                                         "strlen",
                                         "strncmp",
                                         "strtol",
                                         "vsnprintf"};

TEST_F(GpuInstalled, ItCallsNoFunctionThatBoardsLack) {
  const Ran listed = shell("nm -D --undefined-only " + library.string() + "/libhone_gpu.so");
  ASSERT_EQ(listed.code, 0) << listed.output;
  std::istringstream lines(listed.output);
  std::string line;
  int checked = 0;
  while (std::getline(lines, line)) {
    if (line.find(" U ") == std::string::npos) continue;  // a weak one may be missing
    std::string name = line.substr(line.find(" U ") + 3);
    name = name.substr(0, name.find('@'));
    // Newer glibcs have functions of C23 under these names; headers of a board name the plain ones.
    if (name.rfind("__isoc", 0) == 0) name = name.substr(name.find('_', 2) + 1);
    // A hardened build has functions that check, in the place of these.
    if (name.rfind("__", 0) == 0 && name.ends_with("_chk")) name = name.substr(2, name.size() - 6);
    if (name == "__stack_chk_fail") continue;
    ++checked;
    EXPECT_THAT(kLibcOfBoards, testing::Contains(testing::StrEq(name)));
  }
  EXPECT_GT(checked, 20);
}

// From source, with every compiler here, as for a board.
TEST(RuntimeFromSource, CompilesWithoutWarnings) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder.path() + "/dlpack");
  std::filesystem::copy_file("/usr/include/dlpack/dlpack.h", folder.path() + "/dlpack/dlpack.h");
  const std::string include =
      " -I" + kSource + " -I" + kSource + "/compiler/api -I" + kSource + "/compiler/runtime/include -I" + folder.path();
  for (const std::string compiler : {"gcc", "clang", "aarch64-linux-gnu-gcc"}) {
    if (shell("command -v " + compiler).code != 0) continue;
    const Ran ran =
        shell(compiler + " -std=c11 -O2 -Wall -Wextra -Wpedantic -Werror -fPIC -shared -fvisibility=hidden" + include +
              " " + kSource + "/compiler/api/*.c " + kSource + "/compiler/runtime/pool/pool.c -pthread -ldl -o " +
              folder.path() + "/libhone_runtime.so");
    EXPECT_EQ(ran.code, 0) << compiler << "\n" << ran.output;
  }
  const std::string strict = " -std=c11 -pedantic-errors -O2 -Wall -Wextra -Werror -fPIC -shared -fvisibility=hidden";
  for (const std::string compiler : {"gcc", "gcc-11", "clang", "aarch64-linux-gnu-gcc"}) {
    if (shell("command -v " + compiler).code != 0) continue;
    // Cross compilers have no headers of OpenCL, which are the same everywhere.
    std::filesystem::create_directory(folder.path() + "/" + compiler);
    std::filesystem::copy("/usr/include/CL", folder.path() + "/" + compiler + "/CL");
    const Ran ran = shell(compiler + strict + include + " -I" + folder.path() + "/" + compiler + " " + kSource +
                          "/compiler/api/gpu/*.c " + kSource + "/compiler/runtime/launcher/*.c " + kSource +
                          "/compiler/runtime/entry/check.c -pthread -ldl -o " + folder.path() + "/libhone_gpu.so");
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
