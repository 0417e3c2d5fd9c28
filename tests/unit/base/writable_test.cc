#include "base/writable.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "base/exit_code.h"
#include "tests/fakes/temporary_folder.h"

namespace hone {
namespace {

using testing::StartsWith;

class Writable : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_.path() + "/" + name; }
  static std::string refusal(const std::string& path) {
    const Status s = check_writable(path);
    EXPECT_EQ(exit_code_of(s), s.ok() ? kExitDone : kExitUsage);
    return message_of(s);
  }
  const TemporaryFolder folder_;
};

TEST_F(Writable, IsAFileOfAFolderThatIsThere) {
  std::ofstream(path("old")) << "text";
  ASSERT_EQ(chmod(path("old").c_str(), 0400), 0);
  for (const std::string& file :
       {path("new"), path("old"), std::string("in_the_folder_it_runs_in"), std::string("/dev/null")})
    EXPECT_EQ(refusal(file), "") << file;
}

TEST_F(Writable, IsNoFolder) {
  EXPECT_EQ(refusal(folder_.path()), folder_.path() + " cannot be written: Is a directory");
  EXPECT_EQ(refusal(path("new/")), path("new/") + " cannot be written: Is a directory");
  EXPECT_EQ(refusal(path("none/m.so")), path("none/m.so") + " cannot be written: there is no folder " + path("none"));
  std::ofstream(path("file")) << "text";
  EXPECT_EQ(refusal(path("file/m.so")), path("file/m.so") + " cannot be written: there is no folder " + path("file"));
}

TEST_F(Writable, IsNothingWherePermissionsForbidIt) {
  if (geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
  ASSERT_EQ(mkdir(path("closed").c_str(), 0500), 0);
  EXPECT_THAT(
      refusal(path("closed/m.so")),
      StartsWith(path("closed/m.so") + " cannot be written: no file can be made in the folder " + path("closed")));
}

}  // namespace
}  // namespace hone
