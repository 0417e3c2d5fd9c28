#include "db/cli/commands.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <streambuf>

#include "base/json.h"
#include "db_fixture.h"

namespace hone::db {
namespace {

using testing::HasSubstr;

struct Outcome {
  int code;
  std::string out, err;
};

// The program on a database of its own.
class TophubCli : public testing::Test {
 protected:
  TophubCli() { setenv("HONE_DB", db().c_str(), 1); }
  ~TophubCli() override { unsetenv("HONE_DB"); }

  std::string db() const { return folder / "t.db"; }
  void fill() {
    std::vector<TrialRow> trials = {ok_trial(0, 0.002, "tile=1"), confirmed_trial(1, 0.004, "tile=2"),
                                    failed_trial(2, "rejected", "x")};
    trials[1].missing = "landlock";
    add(*open_store(db()), trials);
  }

  Outcome run(std::vector<std::string> words, const CompilerHooks& hooks = {}) {
    words.insert(words.begin(), "tophub");
    std::vector<const char*> argv;
    for (const std::string& word : words) argv.push_back(word.c_str());
    std::ostringstream out;
    testing::internal::CaptureStderr();
    testing::internal::CaptureStdout();
    const int code = tophub_main(static_cast<int>(argv.size()), argv.data(), hooks, out);
    const std::string help = testing::internal::GetCapturedStdout();
    return {code, out.str() + help, testing::internal::GetCapturedStderr()};
  }
  void expect_failure(const std::vector<std::string>& words, int code, const std::string& text) {
    const Outcome o = run(words);
    EXPECT_EQ(o.code, code) << o.err;
    EXPECT_THAT(o.err, testing::StartsWith("tophub: "));
    EXPECT_THAT(o.err, HasSubstr(text));
    EXPECT_EQ(std::count(o.err.begin(), o.err.end(), '\n'), 1) << o.err;
    EXPECT_EQ(o.out, "");
  }
  TempFolder folder;
};

TEST_F(TophubCli, HelpBeginsWithAnExampleAndFitsOneScreen) {
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"--help"}, {"best", "--help"}, {"export", "--help"}}) {
    const Outcome o = run(words);
    EXPECT_EQ(o.code, 0);
    EXPECT_THAT(o.out, testing::StartsWith("Example: tophub "));
    EXPECT_LE(std::count(o.out.begin(), o.out.end(), '\n'), 30);
  }
}

TEST_F(TophubCli, BestPrintsWhatTheContractLists) {
  fill();
  const Outcome o = run({"best", "--workload", kDense, "--target", kTarget, "--json"});
  ASSERT_EQ(o.code, 0) << o.err;
  const Json json = Json::parse(o.out);
  EXPECT_EQ(json["config"], "tile=2");
  EXPECT_DOUBLE_EQ(json["time_ms"].get<double>(), 4);
  EXPECT_EQ(json["spread"], 0.0);
  EXPECT_EQ(json["confirmed"], true);
  EXPECT_EQ(json["space"], "feed1234");
  EXPECT_EQ(json["device_model"], "znver5");
  EXPECT_EQ(json["versions"]["hone"], "0.1.0");
  EXPECT_EQ(json["missing"], "landlock");
  EXPECT_EQ(json["source"], db());
  EXPECT_EQ(json["step"], "exact");
  const Outcome text = run({"best", "--workload", kDense, "--target", "llvm"});
  EXPECT_THAT(text.out, HasSubstr("config    tile=2\n"));
  EXPECT_THAT(text.out, HasSubstr("4.00 ms, spread 0.0%, confirmed"));
  EXPECT_THAT(text.out, HasSubstr("(other target)"));
  EXPECT_THAT(text.out, HasSubstr("measured  without landlock, which the device did not have\n"));
}

