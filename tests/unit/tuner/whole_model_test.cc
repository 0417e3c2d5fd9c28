#include "tuner/driver/whole_model.h"

#include "tuner/cli/whole_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <random>
#include <set>
#include <sstream>

#include "compiler/codegen/llvm/machine/host_target.h"
#include "compiler/model/plan/layers.h"
#include "db/lookup.h"
#include "tests/fakes/decoder_model.h"
#include "tests/fakes/known_trial.h"
#include "tests/fakes/small_model.h"
#include "tests/fakes/temporary_folder.h"
#include "tests/fakes/workloads.h"
#include "tuner/driver/model_work.h"

namespace hone {
namespace {

TEST(InterleavedTurns, EveryTurnRunsEachCall) {
  std::vector<int> order;
  const auto call = [&](int which) {
    return [&order, which] {
      if (order.empty() || order.back() != which) order.push_back(which);
    };
  };
  const Turns turns = interleaved_turns({call(0), call(1), call(2)}, [](const Turns& t) { return t[0].size() < 3; });
  // Each once to see how long it takes, then three turns.
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2}));
  ASSERT_EQ(turns.size(), 3u);
  for (const std::vector<double>& t : turns) {
    EXPECT_EQ(t.size(), 3u);
    for (const double seconds : t) EXPECT_GT(seconds, 0);
  }
}

TEST(WholeModelText, SaysWhatTuningBrought) {
  WholeModel w;
  w.default_seconds = 21.3e-3, w.tuned_seconds = 10.1e-3;
  EXPECT_EQ(to_string(w), "model: default 21.3 ms, tuned 10.1 ms (2.11x)\n");
  EXPECT_EQ(json_of(w)["agree"], true);
  EXPECT_NEAR(json_of(w)["gain"].get<double>(), 2.109, 1e-3);
}

TEST(WholeModelText, WhatWasKnownBeforeStandsBetween) {
  WholeModel w;
  w.default_seconds = 20e-3, w.tuned_seconds = 10e-3, w.before_seconds = 12e-3;
  EXPECT_EQ(to_string(w), "model: default 20.0 ms, before 12.0 ms, tuned 10.0 ms (2.00x)\n");
  EXPECT_NEAR(json_of(w)["before_ms"].get<double>(), 12, 1e-9);
  w.before_seconds = 0, w.is_as_before = true;
  EXPECT_EQ(to_string(w), "model: default 20.0 ms, tuned 10.0 ms as before (2.00x)\n");
  EXPECT_EQ(json_of(w)["as_before"], true);
  EXPECT_FALSE(json_of(w).contains("before_ms"));
  w.before_seconds = 8e-3, w.is_as_before = false;
  EXPECT_EQ(to_string(w),
            "model: default 20.0 ms, before 8.00 ms, tuned 10.0 ms (2.00x)\n"
            "model: SLOWER tuned than with what was known before, by 25%\n");
}

TEST(WholeModelText, ChoicesAreSaid) {
  WholeModel w;
  w.default_seconds = 20e-3, w.tuned_seconds = 10e-3, w.without_choices = 11e-3;
  w.choices = {{"conv2d()", "a=1", 1e-3, 2e-3}};
  EXPECT_EQ(to_string(w),
            "model: default 20.0 ms, tuned 10.0 ms (2.00x)\n"
            "model: 1 workload has another config inside it than alone; 11.0 ms without\n");
  EXPECT_EQ(json_of(w)["choices"], 1);
  EXPECT_NEAR(json_of(w)["without_choices_ms"].get<double>(), 11, 1e-9);
  w.choices.push_back({"dense()", "a=1", 1e-3, 2e-3});
  EXPECT_THAT(to_string(w), testing::HasSubstr("2 workloads have another config inside it"));
  EXPECT_FALSE(json_of(WholeModel()).contains("choices"));
}

