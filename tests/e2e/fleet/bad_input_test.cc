// Bad input: one line on stderr with fault, place and allowed values, and cli.md's exit code; see also tensorc's cases
// in tests/e2e/artifact.
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "db/sqlite.h"
#include "tests/e2e/fleet/programs.h"

namespace hone::e2e {
namespace {

using testing::HasSubstr;

class BadInput : public Workplace {
 protected:
  std::string tuner(int code, const Words& words) {
    Words all = {"tuner"};
    all.insert(all.end(), words.begin(), words.end());
    return expect_refused(code, all);
  }
  std::string text_file() {
    std::ofstream(path("notes.txt")) << "dear database, you are a text file of more than a hundred bytes, which is "
                                        "what SQLite reads as a header first of all.\n";
    return path("notes.txt");
  }
  // A tophub as this program makes it.
  std::string tophub_file(const std::string& name) {
    std::ofstream(path("none.jsonl")) << "{\"hone_tophub\":1}\n";
    EXPECT_EQ(run({"tophub", "import", path("none.jsonl"), "--db", path(name)}).code, 0);
    return path(name);
  }
};

TEST_F(BadInput, OfTheTunersWorkload) {
  EXPECT_THAT(tuner(2, {"--task", "conv9d"}), HasSubstr("unknown task 'conv9d'; did you mean conv2d? known: conv2d, "));
  EXPECT_THAT(tuner(2, {"--task", "dense", "--args", "q=1"}), HasSubstr("unknown attribute 'q'; it has m, n, k"));
  EXPECT_THAT(tuner(2, {"--task", "dense", "--args", "m="}), HasSubstr("'m' has no value"));
  for (const char* m : {"0", "-3", "x", "1e3", "2.5", "99999999999999999999"})
    EXPECT_THAT(tuner(2, {"--task", "dense", "--args", fmt::format("m={}", m)}),
                HasSubstr("is not a whole number from 1 to 16777216"))
        << m;
  EXPECT_THAT(tuner(2, {"--task", "conv2d", "--args", "h=16777216,w=16777216,ci=16777216"}),
              HasSubstr("has more than 2^48 elements"));
  EXPECT_THAT(tuner(2, {"--task", "conv2d", "--args", "h=2,w=2,kh=9,pad=0"}),
              HasSubstr("larger than the padded input 2x2"));
  EXPECT_THAT(tuner(2, {"--task", "conv2d", "--args", "ci=8,co=16,groups=3"}), HasSubstr("groups=3 does not divide"));
  EXPECT_THAT(tuner(2, {"--task", "conv2d", "--args", "n=?"}), HasSubstr("not supported yet"));
  EXPECT_THAT(tuner(2, {"--workload", "dense(m=1"}), HasSubstr("dense(m=1"));
  EXPECT_THAT(tuner(2, {"--trials", "8"}), HasSubstr("--task is missing"));
  EXPECT_FALSE(std::filesystem::exists(db_)) << "nothing was begun";
}

TEST_F(BadInput, OfTheTunersFlags) {
  EXPECT_THAT(tuner(2, {"--task", "dense", "--speed", "9"}), HasSubstr("--speed"));
  EXPECT_THAT(tuner(2, {"--task", "dense", "--trials", "0"}), HasSubstr("--trials"));
  EXPECT_THAT(tuner(2, {"--task", "dense", "--trials", "many"}), HasSubstr("--trials"));
  EXPECT_THAT(tuner(2, {"--task", "dense", "--search", "luck"}), HasSubstr("known: xgb, random"));
  EXPECT_THAT(tuner(2, {"--task", "dense", "--task", "conv2d"}),
              HasSubstr("--task was given twice with different values (dense and conv2d)"));
  EXPECT_THAT(tuner(2, {"--task", "dense", "--device", "lab"}), HasSubstr("--tracker"));
  EXPECT_THAT(tuner(2, {"--task", "dense", "--target", "vulkan"}), HasSubstr("'vulkan' is unknown; allowed: llvm"));
  EXPECT_THAT(tuner(2, {"--task", "dense", "--target", "llvm -speed=high"}), HasSubstr("-speed"));
}

TEST_F(BadInput, ATargetThatNoDeviceServes) {
  if (access("/dev/nvidia0", F_OK) == 0) GTEST_SKIP() << "this machine has an NVIDIA GPU";
  EXPECT_THAT(tuner(3, {"--task", "dense", "--target", "cuda"}),
              HasSubstr("--target cuda: no device of this machine serves it"));
  EXPECT_THAT(expect_refused(3, {"device-agent", "--target", "cuda"}),
              HasSubstr("no device of this machine serves it"));
  EXPECT_TRUE(nothing_left({})) << testing::PrintToString(processes()) << testing::PrintToString(temporary_files());
}

// Four terabytes of output: every candidate is built, none can run.
TEST_F(BadInput, AWorkloadThatNoCandidateCanRun) {
  const Output output = run({"tuner", "--task", "dense", "--args", "m=1048576,n=1048576,k=1", "--trials", "4"});
  EXPECT_EQ(output.code, 4) << output.err;
  EXPECT_EQ(output.out, "");
  EXPECT_THAT(output.err,
              testing::ContainsRegex("tuner: none of 4 candidates gave a time: .*4.*; the first: [a-z_]+: .+\n$"));
  EXPECT_EQ(stored(db_).failed, 4);
}

TEST_F(BadInput, LabelsAreOfATrackersDevices) {
  EXPECT_THAT(tuner(2, {"--task", "dense", "--label", "room"}), HasSubstr("--label: 'room' is not k=v"));
  EXPECT_THAT(tuner(2, {"--task", "dense", "--label", "room=lab", "--label", "soc=a72"}),
              HasSubstr("give --fleet or --tracker too"));
}

TEST_F(BadInput, ATrackerThatIsNotThere) {
  EXPECT_THAT(tuner(2, {"--task", "dense", "--tracker", "127.0.0.1:1"}),
              HasSubstr("cannot reach the tracker at 127.0.0.1:1"));
  EXPECT_THAT(tuner(2, {"--task", "dense", "--tracker", "unix:" + path("nobody")}), HasSubstr("nobody"));
  EXPECT_THAT(tuner(2, {"--task", "dense", "--tracker", "nowhere"}), HasSubstr("--tracker: "));
  EXPECT_THAT(tuner(2, {"--task", "dense", "--tracker", "192.0.2.1:9190"}), HasSubstr("--insecure"));
  EXPECT_THAT(expect_refused(2, {"tracker", "status", "--tracker", "127.0.0.1:1"}),
              HasSubstr("cannot reach the tracker at 127.0.0.1:1"));
  EXPECT_THAT(expect_refused(2, {"tracker", "drain", "lab", "--tracker", "127.0.0.1:1"}),
              HasSubstr("cannot reach the tracker at 127.0.0.1:1"));
}

TEST_F(BadInput, AnAddressThatIsTaken) {
  Program tracker = start({"tracker", "--listen", "unix:" + path("sock"), "--http", "127.0.0.1:0"});
  ASSERT_TRUE(tracker.wait_out("\n")) << tracker.err();
  const std::string http = tracker.out().substr(tracker.out().rfind("127.0.0.1:"));
  const std::string port = http.substr(0, http.find('\n'));
  EXPECT_THAT(expect_refused(2, {"tracker", "--listen", "unix:" + path("sock"), "--http", "none"}),
              HasSubstr(path("sock")));
  EXPECT_THAT(expect_refused(2, {"tracker", "--listen", "unix:" + path("other"), "--http", port}), HasSubstr(port));
  EXPECT_THAT(expect_refused(2, {"tracker", "--listen", port, "--http", "none"}), HasSubstr(port));
  EXPECT_THAT(expect_refused(2, {"tracker", "drain", "nobody", "--tracker", "unix:" + path("sock")}),
              HasSubstr("nobody"));
}

TEST_F(BadInput, OfTheTrackersAndTheAgentsFlags) {
  for (const Words& words : {Words{"tracker", "--listen", "nowhere"},
                             {"tracker", "--listen", "0.0.0.0:0"},
                             {"tracker", "--listen", "127.0.0.1:99999"},
                             {"tracker", "--what"},
                             {"tracker", "explode"},
                             {"device-agent", "--target", "vax"},
                             {"device-agent", "--label", "x"},
                             {"device-agent", "--threads", "-1"},
                             {"device-agent", "--tracker", "nonsense"},
                             {"device-agent", "--name", "a/b"},
                             {"device-agent", "--no-such-flag"}})
    expect_refused(2, words);
}

TEST_F(BadInput, ADatabaseThatIsNone) {
  std::filesystem::create_directory(path("folder"));
  const std::string newer = tophub_file("newer.db");
  {
    db::OpenOptions options;
    const auto db = db::Database::open(newer, options);
    ASSERT_TRUE(db.ok());
    ASSERT_TRUE((*db)->execute("PRAGMA user_version = 99").ok());
  }
  const std::pair<std::string, const char*> bad[] = {{text_file(), "is not a tophub"},
                                                     {path("folder"), "is a folder"},
                                                     {newer, "made by a newer Hone"},
                                                     {path("no/hub.db"), "does not exist"}};
  for (const auto& [db, what] : bad) {
    EXPECT_THAT(tuner(5, {"--task", "dense", "--db", db}), testing::AllOf(HasSubstr(db), HasSubstr(what)));
    for (const char* command : {"stats", "list", "check"})
      EXPECT_THAT(expect_refused(5, {"tophub", command, "--db", db}), testing::AllOf(HasSubstr(db), HasSubstr(what)));
  }
  EXPECT_EQ(read_file(path("notes.txt")).substr(0, 4), "dear") << "the file is as it was";
}

TEST_F(BadInput, AReadOnlyDatabaseIsReadAndNotWritten) {
  const std::string db = tophub_file("hub-ro.db");
  ASSERT_EQ(chmod(db.c_str(), 0444), 0);
  EXPECT_THAT(tuner(5, {"--task", "dense", "--db", db}), HasSubstr("read-only"));
  EXPECT_THAT(expect_refused(5, {"tophub", "import", path("none.jsonl"), "--db", db}), HasSubstr("read-only"));
  EXPECT_EQ(run({"tophub", "stats", "--db", db}).code, 0);
}

TEST_F(BadInput, ALockedDatabaseIsWaitedForAndThenSaid) {
  const std::string path_of_db = tophub_file("hub.db");
  db::OpenOptions options;
  const auto other = db::Database::open(path_of_db, options);
  ASSERT_TRUE(other.ok());
  ASSERT_TRUE((*other)->execute("BEGIN EXCLUSIVE").ok());
  EXPECT_THAT(expect_refused(5, {"tophub", "import", path("none.jsonl")}), HasSubstr("locked by another program"));
  ASSERT_TRUE((*other)->execute("ROLLBACK").ok());
  EXPECT_EQ(run({"tophub", "import", path("none.jsonl")}).code, 0);
}

TEST_F(BadInput, AFlagMayBeRepeatedWithTheSameValue) {
  const std::string db = tophub_file("hub.db");
  EXPECT_EQ(run({"tophub", "stats", "--db", db, "--db", db}).code, 0);
  EXPECT_THAT(expect_refused(2, {"tophub", "stats", "--db", db, "--db", "other.db"}),
              HasSubstr("--db was given twice with different values"));
}

TEST_F(BadInput, OfTophub) {
  const std::string db = tophub_file("hub.db");
  const std::string notes = text_file();
  const std::pair<Words, const char*> bad[] = {
      {{}, "give one command: best, list, stats"},
      {{"explode"}, "explode"},
      {{"stats", "--colour"}, "--colour"},
      {{"best"}, "give either --task (with --args) or --workload TEXT"},
      {{"best", "--task", "conv9d"}, "unknown task 'conv9d'; did you mean conv2d? known: conv2d, "},
      {{"best", "--task", "dense", "--args", "m=0"}, "m=0 is not a whole number"},
      {{"best", "--task", "dense", "--target", "vulkan"}, "vulkan"},
      {{"best", "--task", "dense", "--args", "m=3,n=99999,k=5"}, "no record of dense("},
      {{"import", path("nothing.jsonl")}, "cannot be read"},
      {{"import", notes}, "line 1"},
      {{"export", path("no/folder.jsonl")}, "cannot be written"},
      {{"merge", db}, "the same file as merge"},
  };
  for (const auto& [words, what] : bad) {
    Words all = {"tophub"};
    all.insert(all.end(), words.begin(), words.end());
    EXPECT_THAT(expect_refused(2, all), HasSubstr(what));
  }
  EXPECT_THAT(expect_refused(5, {"tophub", "merge", path("nothing.db")}), HasSubstr("does not exist"));
  EXPECT_THAT(expect_refused(5, {"tophub", "merge", notes}), HasSubstr("is not a tophub"));
}

}  // namespace
}  // namespace hone::e2e