TEST_F(TophubCli, SaysWhatModelsTakeInstead) {
  fill();
  const auto best = [&](const std::string& more) {
    return run({"best", "--workload", kDense, "--target", kTarget, more}).out;
  };
  EXPECT_FALSE(Json::parse(best("--json")).contains("in_models"));
  ASSERT_TRUE(open_store(db())->choices().put(sample_choice("tile=1", "tile=2")).ok());
  EXPECT_EQ(Json::parse(best("--json"))["config"], "tile=2");
  EXPECT_EQ(Json::parse(best("--json"))["in_models"], "tile=1");
  EXPECT_THAT(run({"best", "--workload", kDense, "--target", kTarget}).out,
              HasSubstr("in models tile=1 (faster inside a model that was timed with it)\n"));
  EXPECT_EQ(Json::parse(run({"stats", "--json"}).out)["choices"], 1);
  EXPECT_THAT(run({"stats"}).out, HasSubstr("\n1 chosen inside models\n"));
  EXPECT_THAT(run({"export", folder / "records.jsonl"}).out, HasSubstr(", 1 choice"));
  EXPECT_THAT(run({"import", folder / "records.jsonl", "--db", folder / "other.db"}).out, HasSubstr("; 1 new choice"));
}

TEST_F(TophubCli, SaysWhatWasDisturbed) {
  fill();
  EXPECT_EQ(Json::parse(run({"best", "--workload", kDense, "--target", kTarget, "--json"}).out)["disturbed"], false);
  EXPECT_THAT(run({"best", "--workload", kDense, "--target", kTarget}).out, testing::Not(HasSubstr("disturbed")));
  TrialRow t = disturbed(confirmed_trial(10, 0.003, "tile=3"), 0.006);
  t.workload = "dense(m=1)", t.sentinel_after = 1e-4;
  add(*open_store(db()), {t});
  const Json json = Json::parse(run({"best", "--workload", "dense(m=1)", "--target", kTarget, "--json"}).out);
  EXPECT_EQ(json["confirmed"], true);
  EXPECT_EQ(json["disturbed"], true);
  EXPECT_EQ(json["of_default"], 0.5);
  EXPECT_DOUBLE_EQ(json["of_sentinel"].get<double>(), 30);
  const std::string text = run({"best", "--workload", "dense(m=1)", "--target", kTarget}).out;
  EXPECT_THAT(text, HasSubstr("3.00 ms, spread 0.0%, confirmed, disturbed\n"));
  EXPECT_THAT(text, HasSubstr("disturbed others used the machine while this was timed: it took 0.5 of the time of the "
                              "default, timed next to it; tune again"));
  EXPECT_THAT(run({"list"}).out,
              AllOf(HasSubstr("3.00       -  -       confirmed, disturbed  "),
                    HasSubstr("\ndisturbed: others used the machine, or it was throttled, while this was timed\n"),
                    Not(HasSubstr("\nprovisional: "))));
  EXPECT_EQ(Json::parse(run({"stats", "--json"}).out)["disturbed"], 1);
  EXPECT_THAT(
      run({"stats"}).out,
      HasSubstr("2 of them confirmed, 1 disturbed (timed while others used the machine or it was throttled)\n"));
}

TEST_F(TophubCli, SaysHowTheMachineWas) {
  fill();
  const std::vector<std::string> best = {"best", "--workload", kDense, "--target", kTarget};
  EXPECT_THAT(run(best).out, testing::Not(HasSubstr("machine "))) << "nothing is known";
  EXPECT_TRUE(Json::parse(run({best[0], best[1], best[2], "--json"}).out)["machine"].is_null());
  TrialRow t = disturbed(confirmed_trial(10, 0.003, "tile=3"));
  t.workload = "dense(m=1)";
  t.machine = MachineState{"ondemand", 61.4, 80.6, {}, 1500, "undervoltage"};
  add(*open_store(db()), {t});
  const std::string text = run({"best", "--workload", "dense(m=1)", "--target", kTarget}).out;
  EXPECT_THAT(text, HasSubstr("machine   governor ondemand, 61 to 81 °C, 1500 MHz, throttled: undervoltage\n"));
  EXPECT_THAT(text, HasSubstr("disturbed throttled: undervoltage while this was timed; tune again"));
  const Json json = Json::parse(run({"best", "--workload", "dense(m=1)", "--json"}).out)["machine"];
  EXPECT_EQ(json, (Json{{"governor", "ondemand"},
                        {"temperature_c", {61.4, 80.6}},
                        {"clock_mhz", {nullptr, 1500.0}},
                        {"throttled", "undervoltage"}}));
}

