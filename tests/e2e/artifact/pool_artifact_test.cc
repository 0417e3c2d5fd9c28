// The thread pool that an artifact brings: NAME_pool and NAME_pool_free.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <thread>

#include "compiler/runtime/artifact.h"
#include "compiler/runtime/c_objects.h"
#include "tests/e2e/artifact/shell.h"
#include "tests/fakes/temporary_folder.h"

namespace hone {
namespace {

using testing::HasSubstr;

#ifdef __aarch64__
constexpr const char *kHere = "aarch64", *kOther = "x86_64",
                     *kForOther = "'llvm -mtriple=x86_64-linux -mcpu=x86-64 -threads=4'";
#else
constexpr const char *kHere = "x86_64", *kOther = "aarch64",
                     *kForOther = "'llvm -mtriple=aarch64-linux -mcpu=cortex-a72 -threads=4'";
#endif

const std::string kInclude = " -I. -I" HONE_SOURCE_DIR "/compiler/runtime/include ";

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

struct PoolOfArtifact : testing::Test {
  const TemporaryFolder temporary;
  const std::string folder = temporary.path() + "/";

  void SetUp() override {
    if (pool_object(kHere).empty()) GTEST_SKIP() << "built without a C compiler for " << kHere;
  }
  // A product of 64x64 matrices that divides its rows among up to four threads.
  void emit(const std::string& kind, const std::string& path, const std::string& more = "--threads 4") {
    const Ran ran = shell(kBin + "/tensorc --task dense --args m=64,n=64,k=64 --config default --emit " + kind +
                          " -o " + path + " " + more);
    ASSERT_EQ(ran.code, 0) << ran.output;
  }
};

using NewPool = HoneRuntime* (*)(int32_t);
using FreePool = void (*)(HoneRuntime*);

TEST_F(PoolOfArtifact, OutlivesTheArtifactsHandle) {
  emit("so", folder + "mm.so");
  auto artifact = std::make_optional(*Artifact::load(folder + "mm.so", "mm"));
  const auto new_pool = reinterpret_cast<NewPool>(artifact->symbol("mm_pool"));
  const auto free_pool = reinterpret_cast<FreePool>(artifact->symbol("mm_pool_free"));
  ASSERT_TRUE(new_pool && free_pool);
  HoneRuntime* const pool = new_pool(3);
  ASSERT_NE(pool, nullptr);
  EXPECT_EQ(pool->workers, 3);
  EXPECT_EQ(pool->abi_version, HONE_RUNTIME_ABI);
  artifact.reset();
  std::this_thread::sleep_for(std::chrono::milliseconds(5));  // its threads go to sleep
  std::atomic<int64_t> sum{0};
  const HoneChunk add = [](int64_t begin, int64_t end, int32_t, void* closure) -> int32_t {
    *static_cast<std::atomic<int64_t>*>(closure) += end - begin;
    return 0;
  };
  for (int i = 0; i < 100; ++i) EXPECT_EQ(pool->parallel_for(pool->self, add, &sum, 10, 3, i % 2), HONE_OK);
  EXPECT_EQ(sum, 1000);
  free_pool(pool);
  EXPECT_EQ(new_pool(-1), nullptr);
}

// Whatever glibc there is serves: no version is asked for, and the library that has threads before 2.34 is named.
TEST_F(PoolOfArtifact, AsksForNoVersionOfLibc) {
  emit("so", folder + "mm.so");
  const std::string dynamic = shell("readelf -dW " + folder + "mm.so").output;
  EXPECT_THAT(dynamic, HasSubstr("[libpthread.so.0]"));
  EXPECT_THAT(dynamic, HasSubstr("NODELETE"));
  EXPECT_THAT(shell("readelf -VW " + folder + "mm.so").output, testing::Not(HasSubstr("GLIBC")));
  EXPECT_THAT(shell("readelf --dyn-syms -W " + folder + "mm.so").output, testing::Not(HasSubstr("hone_internal")));
}

// All are in glibc 2.17 (clock_gettime since then) and musl, and none has versions that behave differently. One that is
// added here has to be looked up in both.
TEST_F(PoolOfArtifact, CallsWhatEveryLibcHas) {
  std::vector<std::string> targets = {"'llvm -mtriple=" + std::string(kHere) + "-linux -mcpu=generic'"};
  if (std::string(kHere) == "x86_64") targets[0] = "'llvm -mtriple=x86_64-linux -mcpu=x86-64'";
  if (!pool_object(kOther).empty()) targets.push_back(kForOther);
  for (const std::string& target : targets) {
    emit("obj", folder + "mm.o", "--target " + target);
    std::istringstream names(shell("nm -u " + folder + "mm_pool.o | sed 's/.* //'").output);
    int count = 0;
    for (std::string name; names >> name; ++count)
      EXPECT_THAT(name,
                  testing::AnyOf("_GLOBAL_OFFSET_TABLE_", "__tls_get_addr", "__errno_location", "syscall",
                                 "pthread_create", "pthread_join", "pthread_sigmask", "sigfillset", "clock_gettime",
                                 "getpid", "calloc", "free", "posix_memalign", "mmap", "madvise", "munmap"))
          << target;
    EXPECT_GT(count, 10) << target;
  }
}

TEST_F(PoolOfArtifact, SameInputsMakeTheSameBytes) {
  for (const std::string sub : {"a", "b"}) {
    std::filesystem::create_directory(folder + sub);
    emit("so", folder + sub + "/mm.so");
    emit("obj", folder + sub + "/mm.o");
  }
  for (const char* file : {"/mm.so", "/mm.h", "/mm.o", "/mm_plain.o", "/mm_run.o", "/mm_pool.o"})
    EXPECT_TRUE(bytes_of(folder + "a" + file) == bytes_of(folder + "b" + file)) << file;
}

TEST_F(PoolOfArtifact, TwoOfThemGoIntoOneProgram) {
  emit("obj", folder + "mma.o");
  emit("obj", folder + "mmb.o", "--threads 3");
  const std::string objects =
      folder + "mm?.o " + folder + "mm?_plain.o " + folder + "mm?_run.o " + folder + "mm?_pool.o";
  for (const std::string compiler : {"gcc -std=gnu99 -Wpedantic", "gcc -x c++", "gcc -fuse-ld=lld", "gcc -static"}) {
    const Ran built = shell("cd " + folder + " && " + compiler + " -O1 -Wall -Wextra -Werror" + kInclude +
                            HONE_SOURCE_DIR "/tests/e2e/artifact/use_pools.c -x none " + objects + " -pthread -o use");
    ASSERT_EQ(built.code, 0) << compiler << ": " << built.output;
    const Ran ran = shell(folder + "use");
    EXPECT_EQ(ran.output, "ok\n") << compiler;
  }
  // Nor does a library that they are part of show the pool's own names.
  ASSERT_EQ(shell("gcc -shared -o " + folder + "libboth.so " + objects).code, 0);
  EXPECT_THAT(shell("nm -D --defined-only " + folder + "libboth.so").output,
              testing::AllOf(HasSubstr("mma_pool_free"), testing::Not(HasSubstr("hone_internal"))));
  // A program with threads of its own leaves the pool's out.
  std::ofstream(folder + "without.c")
      << "#include \"mma.h\"\nint main(void) { return mma_artifact.abi_version - 4; }\n";
  const Ran without = shell("cd " + folder + " && gcc" + kInclude + "without.c mma.o mma_plain.o mma_run.o -o without");
  EXPECT_EQ(without.code, 0) << without.output;
}

TEST_F(PoolOfArtifact, TwoSharedObjectsServeOneProgram) {
  emit("so", folder + "mma.so");
  emit("so", folder + "mmb.so", "--threads 3");
  const Ran built =
      shell("cd " + folder + " && gcc -Wall -Werror" + kInclude +
            HONE_SOURCE_DIR "/tests/e2e/artifact/use_pools.c mma.so mmb.so -Wl,-rpath," + folder + " -o use");
  ASSERT_EQ(built.code, 0) << built.output;
  EXPECT_EQ(shell(folder + "use").output, "ok\n");
}

TEST_F(PoolOfArtifact, OfAnotherArchitectureIsThereOrTheHeaderSaysWhyNot) {
  emit("so", folder + "mm.so", std::string("--target ") + kForOther);
  const bool has_pool = !pool_object(kOther).empty();
  const std::string header = bytes_of(folder + "mm.h");
  EXPECT_EQ(header.find("HoneRuntime* mm_pool(int32_t threads);") != std::string::npos, has_pool) << header;
  EXPECT_EQ(header.find("There is no mm_pool") != std::string::npos, !has_pool) << header;
  EXPECT_EQ(bytes_of(folder + "mm.so").find("mm_pool_free") != std::string::npos, has_pool);
  const std::string emulator = std::string("qemu-") + kOther + "-static",
                    compiler = std::string(kOther) + "-linux-gnu-gcc";
  if (!has_pool || shell("command -v " + emulator + " && command -v " + compiler).code != 0)
    GTEST_SKIP() << "without " << emulator << " it is not run";
  emit("obj", folder + "mma.o", std::string("--target ") + kForOther);
  emit("obj", folder + "mmb.o", std::string("--target ") + kForOther);
  std::filesystem::create_directory(folder + "dlpack");
  std::filesystem::copy_file("/usr/include/dlpack/dlpack.h", folder + "dlpack/dlpack.h");
  const Ran built = shell("cd " + folder + " && " + compiler + kInclude +
                          HONE_SOURCE_DIR "/tests/e2e/artifact/use_pools.c mm?.o mm?_*.o -static -pthread -o use");
  ASSERT_EQ(built.code, 0) << built.output;
  EXPECT_EQ(shell(emulator + " " + folder + "use").output, "ok\n");
}

TEST(PoolOfGpuArtifact, IsNone) {
  const TemporaryFolder folder;
  const Ran ran = shell(kBin + "/tensorc --task dense --args m=4,n=20,k=8 --target 'opencl -sms=2' --config default " +
                        "--emit so -o " + folder.path() + "/mm.so");
  ASSERT_EQ(ran.code, 0) << ran.output;
  EXPECT_THAT(bytes_of(folder.path() + "/mm.h"), testing::Not(HasSubstr("mm_pool")));
  EXPECT_THAT(shell("readelf -dW " + folder.path() + "/mm.so").output, testing::Not(HasSubstr("NODELETE")));
}

}  // namespace
}  // namespace hone
