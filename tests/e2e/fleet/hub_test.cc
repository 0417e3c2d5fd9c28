// What the other programs make of a tuned database: tensorc reads the best from it, tophub looks after it.
#include <filesystem>
#include <fstream>

#include "tests/e2e/fleet/programs.h"

namespace hone::e2e {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

const std::string kArgs = "ci=8,h=8,w=8,co=16";

class Hub : public Workplace {
 protected:
  Hub() {
    const Output output = run({"tuner", "--task", "conv2d", "--args", kArgs, "--trials", "12", "--repeat", "2", "--min-repeat-ms", "0.2", "--json"});
    EXPECT_EQ(output.code, 0) << output.err;
    tuned_ = OrderedJson::parse(output.out);
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
    for (const auto& [knob, choice] : tuned_["best"]["config"].items()) text += (text.empty() ? "" : ",") + knob + "=" + (choice.is_string() ? choice.get<std::string>() : choice.dump());
    return text;
  }
  OrderedJson tuned_;
};

TEST_F(Hub, TensorcFallsBackAlongTheLookupChain) {
  const int threads = std::stoi(tuned_["target"].get<std::string>().substr(tuned_["target"].get<std::string>().find("-threads=") + 9));
  EXPECT_THAT(config_line(tensorc(kArgs)), StartsWith("config: best (exact workload, confirmed, device "));
  EXPECT_THAT(config_line(tensorc(kArgs, {"--threads", std::to_string(threads + 1)})),
              StartsWith("config: best (same workload, other target: " + tuned_["target"].get<std::string>() + ", "));
  EXPECT_THAT(config_line(tensorc("ci=8,h=8,w=9,co=16")), StartsWith("config: nearest (" + tuned_["workload"].get<std::string>() + ", "));
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
  EXPECT_EQ(output.out, best_text() + "\n");
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
  EXPECT_THAT(text.out, HasSubstr(best_text()));
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
  // What was imported is resumed: nothing is left to measure.
  const Output again = run({"tuner", "--task", "conv2d", "--args", kArgs, "--trials", "12", "--db", copy, "--json"});
  ASSERT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(OrderedJson::parse(again.out)["best"], tuned_["best"]);
  EXPECT_EQ(stored(copy).rows, rows);
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