TEST_F(TophubCli, BestAsksTheCompilerForTheCanonicalTexts) {
  fill();
  CompilerHooks hooks;
  hooks.target = [](const std::string& target) -> StatusOr<std::string> {
    return target == "llvm" ? StatusOr<std::string>(kTarget) : usage_error("unknown target " + target);
  };
  hooks.workload = [](const std::string& task, const std::string& args,
                      const std::string& target) -> StatusOr<std::string> {
    EXPECT_EQ(target, kTarget);
    return task == "dense" && args == "m=128" ? StatusOr<std::string>(kDense) : usage_error("unknown task " + task);
  };
  const Outcome o = run({"best", "--task", "dense", "--args", "m=128", "--json"}, hooks);
  ASSERT_EQ(o.code, 0) << o.err;
  EXPECT_EQ(Json::parse(o.out)["step"], "exact");
  EXPECT_EQ(run({"best", "--task", "sparse"}, hooks).code, kExitUsage);
  EXPECT_THAT(run({"best", "--task", "dense", "--target", "vax"}, hooks).err, HasSubstr("unknown target vax"));
}

TEST_F(TophubCli, BestUsesTheNearestWorkloadWhenTheCompilerRanksThem) {
  fill();
  CompilerHooks hooks;
  hooks.rank_nearest = [](const std::string&, const std::vector<std::string>& known) { return known; };
  const Outcome o = run({"best", "--workload", "dense(m=1)", "--target", kTarget, "--json"}, hooks);
  EXPECT_EQ(Json::parse(o.out)["step"], "nearest");
}

TEST_F(TophubCli, ListAndStats) {
  fill();
  EXPECT_THAT(run({"list"}).out, HasSubstr(kDense));
  EXPECT_THAT(run({"list", "--task", "conv2d"}).out, testing::StartsWith("0 best configs"));
  EXPECT_THAT(run({"list", "--limit", "0"}).out, HasSubstr("1 best config in " + db() + ", 0 shown"));
  EXPECT_EQ(Json::parse(run({"list", "--target", kTarget, "--json"}).out)["config"], "tile=2");
  const Json stats = Json::parse(run({"stats", "--json"}).out);
  EXPECT_EQ(stats["trials"], 3);
  EXPECT_EQ(stats["by_status"]["rejected"], 1);
  EXPECT_EQ(stats["confirmed"], 1);
  EXPECT_THAT(run({"stats"}).out, HasSubstr("3 trials"));
}

TEST_F(TophubCli, ListHasARowOfEachWorkloadAndTarget) {
  fill();
  TrialRow other = confirmed_trial(10, 0.0005, "tile=4");  // the faster layout of the same
  other.in_layout = "K8M";
  TrialRow provisional = ok_trial(11, 0.0001, "tile=8");
  provisional.in_layout = "M16K";
  TrialRow gpu = confirmed_trial(12, 0.25, "tile=16");
  gpu.target = "cuda -arch=sm_90 -max-threads=1024";
  add(*open_store(db()), {other, provisional, gpu});
  CompilerHooks hooks;
  hooks.describe = [](const BestRow& row) {
    return BestInWords{row.config == "tile=4" ? "winograd4" : "default", "algorithm=words",
                       row.seconds > 0.1 ? 0 : 12.5};
  };
  const std::string text = run({"list"}, hooks).out;
  EXPECT_THAT(text, HasSubstr("   ms  GFLOPS  config     "));
  EXPECT_THAT(text, HasSubstr(" 250       -  default    confirmed  2023-11-14  "));
  EXPECT_THAT(text, HasSubstr("  cuda sm_90  "));
  EXPECT_THAT(text, HasSubstr("0.500    12.5  winograd4  confirmed  2023-11-14  "));
  EXPECT_THAT(text, HasSubstr("2 best configs in " + db() + ", 4 with those of other layouts (--json)\n"));
  EXPECT_THAT(text, testing::Not(HasSubstr("provisional")));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 4) << text;
  hooks.columns = 40;
  std::istringstream lines(run({"list"}, hooks).out);
  for (std::string line; std::getline(lines, line) && line.find(db()) == std::string::npos;)
    EXPECT_EQ(line.substr(39), "…") << line;
  const std::string json = run({"list", "--json"}, hooks).out;
  EXPECT_EQ(std::count(json.begin(), json.end(), '\n'), 4) << "each layout's";
  EXPECT_THAT(json,
              HasSubstr("\"config\":\"tile=4\",\"config_name\":\"winograd4\",\"config_words\":\"algorithm=words\""));
  EXPECT_THAT(json, HasSubstr("\"gflops\":null"));
}

