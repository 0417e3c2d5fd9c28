#include "base/atomic_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <ostream>
#include <sstream>

#include "base/exit_code.h"
#include "tests/fakes/temporary_folder.h"

namespace hone {
namespace {

class AtomicFile : public testing::Test {
 protected:
  std::string text() const {
    std::ostringstream text;
    text << std::ifstream(path()).rdbuf();
    return text.str();
  }
  std::string path() const { return dir_ + "/file.txt"; }
  long files() const { return std::distance(std::filesystem::directory_iterator(dir_), {}); }
  const TemporaryFolder folder_;
  const std::string dir_ = folder_.path();
};

// As root, a file would take the place of /dev/null.
TEST_F(AtomicFile, PipesAndDevicesStay) {
  ASSERT_EQ(mkfifo(path().c_str(), 0600), 0);
  const int reader = open(path().c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_GE(reader, 0);
  EXPECT_TRUE(write_atomically(path(), "text").ok());
  char read_back[8] = {};
  EXPECT_EQ(read(reader, read_back, sizeof read_back), 4);
  close(reader);
  EXPECT_STREQ(read_back, "text");
  EXPECT_TRUE(std::filesystem::is_fifo(path()));
  EXPECT_EQ(files(), 1);
}

TEST_F(AtomicFile, IsReplacedWhole) {
  ASSERT_TRUE(write_atomically(path(), "old").ok());
  ASSERT_TRUE(write_atomically(path(), "new").ok());
  EXPECT_EQ(text(), "new");
  EXPECT_EQ(files(), 1) << "no temporary file is left";
}

TEST_F(AtomicFile, AFailureLeavesTheOldFileAlone) {
  ASSERT_TRUE(write_atomically(path(), "old").ok());
  const Status failed = write_atomically(path(), [](std::ostream& out) {
    out << "half";
    return no_device_error("why not");
  });
  EXPECT_EQ(failed, no_device_error("why not"));
  EXPECT_EQ(exit_code_of(write_atomically(path(),
                                          [](std::ostream& out) {
                                            out.setstate(std::ios::badbit);
                                            return absl::OkStatus();
                                          })),
            kExitUsage);
  EXPECT_EQ(text(), "old");
  EXPECT_EQ(files(), 1);
}

TEST_F(AtomicFile, TwoWritersDoNotShareATemporaryFile) {
  // Files that another process left, or is about to rename.
  const std::string others = path() + ".part";
  std::ofstream(others) << "theirs";
  ASSERT_TRUE(write_atomically(path(), "mine").ok());
  EXPECT_TRUE(std::filesystem::exists(others));
  EXPECT_EQ(text(), "mine");
}

TEST_F(AtomicFile, NamesTheFileAndTheReason) {
  const Status s = write_atomically(dir_ + "/nowhere/file.txt", "x");
  EXPECT_EQ(exit_code_of(s), kExitUsage);
  EXPECT_EQ(message_of(s), dir_ + "/nowhere/file.txt cannot be written: No such file or directory");
  EXPECT_EQ(exit_code_of(write_atomically(dir_, "x")), kExitUsage) << "a folder";
}

}  // namespace
}  // namespace hone
