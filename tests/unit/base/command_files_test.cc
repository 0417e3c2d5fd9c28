#include "base/command_files.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "base/exit_code.h"
#include "tests/fakes/temporary_folder.h"

namespace hone {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class CommandFilesTest : public testing::Test {
 protected:
  CommandFilesTest() {
    std::ofstream(path("model")) << "weights";
    fs::create_directory(path("folder"));
    fs::create_symlink(path("model"), path("link"));
    fs::create_symlink(folder_.path(), path("folder/up"));
    fs::create_hard_link(path("model"), path("hard"));
  }
  std::string path(const std::string& name) const { return folder_.path() + "/" + name; }
  // Why `out` is refused when `in` is read; empty: it is not.
  std::string refusal(const std::string& out, const std::string& in) const {
    CommandFiles files;
    files.reads("--in", in);
    files.writes("-o", out);
    const Status s = files.check();
    EXPECT_EQ(exit_code_of(s), s.ok() ? kExitDone : kExitUsage);
    return s.ok() ? "" : message_of(s);
  }
  const TemporaryFolder folder_;
};

TEST_F(CommandFilesTest, AnOutputIsNoInputByWhateverName) {
  for (const char* name : {"model", "./model", "folder/../model", "link", "hard", "folder/up/model"}) {
    EXPECT_EQ(refusal(path(name), path("model")),
              "-o " + path(name) + ": the same file as --in " + path("model") + ", which is read; name another");
    EXPECT_NE(refusal(path("model"), path(name)), "") << name;
  }
  EXPECT_EQ(refusal(path("new"), path("model")), "");
  EXPECT_EQ(refusal(path("model"), ""), "");
}

TEST_F(CommandFilesTest, FilesThatAreNotThereYetAreCompared) {
  EXPECT_NE(refusal(path("a.db-wal"), path("folder/../a.db-wal")), "");
  EXPECT_NE(refusal(path("folder/up/a.db-wal"), path("a.db-wal")), "");
  EXPECT_EQ(refusal(path("a.db-wal"), path("a.db-shm")), "");
}

TEST_F(CommandFilesTest, TwoOutputsAreTwoFiles) {
  for (const char* name : {"x.h", "folder/../x.h", "folder/up/x.h"}) {
    CommandFiles files;
    files.writes("-o", path("x.h"));
    files.writes("its header", path(name));
    EXPECT_THAT(message_of(files.check()), HasSubstr("its header " + path(name) + ": the same file as -o " +
                                                     path("x.h") + ", which is written, too; name another"));
  }
}

TEST_F(CommandFilesTest, DevicesAndPipesLoseNothing) {
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  for (const std::string& device : {std::string("/dev/null"), path("pipe")}) {
    CommandFiles files;
    files.reads("--config", device);
    files.writes("-o", device);
    files.writes("--report", device);
    EXPECT_TRUE(files.check().ok()) << device;
  }
}

TEST_F(CommandFilesTest, OfAFolderWhatIsReadIsAnInput) {
  fs::create_directory(path("samples"));
  fs::create_directory(path("samples/one"));
  std::ofstream(path("samples/one/input_0.npy")) << "x";
  std::ofstream(path("samples/model.so")) << "x";
  fs::create_symlink(path("samples/one/input_0.npy"), path("elsewhere"));
  for (const auto& [out, is_refused] :
       {std::pair("samples/one/input_0.npy", true), std::pair("elsewhere", true), std::pair("samples/model.so", false),
        std::pair("samples/one/input_1.npy", false)}) {
    CommandFiles files;
    files.reads_folder("--inputs", path("samples"), {".npy", ".pb"});
    files.reads_folder("--calibrate", path("none"), {".npy"});
    files.writes("-o", path(out));
    EXPECT_EQ(!files.check().ok(), is_refused) << out;
  }
}

}  // namespace
}  // namespace hone