TEST(ShortTarget, IsItsKindItsModelAndItsThreads) {
  EXPECT_EQ(short_target("llvm -mtriple=x86_64-linux -mcpu=znver3 -mattr=+avx2 -threads=8 -l2=512K"), "llvm znver3 x8");
  EXPECT_EQ(short_target("cuda -arch=sm_90 -max-threads=1024"), "cuda sm_90");
  EXPECT_EQ(short_target("opencl"), "opencl");
  EXPECT_EQ(short_target(""), "");
}

TEST(StandingLegend, SaysWhatTheWordsOfTheRowsMean) {
  BestRow sure, provisional;
  sure.confirmed = true;
  EXPECT_EQ(standing_legend({sure}), "");
  EXPECT_EQ(standing_legend({sure, provisional, provisional}),
            "provisional: timed in a search, and not yet confirmed by timing it again\n");
}

TEST(Listing, TargetsThatAreCalledTheSameAreShownWhole) {
  BestRow small, large;
  small.workload = large.workload = "dense(m=1)";
  small.target = "llvm -mcpu=znver3 -threads=8 -l2=512K", large.target = "llvm -mcpu=znver3 -threads=8 -l2=1024K";
  large.updated_at = INT64_MAX;
  const std::string text = listing({small, large}, nullptr, 0);
  EXPECT_THAT(text, HasSubstr("  1970-01-01  "));
  EXPECT_THAT(text, HasSubstr(small.target));
  EXPECT_THAT(text, HasSubstr(large.target));
}

TEST_F(TophubCli, ExportImportMergeCheck) {
  fill();
  const std::string file = folder / "records.jsonl", other = folder / "other.db";
  EXPECT_EQ(run({"export", file}).out, file + ": 3 trials, 0 sessions\n");
  EXPECT_EQ(run({"export", "-"}).out, read_file(file));
  EXPECT_EQ(run({"--db", other, "import", file}).out, file + ": 3 new trials, 0 were there already\n");
  EXPECT_EQ(run({"import", file, file}).out,
            file + ": 0 new trials, 3 were there already\n" + file + ": 0 new trials, 3 were there already\n");
  EXPECT_EQ(run({"--db", other, "stats", "--db", other}).code, 0);
  EXPECT_EQ(run({"merge", other}).out, other + ": 0 new trials, 3 were there already\n");
  EXPECT_EQ(run({"check"}).out, db() + ": ok\n");
  ASSERT_TRUE(open_store(db())->database().execute("DELETE FROM best").ok());
  const Outcome broken = run({"check"});
  EXPECT_EQ(broken.code, kExitDatabase);
  EXPECT_THAT(broken.out, HasSubstr("does not follow from the trials"));
  EXPECT_THAT(broken.err, HasSubstr("1 problem"));
  EXPECT_EQ(run({"check", "--repair"}).code, 0);
  EXPECT_EQ(run({"check"}).code, 0);
}

