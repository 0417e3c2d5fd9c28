// Files that are gone with their owner.
#include "base/temporary_file.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "base/check.h"

namespace hone {
namespace {

TEST(TemporaryFile, IsItsUsersAloneAndGoesWithItsOwner) {
  std::string path;
  {
    const TemporaryFile file("hone-test"), other("hone-test");
    path = file.path();
    EXPECT_THAT(path, testing::HasSubstr("/hone-test-"));
    EXPECT_NE(path, other.path());
    struct stat about {};
    ASSERT_EQ(stat(path.c_str(), &about), 0);
    EXPECT_EQ(about.st_mode & 0777, 0600u);
    EXPECT_EQ(about.st_size, 0);
  }
  EXPECT_NE(access(path.c_str(), F_OK), 0);
}

TEST(TemporaryFile, SaysWhichFolderItCannotBeMadeIn) {
  const char* before = std::getenv("TMPDIR");
  const std::string old = before ? before : "";
  setenv("TMPDIR", "/nowhere", 1);
  try {
    const TemporaryFile file("hone-test");
    ADD_FAILURE() << file.path();
  } catch (const UserError& e) {
    EXPECT_THAT(e.what(), testing::HasSubstr("cannot make a file like /nowhere/hone-test-"));
  }
  before ? setenv("TMPDIR", old.c_str(), 1) : unsetenv("TMPDIR");
}

}  // namespace
}  // namespace hone
