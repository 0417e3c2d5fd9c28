// A user's first commands for an NVIDIA GPU, one after the other: tuner (with its tracker and agent), tensorc, and a C
// program that runs the kernel on tensors of the device; over the CUDA driver that only adds.
#include <gmock/gmock.h>

#include <cstdlib>

#include "tests/e2e/artifact/shell.h"
#include "tests/fakes/temporary_folder.h"

namespace hone {
namespace {

using testing::HasSubstr;

TEST(FirstCommands, OfAUserWithAGpu) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the program here has no sanitizer's runtime";
#endif
  const TemporaryFolder temporary;
  const std::string folder = temporary.path(), workload = "--task elementwise --args op=add,shape=4096 --target cuda ";
  const auto run = [&](const std::string& command) {
    return shell("cd " + folder + " && HONE_DB=" + folder + "/hub.db LD_LIBRARY_PATH=" HONE_FAKE_CUDA_DIR " " +
                 command);
  };
  // The driver adds an element a thread: of the candidates those are right, and all others are found out.
  const Ran tuned = run(kBin + "/tuner --trials 20 " + workload);
  ASSERT_EQ(tuned.code, 0) << tuned.output;
  EXPECT_THAT(tuned.output, HasSubstr("target    cuda -arch=sm_90 -sms=132"));
  EXPECT_THAT(tuned.output, testing::ContainsRegex("config +threads=[0-9]+,rounds=1,vector=1"));
  EXPECT_THAT(tuned.output, HasSubstr("wrong_result"));

  const Ran built = run(kBin + "/tensorc -o add.so " + workload);
  ASSERT_EQ(built.code, 0) << built.output;
  EXPECT_THAT(built.output, HasSubstr("config: best (exact workload, confirmed, device Fake GPU 0)"));

  const std::string api = HONE_SOURCE_DIR "/compiler/api", libraries = HONE_BIN_DIR "/../compiler/api";
  const Ran compiled = shell("gcc -std=c11 -Wall -Wextra -Werror " HONE_SOURCE_DIR "/docs/examples/on_gpu.c -I" + api +
                             " -I" HONE_SOURCE_DIR "/compiler/runtime/include -L" + libraries +
                             " -lhone_gpu -lhone_runtime -Wl,-rpath," + libraries + " -o " + folder + "/on_gpu");
  ASSERT_EQ(compiled.code, 0) << compiled.output;
  const Ran ran = run("./on_gpu add.so cuda:0");
  EXPECT_EQ(ran.code, 0) << ran.output;
  EXPECT_EQ(ran.output, "cuda:0: Fake GPU 0\nout = 2 2 2 2\n") << "ones and ones";
  const Ran nowhere = run("./on_gpu add.so cuda:7");
  EXPECT_EQ(nowhere.code, 1);
  EXPECT_EQ(nowhere.output, "there is no cuda:7; the driver has 2: cuda:0 to cuda:1, 'Fake GPU 0' the first\n");
}

}  // namespace
}  // namespace hone