TEST_F(TophubCli, ImportsFromStdin) {
  fill();
  const std::string file = folder / "records.jsonl";
  ASSERT_EQ(run({"export", file}).code, 0);
  std::istringstream in(read_file(file)), nothing("");
  CompilerHooks hooks;
  hooks.in = &in;
  const Outcome o = run({"--db", folder / "other.db", "import", "-"}, hooks);
  EXPECT_EQ(o.out, "stdin: 3 new trials, 0 were there already\n") << o.err;
  hooks.in = &nothing;
  const Outcome empty = run({"--db", folder / "other.db", "import", "-"}, hooks);
  EXPECT_EQ(empty.code, kExitUsage);
  EXPECT_THAT(empty.err, HasSubstr("stdin: the file is empty"));
}

// Zeros without end.
class Zeros : public std::streambuf {
 public:
  int64_t given = 0;

 protected:
  std::streamsize xsgetn(char* out, std::streamsize n) override {
    std::fill_n(out, n, '\0');
    return given += n, n;
  }
};

TEST_F(TophubCli, AnEndlessLineIsRefusedSoon) {
  Zeros zeros;
  std::istream in(&zeros);
  CompilerHooks hooks;
  hooks.in = &in;
  const Outcome o = run({"import", "-"}, hooks);
  EXPECT_EQ(o.code, kExitUsage);
  EXPECT_EQ(o.err, "tophub: stdin line 1: longer than 16 MiB; nothing was imported\n");
  EXPECT_LT(zeros.given, 20 << 20);
}

TEST_F(TophubCli, WhatIsNoRegularFileIsRefusedWithoutReadingIt) {
  fill();
  const std::string pipe = folder / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  expect_failure({"import", pipe}, kExitUsage,
                 "is not a regular file; name a file of `tophub export` or an AutoTVM log, or - for stdin");
  expect_failure({"import", "/dev/zero"}, kExitUsage, "is not a regular file");
  expect_failure({"import", folder.path()}, kExitUsage, "is not a regular file");
  write_file(folder / "empty", "");
  expect_failure({"import", folder / "empty"}, kExitUsage, "is empty");
  for (const char* command : {"list", "stats", "check"}) {
    expect_failure({command, "--db", pipe}, kExitDatabase, pipe + " is a pipe, not a tophub");
    expect_failure({command, "--db", "/dev/zero"}, kExitDatabase, "/dev/zero is a device, not a tophub");
    expect_failure({command, "--db", folder.path()}, kExitDatabase, "is a folder");
  }
  expect_failure({"merge", pipe}, kExitDatabase, "is a pipe");
  write_file(folder / "x.jsonl", "{\"hone_tophub\":1}\n");
  expect_failure({"import", folder / "x.jsonl", "--db", pipe}, kExitDatabase, "is a pipe");
  EXPECT_EQ(run({"best", "--workload", kDense, "--db", pipe}).code, kExitDatabase);
}

TEST_F(TophubCli, PrintsNothingThatATerminalObeys) {
  const std::string escape = "\x1b]0;owned\x07\x1b[31m", c1 = "\xc2\x9b"
                                                              "31m";
  TrialRow t = confirmed_trial(0, 0.002, "tile=1" + escape + "\nconfig    forged");
  t.device_model = "znver5" + c1 + "\x7f", t.hone_version = escape, t.missing = escape, t.status = "ok";
  t.machine = MachineState{escape, {}, {}, {}, {}, escape};
  TrialRow failed = failed_trial(1, "rejected" + escape, "x");
  add(*open_store(db()), {t, failed});
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"best", "--workload", kDense, "--target", kTarget}, {"list"}, {"stats"}, {"check"}}) {
    for (const bool json : {false, true}) {
      std::vector<std::string> all = words;
      if (json) all.push_back("--json");
      const Outcome o = run(all);
      EXPECT_NE(o.out, "");
      for (const std::string& line : {o.out, o.err})
        for (size_t at = 0; at < line.size(); ++at) {
          const auto byte = static_cast<unsigned char>(line[at]);
          EXPECT_FALSE((byte < 0x20 && byte != '\n') || byte == 0x7f) << words[0] << ": " << int{byte};
          EXPECT_FALSE(byte == 0xc2 && static_cast<unsigned char>(line[at + 1]) < 0xa0) << words[0];
        }
    }
  }
  const std::string text = run({"best", "--workload", kDense, "--target", kTarget}).out;
  EXPECT_THAT(text, testing::Not(HasSubstr("\nconfig    forged")));
  EXPECT_EQ(Json::parse(run({"list", "--json"}).out)["device_model"], t.device_model) << "whole, in JSON's own way";
}

