// A tuned database in the other programs: tensorc reads the best from it, tophub looks after it.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <span>

#include "db/store.h"
#include "tests/e2e/fleet/programs.h"

namespace hone::e2e {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

const std::string kArgs = "ci=8,h=8,w=8,co=16";

class Hub : public Workplace {
 protected:
  // The search of the process's first test serves all: each has a copy of its database.
  Hub() {
    static std::string database, said;
    if (database.empty()) {
      const Output output = run({"tuner", "--task", "conv2d", "--args", kArgs, "--trials", "12", "--repeat", "2",
                                 "--min-repeat-ms", "0.2", "--json"});
      EXPECT_EQ(output.code, 0) << output.err;
      said = output.out;
      database = read_file(db_);
    } else {
      std::ofstream(db_, std::ios::binary) << database;
    }
    tuned_ = OrderedJson::parse(said);
  }
  Words tensorc(const std::string& args, const Words& more = {}) {
    Words words = {"tensorc", "--task", "conv2d", "--args", args, "--check"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  // The line that says which config was used; --check has to agree.
  std::string config_line(const Words& words) {
    const Output output = run(words);
    EXPECT_EQ(output.code, 0) << output.err;
    EXPECT_THAT(output.err, HasSubstr("elements agree with the reference"));
    const size_t at = output.err.find("config: ");
    return at == std::string::npos ? "" : output.err.substr(at, output.err.find('\n', at) - at);
  }
  std::string best_text() const {
    std::string text;
    for (const auto& [knob, choice] : tuned_["best"]["config"].items())
      text += (text.empty() ? "" : ",") + knob + "=" + (choice.is_string() ? choice.get<std::string>() : choice.dump());
    return text;
  }
  // A config of numbers as tensorc prints it, with a line's end.
  std::string words_of(const std::string& config) {
    return run({"tensorc", "--task", "conv2d", "--args", kArgs, "--config", config}).out;
  }
  OrderedJson tuned_;
};

TEST_F(Hub, TensorcFallsBackAlongTheLookupChain) {
  const int threads =
      std::stoi(tuned_["target"].get<std::string>().substr(tuned_["target"].get<std::string>().find("-threads=") + 9));
  EXPECT_THAT(config_line(tensorc(kArgs)), StartsWith("config: best (exact workload, confirmed, device "));
  EXPECT_THAT(config_line(tensorc(kArgs, {"--threads", std::to_string(threads + 1)})),
              StartsWith("config: best (same workload, other target: " + tuned_["target"].get<std::string>() + ", "));
  EXPECT_THAT(config_line(tensorc("ci=8,h=8,w=9,co=16")),
              StartsWith("config: nearest (" + tuned_["workload"].get<std::string>() + ", "));
  EXPECT_EQ(config_line({"tensorc", "--task", "dense", "--args", "m=8,n=64,k=32", "--check"}), "config: default");
  EXPECT_EQ(config_line(tensorc(kArgs, {"--config", "default"})), "config: default");
  // The user's database is asked after the one that is named.
  std::ofstream(path("empty.db"));
  EXPECT_THAT(config_line(tensorc(kArgs, {"--db", path("empty.db")})), HasSubstr(" from " + db_));
  db_ = path("empty.db");
  EXPECT_EQ(config_line(tensorc(kArgs)), "config: default");
}

TEST_F(Hub, TensorcBuildsTheConfigThatTheTunerFound) {
  const Output output = run({"tensorc", "--task", "conv2d", "--args", kArgs});
  EXPECT_EQ(output.code, 0) << output.err;
  EXPECT_EQ(output.out, words_of(best_text()));
  EXPECT_THAT(output.out, StartsWith("algorithm=")) << "a name, no number";
  const Output bench = run({"tensorc", "--task", "conv2d", "--args", kArgs, "--bench", "--json"});
  ASSERT_EQ(bench.code, 0) << bench.err;
  EXPECT_EQ(bench.json()["workload"], tuned_["workload"].get<std::string>());
  EXPECT_EQ(bench.json()["target"], tuned_["target"].get<std::string>());
  EXPECT_THAT(bench.json()["config_source"].get<std::string>(), StartsWith("best (exact workload, confirmed, "));
  EXPECT_GT(bench.json()["gflops"].get<double>(), 0);
}

TEST_F(Hub, BestIsWhatTheTunerSaid) {
  const Output best = run({"tophub", "best", "--task", "conv2d", "--args", kArgs, "--target", "llvm", "--json"});
  ASSERT_EQ(best.code, 0) << best.err;
  const Json j = best.json();
  EXPECT_EQ(j["workload"], tuned_["workload"].get<std::string>());
  EXPECT_EQ(j["target"], tuned_["target"].get<std::string>());
  EXPECT_EQ(j["space"], tuned_["space"].get<std::string>());
  EXPECT_EQ(j["config"], best_text());
  EXPECT_EQ(j["confirmed"], true);
  EXPECT_EQ(j["step"], "exact");
  EXPECT_NEAR(j["time_ms"].get<double>(), tuned_["best"]["time_ms"].get<double>(), 1e-9);
  EXPECT_FALSE(j["device_model"].get<std::string>().empty());
  const Output text = run({"tophub", "best", "--workload", tuned_["workload"].get<std::string>()});
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("config    " + words_of(best_text())));
}

TEST_F(Hub, ListAndStatsCountWhatIsStored) {
  const Stored s = stored(db_);
  const Output stats = run({"tophub", "stats", "--json"});
  ASSERT_EQ(stats.code, 0) << stats.err;
  const Json j = stats.json();
  EXPECT_EQ(j["db"], db_);
  EXPECT_EQ(j["sessions"], 1);
  EXPECT_EQ(j["workloads"], 1);
  EXPECT_EQ(j["targets"], 1);
  EXPECT_EQ(j["trials"], s.rows);
  EXPECT_EQ(j["by_status"], Json({{"ok", s.rows}}));
  const Output list = run({"tophub", "list", "--task", "conv2d", "--json"});
  ASSERT_EQ(list.code, 0) << list.err;
  EXPECT_EQ(static_cast<int64_t>(count_lines(list.out)), j["best"].get<int64_t>());
  EXPECT_GE(count_lines(list.out), 1u);
  EXPECT_EQ(run({"tophub", "list", "--task", "dense", "--json"}).out, "");
}

TEST_F(Hub, ExportedRecordsImportAndMergeOnce) {
  const int64_t rows = stored(db_).rows;
  const std::string file = path("records.jsonl"), copy = path("copy.db"), merged = path("merged.db");
  EXPECT_EQ(run({"tophub", "export", file, "--json"}).json()["trials"], rows);
  EXPECT_EQ(static_cast<int64_t>(count_lines(read_file(file))), rows + 2) << "a header, the session, the trials";

  Output in = run({"tophub", "import", file, "--db", copy, "--json"});
  ASSERT_EQ(in.code, 0) << in.err;
  EXPECT_EQ(in.json()["trials"], rows);
  in = run({"tophub", "import", file, "--db", copy, "--json"});
  EXPECT_EQ(in.json()["trials"], 0);
  EXPECT_EQ(in.json()["duplicates"], rows);
  in = run({"tophub", "merge", db_, "--db", copy, "--json"});
  EXPECT_EQ(in.json()["duplicates"], rows);
  in = run({"tophub", "merge", copy, "--db", merged, "--json"});
  EXPECT_EQ(in.json()["trials"], rows);

  for (const std::string& db : {copy, merged}) {
    const Output check = run({"tophub", "check", "--db", db, "--json"});
    EXPECT_EQ(check.code, 0) << check.out;
    EXPECT_EQ(check.json()["ok"], true);
    // The bests are derived from the records: the same as those the tuner offered.
    EXPECT_EQ(run({"tophub", "list", "--json", "--db", db}).out, run({"tophub", "list", "--json"}).out);
  }
  // An imported search is resumed: nothing is left to measure. Only finalists that were never confirmed in quiet are
  // tried again.
  const Output again = run({"tuner", "--task", "conv2d", "--args", kArgs, "--trials", "12", "--db", copy, "--json"});
  ASSERT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(stored(copy).trials, stored(db_).trials);
  if (tuned_["best"]["disturbed"].get<bool>()) {
    EXPECT_GT(stored(copy).rows, rows);
  } else {
    EXPECT_EQ(OrderedJson::parse(again.out)["best"], tuned_["best"]);
    EXPECT_EQ(stored(copy).rows, rows);
  }
}

// A log in AutoTVM's format, of our own making: one record of the tuned shape, one of a template without a counterpart.
std::string foreign_log() {
  const std::string
      head = R"({"input": ["llvm -mcpu=core-avx2", ")",
      shapes =
          R"(", [["TENSOR", [1, 8, 8, 8], "float32"], ["TENSOR", [16, 8, 3, 3], "float32"], [1, 1], [1, 1, 1, 1], [1, 1], "NCHW", "NCHW", "float32"], {}], )",
      tail =
          R"("config": {"index": 1, "code_hash": null, "entity": [["tile_ic", "sp", [1, 8]], ["tile_oc", "sp", [1, 16]], ["tile_ow", "sp", [2, 4]], ["unroll_kw", "ot", true]]}, "result": [[0.001], 0, 1.5, 1600000000.0], "version": 0.2})";
  return "# made up\n" + head + "conv2d_NCHWc.x86" + shapes + tail + "\n" + head + "conv2d_of_somebody_else" + shapes +
         tail + "\n";
}

