// A model is tuned as a whole, and built from the configs found.
#include <signal.h>

#include <fstream>

#include "tests/e2e/fleet/programs.h"
#include "tests/fakes/small_model.h"

namespace hone::e2e {
namespace {

using testing::HasSubstr;

class TunedModel : public Workplace {
 protected:
  TunedModel() { SmallModel().write(file_); }
  // Short measurements: nothing here is about speed.
  Words tune(const Words& more) const {
    Words words = {"tuner", "--model",  file_, "--threads",       "1",  "--seconds",
                   "120",   "--repeat", "2",   "--min-repeat-ms", "0.2"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  // The layers that tensorc builds now, each with its config.
  std::vector<std::string> build_layers(const std::string& name) {
    const Output built =
        run({"tensorc", file_, "--threads", "1", "-o", path(name + ".so"), "--report", path("report.json")});
    EXPECT_EQ(built.code, 0) << built.err;
    std::vector<std::string> layers;
    const Json report = Json::parse(read_file(path("report.json")));
    for (const Json& layer : report["variants"][0]["layers"])
      layers.push_back(layer["workload"].get<std::string>() + " " + layer["config"].get<std::string>());
    EXPECT_FALSE(layers.empty());
    return layers;
  }
  const std::string file_ = path("small.onnx");
};

TEST_F(TunedModel, IsBuiltFromTheDatabase) {
  const Output before = run({"tensorc", file_, "--threads", "1", "-o", path("before.so")});
  ASSERT_EQ(before.code, 0) << before.err;
  EXPECT_THAT(before.err, testing::Not(HasSubstr("best")));

  const Output first = run(tune({"--trials", "48", "--json"}));
  ASSERT_EQ(first.code, 0) << first.err;
  EXPECT_THAT(first.err, HasSubstr("model now "));
  EXPECT_EQ(count_lines(first.out), 1u);
  const Json j = first.json();
  EXPECT_EQ(j["trials"].get<int64_t>(), stored(db_).trials);
  EXPECT_LE(j["trials"].get<int64_t>(), 48);
  double layers = 0;
  for (const Json& task : j["tasks"]) {
    EXPECT_FALSE(task["best"].is_null()) << task.dump();
    layers += task["weight"].get<double>();
  }
  EXPECT_TRUE(j["model"]["agree"].get<bool>()) << j["model"].dump();
  EXPECT_GT(j["model"]["default_ms"].get<double>(), 0);
  EXPECT_GT(j["model"]["tuned_ms"].get<double>(), 0);
  EXPECT_TRUE(nothing_left({})) << testing::PrintToString(temporary_files());

  const Output after = run({"tensorc", file_, "--threads", "1", "--check", "-o", path("after.so")});
  ASSERT_EQ(after.code, 0) << after.err;
  const std::string all = std::to_string(static_cast<int>(layers));
  EXPECT_THAT(after.err, HasSubstr(all + " layers")) << "the tasks are its layers";
  EXPECT_THAT(after.err, HasSubstr("configs: " + all + " best;"));

  // Known workloads are not measured again, but bests of a disturbed machine are confirmed again, and others may win
  // then. People get the same as text: an interval, or a ratio where a busy machine left too few turns for one.
  const std::vector<std::string> layers_before = build_layers("first");
  const Output again = run(tune({"--trials", "48"}));
  ASSERT_EQ(again.code, 0) << again.err;
  EXPECT_THAT(again.out, HasSubstr("model: default "));
  if (build_layers("second") == layers_before)
    EXPECT_THAT(again.out, testing::ContainsRegex(" ms as before(: | [(])"));
  else
    EXPECT_THAT(again.out, testing::ContainsRegex(" ms, before [^ ]+ ms, tuned [^ ]+ ms(: | [(])"));
  EXPECT_THAT(again.out, HasSubstr("next      tensorc " + file_ + " --threads 1"));
  EXPECT_EQ(j["trials"].get<int64_t>(), stored(db_).trials);
}

TEST_F(TunedModel, VariantsAreTunedTogether) {
  SmallModel(SmallModel::kFree).write(file_);
  const std::string both = "batch=1|2";
  const Output tuned = run(tune({"--bind", both, "--trials", "64", "--json"}));
  ASSERT_EQ(tuned.code, 0) << tuned.err;
  const Json variants = tuned.json()["variants"];
  ASSERT_EQ(variants.size(), 2u) << tuned.out;
  for (size_t i = 0; i < 2; ++i) {
    ASSERT_TRUE(variants[i].contains("agree")) << variants[i].dump();
    EXPECT_EQ(variants[i]["variant"], "batch=" + std::to_string(i + 1));
    EXPECT_TRUE(variants[i]["agree"].get<bool>()) << variants[i].dump();
  }
  const Output built = run({"tensorc", file_, "--bind", both, "--threads", "1", "--check", "-o", path("both.so")});
  ASSERT_EQ(built.code, 0) << built.err;
  EXPECT_THAT(built.err, HasSubstr("batch=1: "));
  EXPECT_THAT(built.err, HasSubstr("batch=2: "));
  EXPECT_THAT(built.err, testing::Not(HasSubstr(" default;")));
  EXPECT_THAT(expect_refused(2, {"tuner", "--model", file_, "--bind", "batch=1|1"}), HasSubstr("1 is there twice"));
}

TEST_F(TunedModel, PrintedTasksAreTheSameTasks) {
  const Output printed = run({"tuner", "--model", file_, "--print-tasks"});
  ASSERT_EQ(printed.code, 0) << printed.err;
  std::ofstream(path("tasks.txt")) << printed.out;
  const Output tuned = run({"tuner", "--tasks", path("tasks.txt"), "--threads", "1", "--trials",
                            std::to_string(count_lines(printed.out)), "--repeat", "1", "--min-repeat-ms", "0.2"});
  ASSERT_EQ(tuned.code, 0) << tuned.err;
  EXPECT_THAT(run({"tensorc", file_, "--threads", "1", "-o", path("m.so")}).err, testing::Not(HasSubstr(" default;")));
}

TEST_F(TunedModel, TasksAreOfTheInputsThatAreGiven) {
  const Output printed = run({"tuner", "--model", file_, "--print-tasks", "--input", "image=u8:NHWC,scale=0.0039"});
  ASSERT_EQ(printed.code, 0) << printed.err;
  EXPECT_THAT(printed.out,
              testing::ContainsRegex("layout=NCHW3c:[0-9]+c,dtype=u8:f32:f32:f32,epilogue=bias.relu,prologue=mul.1"));
}

TEST_F(TunedModel, InterruptedItKeepsWhatWasMeasured) {
  Program tuner = start(tune({}));
  ASSERT_TRUE(eventually([&] { return stored(db_).trials >= 8; })) << tuner.err();
  tuner.signal(SIGINT);
  EXPECT_EQ(tuner.wait(), 130) << tuner.err();
  EXPECT_THAT(tuner.err(), HasSubstr("the same command resumes"));
  EXPECT_THAT(tuner.out(), HasSubstr("model: not built and timed as a whole: interrupted"));
  EXPECT_GE(stored(db_).trials, 8);
  EXPECT_TRUE(nothing_left({})) << testing::PrintToString(temporary_files());
}

TEST_F(TunedModel, BadInputIsOneLine) {
  EXPECT_THAT(expect_refused(2, {"tuner", "--model", path("none.onnx")}), HasSubstr("No such file"));
  std::ofstream(path("text.onnx")) << "text";
  EXPECT_THAT(expect_refused(2, {"tuner", "--model", path("text.onnx")}), HasSubstr("not an ONNX file"));
  EXPECT_THAT(expect_refused(2, {"tuner", "--model", file_, "--task", "dense"}), HasSubstr("exclude it"));
  EXPECT_THAT(expect_refused(2, {"tuner", "--model", file_, "--trials", "2"}), HasSubstr("--trials: 2 for the"));
  EXPECT_THAT(expect_refused(2, {"tuner", "--model", file_, "--input", "x=u8"}), HasSubstr("there is no input 'x'"));
  EXPECT_THAT(expect_refused(2, {"tuner", "--task", "dense", "--print-tasks"}), HasSubstr("belong to --model"));
}

}  // namespace
}  // namespace hone::e2e