TEST(WholeModelText, SaysWhatIsKeptAndWhatIsNotStored) {
  WholeModel w;
  w.default_seconds = w.tuned_seconds = 10e-3, w.without_choices = 12e-3, w.is_as_before = true;
  w.kept = "what was known before", w.found = {0.83, 0.81, 0.85};
  w.choices = {{"conv2d()", "a=1"}};
  EXPECT_EQ(
      to_string(w),
      "model: default 10.0 ms, tuned 10.0 ms as before (1.00x)\n"
      "model: what was found is slower inside it, 0.83x (0.81 to 0.85): 1 workload has kept what was known before, "
      "with which tensorc builds it\n");
  EXPECT_EQ(json_of(w)["kept"], "what was known before");
  w.forget_choices();
  EXPECT_EQ(to_string(w),
            "model: default 10.0 ms, before 10.0 ms, tuned 12.0 ms (0.83x)\n"
            "model: SLOWER tuned than with default configs, by 20%\n"
            "model: SLOWER tuned than with what was known before, by 20%\n");
  EXPECT_FALSE(json_of(w).contains("kept") || json_of(w).contains("choices"));
}

TEST(WholeModelText, ALossAndADifferenceAreSaid) {
  WholeModel w;
  w.default_seconds = 10e-3, w.tuned_seconds = 12e-3;
  EXPECT_EQ(to_string(w),
            "model: default 10.0 ms, tuned 12.0 ms (0.83x)\nmodel: SLOWER tuned than with default configs, by 20%\n");
  w.tuned_seconds = 10.05e-3;
  EXPECT_EQ(to_string(w), "model: default 10.0 ms, tuned 10.1 ms (1.00x)\n") << "that is noise";
  w.different = "output 'y' differs";
  EXPECT_NE(to_string(w).find("do not give the same: output 'y' differs\n"), std::string::npos);
  EXPECT_EQ(json_of(w)["agree"], false);
}

class Whole : public testing::Test {
 protected:
  Whole() {
    SmallModel(SmallModel::kFree).write(file_);
    work_ = work({"batch=1"});
    hub_ = *db::TopHub::open({});
  }
  ModelWork work(const std::vector<std::string>& bind, const MeasuredTime& measured = {}) const {
    ModelRequest request;
    request.model = file_;
    for (const std::string& text : bind) request.bind.push_back(bind_choice(text));
    return model_work(test_operators(), import_model(test_operators(), request, nothing_), here_, nothing_, measured);
  }
  const Events nothing_{[](const std::string& line) { ADD_FAILURE() << line; }};
  const TemporaryFolder folder_;
  const std::string file_ = folder_.path() + "/small.onnx";
  const Target here_ = host_target(1);
  ModelWork work_;
  std::unique_ptr<db::TopHub> hub_;
};

TEST_F(Whole, BothArtifactsRunAndAgree) {
  const WholeModel w = compare_whole({"", &work_.variants[0].graph, here_}, nullptr, *hub_, {});
  EXPECT_EQ(w.why_not, "");
  EXPECT_EQ(w.different, "");
  EXPECT_GT(w.default_seconds, 0);
  EXPECT_GT(w.tuned_seconds, 0);
}

TEST_F(Whole, WhatWasKnownBeforeIsTimedToo) {
  StatusOr<ModelBefore> before = model_before(work_, here_, *hub_);
  ASSERT_TRUE(before.ok()) << before.status();
  const auto compared = [&] { return compare_whole({"", &work_.variants[0].graph, here_}, &*before, *hub_, {}); };
  EXPECT_EQ(before->configs.size(), work_.tasks.size());
  EXPECT_FALSE(before->differs_from_defaults());
  EXPECT_EQ(compared().before_seconds, 0) << "it is the model with the defaults";

  // The first layer with several configs had another one.
  for (const WeightedWorkload& task : work_.tasks) {
    const Space space = make_space(task.workload, here_);
    std::mt19937_64 rng(1);
    const std::optional<Config> other = space.sample(rng);
    if (!other || space.print(*other) == space.print(space.default_config())) continue;
    ChosenConfig& chosen = before->configs.at(to_string(task.workload));
    chosen = {space.default_config(), "best (of a session before)", ""};
    WholeModel w = compared();
    EXPECT_TRUE(w.is_as_before) << "the tuned one has that config, too";
    EXPECT_EQ(w.before_seconds, 0);
    chosen.config = *other;
    w = compared();
    if (!w.choices.empty()) GTEST_SKIP() << "the other config is faster inside the model, and is chosen";
    EXPECT_FALSE(w.is_as_before);
    EXPECT_GT(w.before_seconds, 0) << w.why_not;
    return;
  }
  FAIL() << "each layer has one config alone";
}