TEST_F(Hub, AutoTvmLogsBecomeSeedsAndNothingElse) {
  std::ofstream(path("foreign.log")) << foreign_log();
  const Json before = run({"tophub", "stats", "--json"}).json();
  const Output in = run({"tophub", "import", path("foreign.log"), "--json"});
  ASSERT_EQ(in.code, 0) << in.err;
  EXPECT_EQ(in.json()["foreign"], 1);
  EXPECT_EQ(in.json()["mapped"], 1);
  EXPECT_EQ(in.json()["seeds"], 1);
  EXPECT_EQ(in.json()["skipped"], 1);
  const Output text = run({"tophub", "import", path("foreign.log")});
  EXPECT_THAT(text.out, HasSubstr("0 new foreign records, 1 were there already, 1 skipped"));
  EXPECT_THAT(text.out, HasSubstr("1  template conv2d_of_somebody_else has no counterpart here"));
  const Json after = run({"tophub", "stats", "--json"}).json();
  EXPECT_EQ(after["foreign"], 1);
  EXPECT_EQ(after["trials"], before["trials"]);
  EXPECT_EQ(after["best"], before["best"]);
  EXPECT_THAT(run({"tophub", "list"}).out, HasSubstr("1 foreign record (from other tuners): "));
  EXPECT_EQ(run({"tophub", "check"}).code, 0);

  const Words more = {"tuner", "--task",   "conv2d", "--args",          kArgs, "--trials",
                      "16",    "--repeat", "2",      "--min-repeat-ms", "0.2"};
  const Output warm = run(more);
  EXPECT_EQ(warm.code, 0) << warm.err;
  EXPECT_THAT(warm.err, HasSubstr("tuner: 1 seed from 1 foreign record of conv2d("));
  Words cold = more;
  cold.insert(cold.end(), {"--warm-start", "off"});
  EXPECT_THAT(run(cold).err, testing::Not(HasSubstr("seed")));

  std::ofstream(path("bad.log")) << foreign_log() << "{\"input\": [\n";
  EXPECT_THAT(expect_refused(2, {"tophub", "import", path("bad.log"), "--db", path("new.db")}),
              HasSubstr("bad.log:4: "));
}

