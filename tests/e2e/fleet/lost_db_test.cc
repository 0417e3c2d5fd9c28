// A database that goes away in the middle of a session: the tuner says so, ends with 5, and its measurements are in a
// new file beside it.
#include <sys/stat.h>

#include <filesystem>

#include "db/store.h"
#include "tests/e2e/fleet/programs.h"

namespace hone::e2e {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class LostDatabase : public Workplace {
 protected:
  Words command(const std::string& hub, int trials) const {
    return {"tuner", "--task",          "dense", "--args",   "m=8,n=64,k=32",        "--repeat",
            "2",     "--min-repeat-ms", "0.5",   "--trials", std::to_string(trials), "--db",
            hub,     "--json"};
  }
  // The stderr of a tuner that lost its database after `harm`.
  std::string lose(const std::string& hub, const std::function<void()>& harm) {
    Program tuner = start(command(hub, 50'000));
    EXPECT_TRUE(eventually([&] { return stored(hub).trials >= 40; })) << tuner.err();
    harm();
    EXPECT_EQ(tuner.wait(), 5) << tuner.err();
    EXPECT_EQ(tuner.out(), "");
    EXPECT_TRUE(nothing_left({})) << testing::PrintToString(processes());
    const std::string err = tuner.err();
    return err.substr(err.rfind("tuner: "));
  }
  // The rescued trials are imported, and the same command goes on from them.
  void expect_rescued(const std::string& rescued) {
    const std::string fresh = path("fresh.db");
    const Output in = run({"tophub", "import", rescued, "--db", fresh, "--json"});
    ASSERT_EQ(in.code, 0) << in.err;
    EXPECT_GE(in.json()["trials"].get<int64_t>(), 40);
    EXPECT_EQ(in.json()["sessions"], 1);
    const int64_t kept = stored(fresh).trials;
    const Output resumed = run(command(fresh, static_cast<int>(kept) + 8));
    EXPECT_EQ(resumed.code, 0) << resumed.err;
    EXPECT_EQ(stored(fresh).trials, kept + 8);
    EXPECT_EQ(run({"tophub", "check", "--db", fresh}).code, 0);
  }
};

TEST_F(LostDatabase, RemovedMidSession) {
  const std::string hub = path("own.db");
  const std::string line = lose(hub, [&] { fs::remove(hub); });
  EXPECT_THAT(line, HasSubstr(hub + " was removed or moved away while it was open"));
  EXPECT_THAT(line, HasSubstr("trials of this session are in " + hub + ".rescued.jsonl, for `tophub import`"));
  EXPECT_EQ(count_lines(line), 1u);
  expect_rescued(hub + ".rescued.jsonl");
}

TEST_F(LostDatabase, ReplacedByAnotherMidSession) {
  const std::string hub = path("own.db"), other = path("other.db");
  ASSERT_EQ(run(command(other, 8)).code, 0);
  const int64_t rows = stored(other).rows;
  const std::string line = lose(hub, [&] { fs::rename(other, hub); });
  EXPECT_THAT(line, HasSubstr(hub + " was replaced by another file while it was open"));
  EXPECT_EQ(stored(hub).rows, rows) << "nothing of the session is mixed into it";
  EXPECT_EQ(run({"tophub", "check", "--db", hub}).code, 0);
  expect_rescued(hub + ".rescued.jsonl");
}

TEST_F(LostDatabase, LogCutMidSession) {
  const std::string hub = path("own.db");
  const std::string line = lose(hub, [&] { fs::resize_file(hub + "-wal", 0); });
  EXPECT_THAT(line, HasSubstr(hub));
  expect_rescued(hub + ".rescued.jsonl");
}

TEST_F(LostDatabase, WithItsFolder) {
  fs::create_directory(path("folder"));
  const std::string hub = path("folder/own.db");
  const std::string line = lose(hub, [&] { fs::remove_all(path("folder")); });
  EXPECT_THAT(line, HasSubstr("its folder " + path("folder") + " is gone too"));
  EXPECT_FALSE(fs::exists(path("folder")));
}

// A prior whose tree names a child far beyond its end ended every later tuner with SIGSEGV.
TEST_F(LostDatabase, HostilePriorsAreRefusedAndThoseOfOldFilesPassedOver) {
  ASSERT_EQ(run({"tophub", "import", HONE_SOURCE_DIR "/db/packages/prior-llvm.jsonl", "--db", path("good.db")}).code,
            0);
  db::PriorRow prior = (*db::open_for_reading(path("good.db")))->priors().list()->front();
  const std::string array = "left_children[$l#L";
  const size_t at = prior.model.find(array);
  ASSERT_NE(at, std::string::npos);
  prior.model.replace(at + array.size() + 8, 4, "\x3f\xff\xff\xff");
  ASSERT_TRUE((*db::open_for_writing(path("old.db")))->priors().put(prior).ok()) << "as versions before took it";
  Words words = command(path("old.db"), 8);
  words.pop_back();
  const Output output = run(words);
  EXPECT_EQ(output.code, 0) << output.err;
  EXPECT_THAT(output.err,
              HasSubstr("cannot be loaded (tree 0: the model cannot be used: node 0 has a child 1073741823"));
  ASSERT_EQ(run({"tophub", "export", path("bad.prior"), "--best", "--db", path("old.db")}).code, 0);
  EXPECT_THAT(expect_refused(2, {"tophub", "import", path("bad.prior"), "--db", path("new.db")}),
              HasSubstr("prior: tree 0: the model cannot be used"));
  EXPECT_THAT(expect_refused(2, {"tophub", "merge", path("old.db"), "--db", path("new.db")}),
              HasSubstr("nothing was merged"));
}

TEST_F(LostDatabase, PipesAndDevicesAreRefusedByReadersInOneLine) {
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_THAT(expect_refused(5, {"tensorc", "--task", "dense", "--db", path("pipe")}),
              HasSubstr("is a pipe, not a tophub"));
  EXPECT_THAT(expect_refused(5, {"tophub", "list", "--db", path("pipe")}), HasSubstr("is a pipe, not a tophub"));
  EXPECT_THAT(expect_refused(5, command(path("pipe"), 8)), HasSubstr("is a pipe, not a tophub"));
  EXPECT_THAT(expect_refused(2, {"tophub", "import", path("pipe")}), HasSubstr("is not a regular file"));
  EXPECT_THAT(expect_refused(2, {"tophub", "import", "/dev/zero"}), HasSubstr("is not a regular file"));
}

}  // namespace
}  // namespace hone::e2e
