// tuner --confirm: what is known from elsewhere is measured here beside the default, and builds take the faster one.
#include <algorithm>
#include <filesystem>
#include <span>

#include "db/store.h"
#include "tests/e2e/fleet/programs.h"
#include "tests/fakes/small_model.h"

namespace hone::e2e {
namespace {

using testing::HasSubstr;

class Confirm : public Workplace {
 protected:
  Words with(Words words, const Words& more) const {
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  Words tuner(const Words& more) const {
    return with({"tuner", "--threads", "1", "--repeat", "2", "--min-repeat-ms", "0.2"}, more);
  }
  // The config that tensorc takes, and from where.
  std::string config_line(const Words& what) {
    const Output output = run(with({"tensorc", "--threads", "1", "--check", "--db", mine_}, what));
    EXPECT_EQ(output.code, 0) << output.err;
    const size_t at = output.err.find("config: ");
    return at == std::string::npos ? "" : output.err.substr(at, output.err.find('\n', at) - at);
  }
  // A store whose best of everything is the slowest config that was measured, which claims to be fast.
  void plant_lie() {
    const auto store = db::Store::open(db_);
    ASSERT_TRUE(store.ok()) << store.status();
    const auto trials = (*store)->trials().list({});
    ASSERT_TRUE(trials.ok()) << trials.status();
    const db::TrialRow* slowest = nullptr;
    for (const db::TrialRow& t : *trials)
      if (t.status == "ok" && !t.censored && (!slowest || *t.seconds > *slowest->seconds)) slowest = &t;
    ASSERT_NE(slowest, nullptr);
    db::TrialRow lie = *slowest;
    lie.seq += 1000;
    lie.seconds = *lie.seconds / 1000;
    lie.times = {*lie.seconds};
    lie.confirmed = true, lie.disturbed = false;
    lie.created_at += 60'000;  // behind its own confirmation, where it was a finalist
    ASSERT_TRUE((*store)->trials().add(std::span(&lie, 1)).ok());
  }
  // The tophub so far becomes somebody else's: a file of records, and no tophub of this user's.
  void export_theirs() {
    ASSERT_EQ(run({"tophub", "export", path("theirs.jsonl")}).code, 0);
    for (const char* file : {"", "-wal", "-shm"}) std::filesystem::remove(db_ + file);
  }
  void import_theirs(const std::string& db) {
    ASSERT_EQ(run({"tophub", "import", path("theirs.jsonl"), "--db", db}).code, 0);
  }
  const std::string mine_ = path("mine.db");
};

// Records of others, which say nothing of this machine yet; one of them lies.
TEST_F(Confirm, ALieLosesToTheDefault) {
  const Words what = {"--task", "dense", "--args", "m=64,n=256,k=256"};
  const Output tuned = run(with(tuner({"--trials", "24", "--search", "random"}), what));
  ASSERT_EQ(tuned.code, 0) << tuned.err;
  plant_lie();
  export_theirs();
  import_theirs(mine_);
  const std::string before = config_line(what);

  const Output confirmed = run(with(tuner({"--confirm", "--db", mine_, "--json"}), what));
  ASSERT_EQ(confirmed.code, 0) << confirmed.err;
  const Json j = confirmed.json();
  EXPECT_EQ(j["known"], 1) << confirmed.out;
  ASSERT_EQ(j["confirmed"].size(), 1u) << confirmed.out;
  const Json& task = j["confirmed"][0];
  // A build takes what was said, and somebody who ran here stands behind it.
  const std::string after = config_line(what);
  EXPECT_NE(after, before) << "the lie is not built any more";
  EXPECT_THAT(after, testing::AllOf(HasSubstr("from " + mine_), testing::EndsWith("; confirmed")));
  EXPECT_EQ(task["taken"], task["known_ms"] < task["default_ms"] ? "known" : "default") << task.dump();

  // Nothing is left to do, which is said, with exit code 0.
  const Output again = run(with(tuner({"--confirm", "--db", mine_}), what));
  ASSERT_EQ(again.code, 0) << again.err;
  EXPECT_THAT(again.out, HasSubstr("nothing to confirm"));
  EXPECT_THAT(expect_refused(2, with(tuner({"--confirm", "--fresh", "--db", mine_}), what)), HasSubstr("--fresh"));
}

TEST_F(Confirm, AModelTakesItsDearestLayersFirst) {
  const std::string model = path("small.onnx");
  SmallModel().write(model);
  const Output tuned = run(tuner({model, "--trials", "48"}));
  ASSERT_EQ(tuned.code, 0) << tuned.err;

  export_theirs();
  import_theirs(mine_);
  import_theirs(path("other.db"));

  const Output confirmed = run(tuner({"--confirm", model, "--db", mine_, "--json"}));
  ASSERT_EQ(confirmed.code, 0) << confirmed.err;
  const Json j = confirmed.json();
  EXPECT_EQ(j["left"], 0) << confirmed.out;
  EXPECT_EQ(j["known"].get<size_t>(), j["confirmed"].size() + j["failed"].get<size_t>());
  ASSERT_FALSE(j["confirmed"].empty()) << confirmed.out;
  EXPECT_TRUE(j["model"]["agree"].get<bool>()) << confirmed.out;
  const auto own = db::open_for_reading(mine_);
  ASSERT_TRUE(own.ok()) << own.status();
  const auto trials = (*own)->trials().list({});
  ASSERT_TRUE(trials.ok()) << trials.status();
  for (const Json& task : j["confirmed"]) {
    const auto is_confirmed = [&](const db::TrialRow& t) { return t.confirmed && t.workload == task["workload"]; };
    EXPECT_GE(std::count_if(trials->begin(), trials->end(), is_confirmed), 2) << "it and the default: " << task.dump();
  }

  // Without the time for anything, the rest is named with the command that goes on.
  const Output hurried = run(tuner({"--confirm", model, "--db", path("other.db"), "--seconds", "0.01"}));
  EXPECT_EQ(hurried.code, 0) << hurried.err;
  EXPECT_THAT(hurried.err, HasSubstr("`tuner --confirm --model " + model));
}

}  // namespace
}  // namespace hone::e2e
