// A program that is linked with libhone_runtime alone: where libhone_gpu and drivers are looked for, and what is said
// where they are not.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "tests/e2e/artifact/shell.h"
#include "tests/gpu/library/cuda_fixture.h"

namespace hone {
namespace {

using testing::HasSubstr;

constexpr const char* kOpens = R"(#include <hone.h>
#include <stdio.h>
int main(int argc, char** argv) {
  HoneModel* model = NULL;
  int32_t code = argc > 1 ? hone_open(argv[1], &model) : 1;
  printf("%d %s\n", (int)code, hone_last_error());
  hone_close(model);
  return 0;
}
)";

// A driver that has not all functions.
constexpr const char* kOldDriver = "int cuInit(unsigned f) { return (int)f; }\n";

struct Loading : testing::Test {
  void SetUp() override {
    std::ofstream(folder + "/opens.c") << kOpens;
    const std::string include =
        std::string(" -I") + HONE_SOURCE_DIR + "/compiler/api -I" + HONE_SOURCE_DIR + "/compiler/runtime/include ";
    std::filesystem::copy_file(std::string(HONE_LIBRARIES) + "/libhone_runtime.so.0", folder + "/libhone_runtime.so.0");
    const Ran built =
        shell("cd " + folder + " && cc" + include + "opens.c ./libhone_runtime.so.0 -Wl,-rpath,$PWD -o opens");
    ASSERT_EQ(built.code, 0) << built.output;
    const Graph g = read_graph(kLibraryAdds);
    path = linked(temporary,
                  built_for(g, Target::parse("cuda -arch=sm_90"), "loading", &one_element_each).objects[0].parts,
                  "loading");
    said = "'" + path + "' is for a GPU ('cuda -arch=sm_90 -sms=132')";
  }
  std::string open(const std::string& environment = "") {
    return shell(environment + " " + folder + "/opens " + path).output;
  }
  void install_library() {
    std::filesystem::copy_file(std::string(HONE_LIBRARIES) + "/libhone_gpu.so.0", folder + "/libhone_gpu.so.0");
  }
  static bool has_driver() { return shell("ldconfig -p | grep -q libcuda.so.1").code == 0; }
  const TemporaryFolder temporary;
  const std::string folder = temporary.path();
  std::string path, said;
};

TEST_F(Loading, WithoutTheLibraryItSaysWhatIsNotInstalled) {
  EXPECT_EQ(open(), "22 " + said + ", and libhone_gpu, which runs it there, is not installed: there is neither " +
                        folder + "/libhone_gpu.so.0 nor a libhone_gpu.so.0 that the loader knows\n");
}

TEST_F(Loading, WithoutADriverItSaysWhichIsMissing) {
  if (has_driver()) GTEST_SKIP() << "this machine has a driver";
  install_library();
  EXPECT_EQ(open(), "22 " + said +
                        ": no CUDA: the driver is missing (libcuda.so.1: cannot open shared object file: No such "
                        "file or directory)\n");
}

TEST_F(Loading, OfAnOldDriverItSaysWhatItLacks) {
  install_library();
  std::filesystem::create_directory(folder + "/old");
  std::ofstream(folder + "/old/driver.c") << kOldDriver;
  ASSERT_EQ(shell("cc -shared -fPIC -o " + folder + "/old/libcuda.so.1 " + folder + "/old/driver.c").code, 0);
  EXPECT_EQ(
      open("LD_LIBRARY_PATH=" + folder + "/old"),
      "22 " + said + ": no CUDA: libcuda.so.1 has no cuDriverGetVersion: a driver of CUDA 10.2 or newer is needed\n");
}

TEST_F(Loading, TheLibraryBesideTheRuntimeIsTaken) {
  install_library();
  const std::string fake = std::filesystem::path(HONE_FAKE_CUDA_ADDS).parent_path();
  EXPECT_EQ(open("LD_LIBRARY_PATH=" + fake), "0 \n");
}

TEST_F(Loading, TheLibraryThatTheLoaderKnowsIsTaken) {
  const std::string fake = std::filesystem::path(HONE_FAKE_CUDA_ADDS).parent_path();
  EXPECT_EQ(open("LD_LIBRARY_PATH=" + fake + ":" + HONE_LIBRARIES), "0 \n");
}

TEST_F(Loading, AnotherFileOfThatNameIsRefused) {
  std::ofstream(folder + "/other.c") << "int hone_gpu_library[16];\n";
  ASSERT_EQ(shell("cc -shared -fPIC -o " + folder + "/libhone_gpu.so.0 " + folder + "/other.c").code, 0);
  EXPECT_THAT(open(), HasSubstr("libhone_gpu.so.0 is of another version\n"));
}

// Whoever shows no device to the program.
TEST(LoadingOpencl, WithoutADeviceItSaysWhereDriversAreListed) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() + "/opens.c")
      << "#include <hone_gpu.h>\n#include <stdio.h>\nint main(void) {\n  HoneGpuDevice* gpu;\n"
         "  int c = (int)hone_gpu_open(\"opencl\", &gpu);\n  printf(\"%d %s\\n\", c, hone_gpu_last_error());\n  return "
         "0;\n}\n";
  const std::string api = std::string(HONE_SOURCE_DIR) + "/compiler/api", libraries = HONE_LIBRARIES;
  const Ran built =
      shell("cd " + folder.path() + " && cc -I" + api + " -I" + HONE_SOURCE_DIR + "/compiler/runtime/include opens.c " +
            libraries + "/libhone_gpu.so.0 -Wl,-rpath," + libraries + " -o opens");
  ASSERT_EQ(built.code, 0) << built.output;
  const std::string said = shell("OCL_ICD_VENDORS=/nonexistent " + folder.path() + "/opens").output;
  if (said.find("the loader is missing") != std::string::npos) GTEST_SKIP() << said;
  EXPECT_EQ(
      said,
      "22 no OpenCL device: the loader knows none that can be used (drivers are listed in /etc/OpenCL/vendors)\n");
}

}  // namespace
}  // namespace hone