TEST_F(TophubCli, APriorOfALostDatabaseIsWrittenBesideIt) {
  fill();
  CompilerHooks hooks;
  hooks.train = [&](Store&, const std::string&) {
    std::filesystem::remove(db());
    Training made;
    made.prior = sample_prior();
    return made;
  };
  const Outcome o = run({"train"}, hooks);
  EXPECT_EQ(o.code, kExitDatabase);
  EXPECT_THAT(o.err, HasSubstr("the prior is in " + db() + ".rescued.jsonl"));
  EXPECT_EQ(run({"import", db() + ".rescued.jsonl", "--db", folder / "new.db"}).code, 0);
  EXPECT_EQ(open_store(folder / "new.db")->priors().list()->front().model, sample_prior().model);
}

TEST_F(TophubCli, ImportAndMergeAskWhetherAPriorCanBeUsed) {
  ASSERT_TRUE(open_store(db())->priors().put(sample_prior()).ok());
  ASSERT_EQ(run({"export", folder / "x.jsonl"}).code, 0);
  CompilerHooks hooks;
  hooks.check_prior = [](const PriorRow& p) {
    return p.model == sample_prior().model ? absl::InvalidArgumentError("tree 3: bad") : absl::OkStatus();
  };
  const std::string other = folder / "other.db";
  for (const Outcome& o :
       {run({"import", folder / "x.jsonl", "--db", other}, hooks), run({"merge", db(), "--db", other}, hooks)}) {
    EXPECT_EQ(o.code, kExitUsage);
    EXPECT_THAT(o.err, HasSubstr("prior: tree 3: bad; nothing was "));
  }
  EXPECT_TRUE(open_store(other)->priors().list()->empty());
}

TEST_F(TophubCli, BadInputIsOneLine) {
  fill();
  expect_failure({}, kExitUsage, "give one command");
  expect_failure({"nonsense"}, kExitUsage, "nonsense");
  expect_failure({"best"}, kExitUsage, "--task");
  expect_failure({"best", "--task", "dense", "--workload", kDense}, kExitUsage, "either --task");
  expect_failure({"best", "--workload", kDense, "--args", "m=1"}, kExitUsage, "--args belongs to --task");
  expect_failure({"best", "--workload", "dense(m=7)"}, kExitUsage, "no record of dense(m=7)");
  expect_failure({"best", "--workload", kDense, "--colour"}, kExitUsage, "--colour");
  expect_failure({"list", "--limit", "many"}, kExitUsage, "many");
  expect_failure({"export"}, kExitUsage, "FILE");
  expect_failure({"export", folder / "no/such.jsonl"}, kExitUsage, "cannot be written");
  expect_failure({"import", folder / "missing.jsonl"}, kExitUsage, "missing.jsonl cannot be read");
  expect_failure({"merge", db()}, kExitUsage, "the same file as merge");
  expect_failure({"stats", "--db", db(), "--db", folder / "other.db"}, kExitUsage, "given twice with different values");
  expect_failure({"stats", "--flags-file", "/dev/zero"}, kExitUsage, "/dev/zero: it is a device, not a plain file");
}