// Times decide whether there are choices; a choice is of the workloads and configs that were offered, stands beside a
// best one that the tophub has, and stays right.
TEST_F(Whole, ChoicesAreOfWhatWasOffered) {
  const std::string path = folder_.path() + "/hub.db";
  ConfigsByWorkload others;
  std::set<std::string> known;
  int64_t seq = 0;
  for (const WeightedWorkload& task : work_.tasks) {
    const Space space = make_space(task.workload, here_);
    std::mt19937_64 rng(1);
    const std::optional<Config> other = space.sample(rng);
    if (!other) continue;
    others[to_string(task.workload)] = {*other, "runner-up", ""};
    if (++seq % 2 == 0) continue;
    add_known_trial(path, task.workload, here_, space, space.print(space.default_config()), 1e-3, seq);
    known.insert(to_string(task.workload));
  }
  ASSERT_LT(known.size(), others.size());
  const auto compared = [&](db::TopHub& hub) {
    const WholeModel w = compare_whole({"", &work_.variants[0].graph, here_}, nullptr, hub, {}, {others});
    EXPECT_EQ(w.why_not + w.different, "");
    EXPECT_EQ(w.choices.empty(), w.without_choices == 0);
    EXPECT_LE(w.without_choices == 0 ? 0 : w.tuned_seconds, w.without_choices);
    return w;
  };
  EXPECT_TRUE(compared(*hub_).choices.empty()) << "nothing is known";
  db::HubOptions options;
  options.db_file = path;
  for (const ModelChoice& c : compared(**db::TopHub::open(options)).choices) {
    EXPECT_EQ(known.count(c.workload), 1U) << c.workload;
    const ChosenConfig& offered = others.at(c.workload);
    EXPECT_EQ(make_space(parse_workload(c.workload), here_).print(offered.config), c.config);
    EXPECT_LT(c.seconds, c.instead_seconds);
  }
}

TEST_F(Whole, WhatWasBeforeIsNotAskedForWhereItCannotRun) {
  Target other = here_;
  other.mcpu = "i386";
  const StatusOr<ModelBefore> before = model_before(work_, other, *hub_);
  ASSERT_TRUE(before.ok()) << before.status();
  EXPECT_TRUE(before->configs.empty());
}

TEST_F(Whole, AnotherMachinesTargetIsNotTimed) {
  Target other = here_;
  other.mcpu = "i386";
  const WholeModel w = compare_whole({"", &work_.variants[0].graph, other}, nullptr, *hub_, {});
  EXPECT_EQ(w.why_not, "it was tuned for another machine than this one");
  EXPECT_EQ(to_string(w), "model: not built and timed as a whole: it was tuned for another machine than this one\n");
  EXPECT_EQ(json_of(w).dump(), R"({"why_not":"it was tuned for another machine than this one"})");
}

void interrupted(std::string_view, size_t, size_t) { throw std::runtime_error("interrupted"); }

TEST_F(Whole, AnInterruptEndsIt) {
  EXPECT_EQ(compare_whole({"", &work_.variants[0].graph, here_}, nullptr, *hub_, &interrupted).why_not, "interrupted");
}

TEST_F(Whole, TasksAreWeightedByHowOftenTheyRun) {
  double layers = 0;
  for (const WeightedWorkload& t : work_.tasks) layers += t.weight;
  const Storage storage(work_.variants[0].graph);
  size_t nodes = 0;
  for (size_t n = 0; n < work_.variants[0].graph.nodes.size(); ++n) nodes += !storage.is_free(n);
  EXPECT_EQ(layers, static_cast<double>(nodes));
}