// The first batch measures a near workload's best, adapted to this workload, whose default differs.
TEST_F(Hub, ASearchBeginsWithWhatIsKnownElsewhere) {
  std::string known;
  {
    const auto store = db::Store::open(db_);
    ASSERT_TRUE(store.ok()) << store.status();
    const auto trials = (*store)->trials().list({});
    ASSERT_TRUE(trials.ok()) << trials.status();
    // The default's is the first.
    const auto other = std::find_if(trials->begin(), trials->end(), [&](const db::TrialRow& t) {
      return t.status == "ok" && !t.censored && t.config != trials->front().config;
    });
    ASSERT_NE(other, trials->end());
    db::TrialRow best = *other;
    known = best.config;
    best.seq += 1000;
    for (const db::TrialRow& t : *trials)
      if (t.status == "ok" && !t.censored) best.seconds = std::min(*best.seconds, *t.seconds);
    best.seconds = *best.seconds / 8;
    best.times = {*best.seconds};
    best.confirmed = true;
    best.disturbed = false;
    best.created_at += 60'000;  // behind its own confirmation, where it was a finalist
    const auto added = (*store)->trials().add(std::span(&best, 1));
    ASSERT_TRUE(added.ok()) << added.status();
  }
  // Another epilogue, the same space.
  const Words near = {"--task", "conv2d", "--args", kArgs + ",epilogue=relu"};
  const Output tuned = run({"tuner", near[0], near[1], near[2], near[3], "--trials", "4", "--batch", "4", "--repeat",
                            "1", "--min-repeat-ms", "0.1"});
  ASSERT_EQ(tuned.code, 0) << tuned.err;
  EXPECT_THAT(tuned.err, HasSubstr("tuner: 1 of 1 workloads begins with a config known elsewhere, measured beside"));
  const auto store = db::open_for_reading(db_);
  ASSERT_TRUE(store.ok()) << store.status();
  const auto trials = (*store)->trials().list({});
  ASSERT_TRUE(trials.ok()) << trials.status();
  EXPECT_TRUE(std::any_of(trials->begin(), trials->end(), [&](const db::TrialRow& t) {
    return t.workload.find("epilogue=relu") != std::string::npos && t.config == known;
  })) << known;
}