TEST_F(TophubCli, WritesOverNothingThatItReads) {
  namespace fs = std::filesystem;
  fill();
  const std::string flags = folder / "flags.toml", records = folder / "r.jsonl", other = folder / "o.db";
  std::ofstream(flags) << "limit = 3\n";
  ASSERT_EQ(run({"export", records}).code, 0);
  ASSERT_EQ(run({"import", records, "--db", other}).code, 0);
  const std::string link = folder / "link", hard = folder / "hard", linked_flags = folder / "flags";
  fs::create_symlink(db(), link);
  fs::create_hard_link(db(), hard);
  fs::create_hard_link(flags, linked_flags);
  const auto size = fs::file_size(db());
  for (const std::string& name : {db(), link, hard, db() + "-wal", db() + "-shm", db() + "-journal"}) {
    expect_failure({"export", name}, kExitUsage, "export " + name + ": the same file as the user's tophub " + db());
    expect_failure({"export", name, "--db", db()}, kExitUsage, "the same file as --db");
    expect_failure({"train", "--out", name}, kExitUsage, "--out " + name + ": the same file as");
  }
  for (const std::string& name : {link, hard}) expect_failure({"merge", name}, kExitUsage, "the same file as merge");
  expect_failure({"import", hard}, kExitUsage, "the same file as import");
  expect_failure({"import", records, "--db", records}, kExitUsage, "the same file as import");
  expect_failure({"export", linked_flags, "--flags-file", flags}, kExitUsage, "the same file as --flags-file");
  EXPECT_EQ(fs::file_size(db()), size);
  EXPECT_EQ(run({"check"}).code, 0);
}

TEST_F(TophubCli, BadDatabasesAreOneLineAndExitCodeFive) {
  const std::string text = folder / "text.db";
  write_file(
      text,
      "not a database at all, but long enough to hold more than the hundred bytes of an SQLite header, which it is.\n");
  for (const char* command : {"list", "stats", "check"}) {
    expect_failure({command}, kExitDatabase, "does not exist");
    expect_failure({command, "--db", text}, kExitDatabase, "not an SQLite database");
  }
  EXPECT_FALSE(std::filesystem::exists(db())) << "a command that only reads made a database";
  expect_failure({"best", "--workload", kDense, "--db", text}, kExitDatabase, "not an SQLite database");
  expect_failure({"merge", folder / "missing.db"}, kExitDatabase, "missing.db does not exist");
  expect_failure({"import", "--db", folder / "no/such/t.db", text}, kExitDatabase, "the folder");
}

TEST_F(TophubCli, TrainStoresWhatTheHookMakes) {
  fill();
  CompilerHooks hooks;
  hooks.train = [](Store&, const std::string& kind) {
    Training made;
    made.prior = sample_prior();
    made.prior.target_kind = kind;
    made.workloads = 2, made.recomputed = 5, made.skipped_trials = 7, made.skipped_because = "7 too old";
    return made;
  };
  const Outcome o = run({"train", "--target-kind", "cuda", "--out", folder / "x.prior"}, hooks);
  ASSERT_EQ(o.code, 0) << o.err;
  for (const char* part : {"90 trials of 2 workloads, in 3 groups", "the features of 5 of them", "7 trials: 7 too old",
                           "pairwise 0.875, peak@1 0.750, peak@5 unknown", "the prior for cuda"})
    EXPECT_THAT(o.out, HasSubstr(part));
  EXPECT_EQ(open_store(db())->priors().list("cuda")->size(), 1u);
  const Outcome in = run({"import", folder / "x.prior", "--db", folder / "other.db"});
  EXPECT_EQ(in.code, 0) << in.err;
  EXPECT_THAT(in.out, HasSubstr("1 new prior"));
  EXPECT_EQ(open_store(folder / "other.db")->priors().list()->front().model, sample_prior().model);
}

TEST_F(TophubCli, TrainWithoutADatabaseOrAHookIsRefused) {
  expect_failure({"train"}, kExitUsage, "without the tuner's cost model");
  CompilerHooks hooks;
  hooks.train = [](Store&, const std::string&) -> StatusOr<Training> { return usage_error("too few"); };
  EXPECT_EQ(run({"train", "--db", folder / "typo.db"}, hooks).code, kExitDatabase);
  EXPECT_FALSE(std::filesystem::exists(folder / "typo.db"));
  fill();
  EXPECT_EQ(run({"train"}, hooks).code, kExitUsage);
  EXPECT_TRUE(open_store(db())->priors().list()->empty());
}

}  // namespace
}  // namespace hone::db
