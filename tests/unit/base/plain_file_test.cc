#include "base/plain_file.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/exit_code.h"
#include "tests/fakes/temporary_folder.h"

namespace hone {
namespace {

using testing::StartsWith;

class PlainFiles : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_.path() + "/" + name; }
  std::string written(const std::string& name, const std::string& text) const {
    std::ofstream(path(name), std::ios::binary) << text;
    return path(name);
  }
  // The refusal without the path at its beginning.
  std::string refusal(const std::string& file, int64_t most = 100) const {
    const StatusOr<std::string> text = read_plain_file(file, most);
    if (text.ok()) return "read";
    EXPECT_EQ(exit_code_of(text.status()), kExitUsage);
    EXPECT_THAT(message_of(text.status()), StartsWith(file + ": "));
    return message_of(text.status()).substr(file.size() + 2);
  }

  const TemporaryFolder folder_;
};

TEST_F(PlainFiles, AreReadWhole) {
  EXPECT_EQ(read_plain_file(written("a", "all"), 100).value(), "all");
  const std::string binary("all\0of it", 9);
  EXPECT_EQ(read_plain_file(written("b", binary), 9).value(), binary);
  EXPECT_EQ(read_plain_file(written("empty", ""), 0).value(), "");
  std::filesystem::create_symlink(path("b"), path("link"));
  EXPECT_EQ(read_plain_file(path("link"), 9).value(), binary);
}

TEST_F(PlainFiles, AreReadInPieces) {
  const StatusOr<PlainFile> file = PlainFile::open(written("a", "headelements"));
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(file->size(), 12);
  EXPECT_EQ(file->next(4).value(), "head");
  EXPECT_EQ(file->next(1 << 20).value(), "elements");
  EXPECT_EQ(file->next(1).value(), "");
}

TEST_F(PlainFiles, TellTheirPermissions) {
  ASSERT_EQ(chmod(written("a", "x").c_str(), 0640), 0);
  EXPECT_EQ(PlainFile::open(path("a"))->mode(), mode_t{0640});
}

// The pipe has no writer, and the device has no end.
TEST_F(PlainFiles, WhatIsNoneIsRefusedWithoutWaiting) {
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_EQ(refusal(path("pipe")), "it is a pipe, not a plain file");
  EXPECT_EQ(refusal(folder_.path()), "it is a folder, not a plain file");
  EXPECT_EQ(refusal("/dev/zero"), "it is a device, not a plain file");
  std::filesystem::create_symlink("/dev/zero", path("link"));
  EXPECT_EQ(refusal(path("link")), "it is a device, not a plain file");
  EXPECT_EQ(refusal(path("none")), "No such file or directory");
}

// A file without its bytes on the disk: at its nominal size it would not fit the memory.
TEST_F(PlainFiles, OfMoreBytesAreRefusedUnread) {
  EXPECT_EQ(refusal(written("a", "ten bytes."), 9), "it is larger than 9 bytes");
  ASSERT_EQ(truncate(written("sparse", "").c_str(), off_t{1} << 42), 0);
  EXPECT_EQ(refusal(path("sparse"), 1 << 20), "it is larger than 1 MiB");
  EXPECT_EQ(PlainFile::open(path("sparse"))->next(4).value(), std::string(4, '\0'));
}

}  // namespace
}  // namespace hone