// The workloads of the groups that a prior can be made of, one entry a group: quiet trials and disturbed ones (of a
// busy machine) apart.
std::vector<std::string> groups_of(const std::string& path) {
  std::map<std::pair<std::string, bool>, std::set<std::string>> programs;
  const auto store = db::open_for_reading(path);
  EXPECT_TRUE(store.ok()) << store.status();
  const auto trials = (*store)->trials().list({});
  for (const db::TrialRow& t : *trials) programs[{t.workload, t.disturbed}].insert(t.module_hash);
  std::vector<std::string> out;
  for (const auto& [group, hashes] : programs)
    if (hashes.size() >= 8) out.push_back(group.first);
  return out;
}

TEST_F(Hub, APriorIsTrainedShippedAndBegunWith) {
  EXPECT_THAT(expect_refused(2, {"tophub", "train"}), HasSubstr("a prior needs at least 64"));
  for (const char* args : {"ci=8,h=8,w=16,co=16", "ci=16,h=8,w=8,co=16"}) {
    const Output more = run({"tuner", "--task", "conv2d", "--args", args, "--trials", "40", "--repeat", "1",
                             "--min-repeat-ms", "0.1", "--warm-start", "off"});
    ASSERT_EQ(more.code, 0) << more.err;
    EXPECT_THAT(more.err, testing::Not(HasSubstr("prior")));
  }
  const Output train = run({"tophub", "train", "--out", path("cpu.prior"), "--json"});
  ASSERT_EQ(train.code, 0) << train.err;
  const Json j = train.json();
  const std::vector<std::string> groups = groups_of(db_);
  EXPECT_EQ(j["workloads"], std::set<std::string>(groups.begin(), groups.end()).size());
  EXPECT_EQ(j["held_out"], groups.size());
  EXPECT_GE(j["trials"].get<int64_t>(), 64);
  EXPECT_EQ(j["recomputed"], 0) << "the tuner stored features with every trial";
  EXPECT_TRUE(j["pairwise"].is_number());
  EXPECT_EQ(run({"tophub", "stats", "--json"}).json()["priors"], 1);
  EXPECT_EQ(run({"tophub", "check"}).code, 0);

  const auto begun = [&](const Words& words) {
    Words all = {"tuner",    "--task", "dense",           "--args", "m=8,n=64,k=32", "--trials", "4",
                 "--repeat", "1",      "--min-repeat-ms", "0.1"};
    all.insert(all.end(), words.begin(), words.end());
    const Output output = run(all);
    EXPECT_EQ(output.code, 0) << output.err;
    return output.err;
  };
  EXPECT_THAT(begun({}), HasSubstr("tuner: begins with the prior in " + db_));
  EXPECT_EQ(run({"tophub", "import", path("cpu.prior"), "--db", path("other.db"), "--json"}).json()["priors"], 1);
  EXPECT_THAT(begun({"--db", path("other.db")}), HasSubstr("tuner: begins with the prior in " + path("other.db")));
  EXPECT_THAT(begun({"--db", path("third.db")}), HasSubstr("tuner: begins with the prior in " + db_))
      << "along the lookup chain";
  EXPECT_THAT(begun({"--search", "random"}), testing::Not(HasSubstr("prior"))) << "a baseline begins with nothing";
}

TEST_F(Hub, CheckFindsDamage) {
  // The pages after the header.
  std::fstream file(db_, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(4096);
  file << std::string(8 * 4096, 'x');
  file.close();
  const Output check = run({"tophub", "check"});
  EXPECT_EQ(check.code, 5) << check.out << check.err;
  EXPECT_EQ(count_lines(check.err), 1u) << check.err;
}

}  // namespace
}  // namespace hone::e2e