TEST_F(Whole, VariantsHaveTheTasksOfAllOfThem) {
  const ModelWork of_two = work({"batch=2"}), both = work({"batch=1|2"});
  ASSERT_EQ(both.variants.size(), 2u);
  EXPECT_EQ(both.variants[0].name, "batch=1");
  EXPECT_EQ(both.variants[1].name, "batch=2");
  std::map<std::string, double> wanted, got;
  for (const auto& tasks : {work_.tasks, of_two.tasks})
    for (const WeightedWorkload& t : tasks) wanted[to_string(t.workload)] += t.weight;
  for (const WeightedWorkload& t : both.tasks)
    EXPECT_TRUE(got.emplace(to_string(t.workload), t.weight).second) << to_string(t.workload) << " is there twice";
  EXPECT_EQ(got, wanted);
}

TEST_F(Whole, PartsOfASlowGroupAreMeasuredAndThenBuilt) {
  const auto is_slow = [](const Workload& w) {
    return to_string(w).find("epilogue=bias+add+silu") != std::string::npos;
  };
  const ModelWork asks =
      work({"batch=1"}, [&](const Workload& w) { return is_slow(w) ? std::optional(1.0) : std::nullopt; });
  // Layouts have alternatives of their own; these two are the group's parts.
  std::string convolution, function;
  for (const WeightedWorkload& t : asks.alternatives) {
    const std::string text = to_string(t.workload);
    if (text.find("epilogue=bias+add)") != std::string::npos) convolution = text;
    if (text.starts_with("elementwise(op=silu")) function = text;
  }
  ASSERT_TRUE(convolution.starts_with("conv2d")) << convolution;
  ASSERT_NE(function, "");
  EXPECT_EQ(asks.tasks.size(), work_.tasks.size());
  const ModelWork split = work({"batch=1"}, [&](const Workload& w) -> std::optional<double> {
    if (is_slow(w)) return 1.0;
    const std::string text = to_string(w);
    return text == convolution || text == function ? std::optional(0.1) : std::nullopt;
  });
  std::set<std::string> tasks;
  for (const WeightedWorkload& t : split.tasks) tasks.insert(to_string(t.workload));
  EXPECT_TRUE(tasks.contains(convolution));
  EXPECT_TRUE(tasks.contains(function));
  const WholeModel w = compare_whole({"", &split.variants[0].graph, here_}, nullptr, *hub_, {});
  EXPECT_EQ(w.why_not + w.different, "");
}

TEST_F(Whole, CachesThatGrowInPlaceAreTunedAndComparedSo) {
  std::ofstream(file_, std::ios::binary) << exported_decoder().model.SerializeAsString();
  ModelRequest request;
  request.model = file_, request.cache = {"past", 21};
  const std::vector<ModelGraph> imported = import_model(test_operators(), request, nothing_);
  const ModelWork grown = model_work(test_operators(), imported, here_, nothing_);
  std::vector<std::string> names;
  for (const WeightedWorkload& t : grown.tasks) names.push_back(t.workload.operator_name());
  EXPECT_THAT(names, testing::Contains("cached_attention"));
  EXPECT_THAT(names, testing::Not(testing::Contains("concat"))) << "a cache costs nothing";
  const ModelGraph& v = grown.variants.at(0);
  const WholeModel w = compare_whole({v.name, &v.graph, here_, v.growth()}, nullptr, *hub_, {});
  EXPECT_EQ(w.why_not + w.different, "");
  EXPECT_GT(w.tuned_seconds, 0);

  request.cache = {"rows", 21};
  EXPECT_THROW(import_model(test_operators(), request, nothing_), UserError);
}

TEST(WholeModelText, SaysWhichVariantItIsAbout) {
  WholeModel w;
  w.variant = "batch=4";
  w.default_seconds = 10e-3, w.tuned_seconds = 5e-3;
  EXPECT_EQ(to_string(w), "model, batch=4: default 10.0 ms, tuned 5.00 ms (2.00x)\n");
  EXPECT_EQ(json_of(w)["variant"], "batch=4");
}

}  // namespace
}  // namespace hone
