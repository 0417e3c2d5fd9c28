// Which config a build takes, and that a record of another space is never applied.
#include "compiler/build/choose_config.h"

#include <gmock/gmock.h>

#include "compiler/build/plain_layer.h"
#include "compiler/build/transfer_gain.h"
#include "tests/fakes/known_trial.h"
#include "tests/fakes/temporary_folder.h"
#include "tests/fakes/workloads.h"

namespace hone {
namespace {

using testing::HasSubstr;

struct ChooseConfig : testing::Test {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/hub.db";
  const Target target = Target::parse("llvm -mtriple=x86_64-linux -mcpu=znver4 -threads=2");
  const Workload w = parse_workload("dense(m=32,n=64,k=48)");
  const Space space = make_space(w, target);
  int64_t seq = 0;

  void record(const Workload& workload, const Target& t, const Space& s, const std::string& config, double seconds,
              const std::string& fingerprint = "", int revisions_before = 0) {
    add_known_trial(path, workload, t, s, config, seconds, ++seq, fingerprint, revisions_before);
  }

  ChosenConfig choose(const Workload& workload, const Target& t) {
    db::HubOptions options;
    options.db_file = path;
    auto hub = db::TopHub::open(options);
    EXPECT_TRUE(hub.ok()) << message_of(hub.status());
    auto chosen = choose_config(workload, t, make_space(workload, t), **hub);
    EXPECT_TRUE(chosen.ok()) << message_of(chosen.status());
    return *chosen;
  }

  std::string some_config(const Space& s, int which) {
    std::mt19937_64 rng(static_cast<uint64_t>(which));
    return s.print(*s.sample(rng));
  }
};

TEST_F(ChooseConfig, TakesTheFastestOfTheExactWorkload) {
  record(w, target, space, some_config(space, 1), 2e-3);
  record(w, target, space, some_config(space, 2), 1e-3);
  const ChosenConfig c = choose(w, target);
  EXPECT_EQ(space.print(c.config), some_config(space, 2));
  EXPECT_THAT(c.source, HasSubstr("best (exact workload"));
}

TEST_F(ChooseConfig, AModelTakesWhatWasChosenInsideOne) {
  record(w, target, space, some_config(space, 1), 1e-3);
  const auto choose_for = [&](ConfigUse use) {
    db::HubOptions options;
    options.db_file = path;
    auto hub = *db::TopHub::open(options);
    const std::optional<db::BestRow> best = exact_best(w, target, *hub);
    EXPECT_EQ(best->config, some_config(space, 1)) << "whatever was chosen";
    return *choose_config(w, target, space, *hub, use);
  };
  const auto put = [&](const std::string& config, int64_t created_at) {
    const auto put = (*db::Store::open(path))
                         ->choices()
                         .put({to_string(w), to_string(target), space.fingerprint().hex(), config,
                               some_config(space, 1), 1e-3, 2e-3, created_at});
    ASSERT_TRUE(put.ok()) << put.status();
  };
  EXPECT_FALSE(choose_for(ConfigUse::kInModel).is_choice) << "there is none";
  put(some_config(space, 2), 1);
  ChosenConfig c = choose_for(ConfigUse::kInModel);
  EXPECT_TRUE(c.is_choice);
  EXPECT_EQ(space.print(c.config), some_config(space, 2));
  EXPECT_THAT(c.source, HasSubstr(", another one chosen inside a model) from "));
  c = choose_for(ConfigUse::kAlone);
  EXPECT_FALSE(c.is_choice);
  EXPECT_EQ(space.print(c.config), some_config(space, 1));
  // A file may hold anything.
  put("no=config", 2);
  c = choose_for(ConfigUse::kInModel);
  EXPECT_FALSE(c.is_choice);
  EXPECT_EQ(space.print(c.config), some_config(space, 1));
}

// Numbers first: a product's tile depends on the product, not on its epilogue.
TEST_F(ChooseConfig, TakesANeighboursOfAnotherEpilogueLast) {
  const Workload other = parse_workload("dense(m=32,n=64,k=48,epilogue=bias+silu)"),
                 near = parse_workload("dense(m=64,n=64,k=48)");
  record(other, target, make_space(other, target), some_config(space, 1), 1e-3);
  EXPECT_EQ(space.print(choose(w, target).config), some_config(space, 1));
  record(near, target, make_space(near, target), some_config(make_space(near, target), 2), 1e-3);
  EXPECT_THAT(choose(w, target).source, HasSubstr("m=64"));
}

TEST_F(ChooseConfig, TakesAnotherTargetsBestOfTheSameWorkload) {
  Target more = target;
  more.threads = 8;
  int which = 1;  // all its choices but those for threads go together with the usual ones for eight
  while (!make_space(w, more).adapt(some_config(space, which), true)) ++which;
  record(w, target, space, some_config(space, which), 1e-3);
  const ChosenConfig c = choose(w, more);
  EXPECT_THAT(c.source, HasSubstr("best (same workload, other target"));
  // How work is divided among two threads says nothing about eight.
  const Space theirs = make_space(w, more);
  const Config best = space.parse(some_config(space, which)), usual = theirs.default_config();
  for (size_t k = 0; k < theirs.knobs().size(); ++k)
    EXPECT_EQ(c.config.choices[k], (theirs.knobs()[k].for_threads ? usual : best).choices[k]) << theirs.knobs()[k].name;
  EXPECT_NE(best.choices, c.config.choices) << "the two differ in some knob";
}

// Caches that a text does not have may be unknown: on ARM without /sys, and in rows that were made without it.
TEST_F(ChooseConfig, TakesTheSameCpusBestWhoeverWasToldOfCaches) {
  const auto cpu = [](const std::string& flags) { return Target::parse("llvm -mtriple=" + flags + " -threads=2"); };
  const auto source_at = [&](const std::string& recorded_at, const std::string& looked_for) {
    const Workload one = parse_workload("dense(m=32,n=64,k=" + std::to_string(48 + 16 * ++seq) + ")");
    const Space theirs = make_space(one, cpu(recorded_at));
    record(one, cpu(recorded_at), theirs, theirs.print(theirs.default_config()), 1e-3);
    return choose(one, cpu(looked_for)).source;
  };
  const std::string arm = "aarch64-linux -mcpu=neoverse-n1", x86 = "x86_64-linux -mcpu=x86-64-v4";
  for (const std::string& of : {arm, x86}) {
    EXPECT_THAT(source_at(of, of + " -l2=2048K -l3=64M"), HasSubstr("best (same workload, other target: llvm"));
    EXPECT_THAT(source_at(of + " -l2=2048K -l3=64M", of), HasSubstr("best (same workload, other target: llvm"));
    EXPECT_THAT(source_at(of + " -l2=2048K", of + " -l2=512K"), testing::Not(HasSubstr("best (same workload")))
        << "both were told";
  }
}

TEST_F(ChooseConfig, TakesNoBestOfOtherRegisters) {
  record(w, target, space, some_config(space, 1), 1e-3);
  EXPECT_EQ(choose(w, Target::parse("llvm -mtriple=x86_64-linux -mcpu=x86-64-v3 -threads=2")).source,
            "default (tuned for " + target.mcpu + ", this build is for x86-64-v3)");
  EXPECT_EQ(choose(w, Target::parse("llvm -mtriple=aarch64-linux -mcpu=cortex-a76 -threads=2")).source,
            "default (tuned for x86_64, this build is for aarch64)");
}

const Target kSapphireRapids = Target::parse("llvm -mtriple=x86_64-linux -mcpu=sapphirerapids -threads=2");

// 1.14 of the default's speed: transfer_gain.cc.
TEST_F(ChooseConfig, TakesAnotherCpusRowsWhereSuchWereMeasuredToGain) {
  const Workload window = parse_workload("conv2d(ci=32,h=14,w=14,co=32)");
  const Target zen = Target::parse("llvm -mtriple=x86_64-linux -mcpu=znver5 -threads=1");
  const Space theirs = make_space(window, zen), here = make_space(window, kSapphireRapids);
  int which = 1;
  while (!here.adapt(some_config(theirs, which), true)) ++which;
  record(window, zen, theirs, some_config(theirs, which), 1e-3);
  const ChosenConfig c = choose(window, kSapphireRapids);
  EXPECT_THAT(c.source, HasSubstr("best (same workload, other target: llvm -mtriple=x86_64-linux -mcpu=znver5"));
  EXPECT_THAT(c.source, HasSubstr("; such rows of Zen 5 have 1.14 of the default's speed on Golden Cove"));
  EXPECT_FALSE(c.is_default());
}

TEST_F(ChooseConfig, LeavesRowsThatDoNotGainAndSaysSo) {
  record(w, target, space, some_config(space, 1), 1e-3);  // a product of Zen 4
  const ChosenConfig c = choose(w, kSapphireRapids);
  EXPECT_EQ(c.config, make_space(w, kSapphireRapids).default_config());
  EXPECT_TRUE(c.is_default());
  EXPECT_EQ(c.source, "default (rows of znver4 are not taken: such have 0.99 of the default's speed on Golden Cove)");
  const Target unknown = Target::parse("llvm -mtriple=x86_64-linux -mcpu=x86-64-v4 -threads=2");
  EXPECT_EQ(choose(w, unknown).source, "default (rows of znver4 are not taken: not measured on x86-64-v4)");
  EXPECT_EQ(choose(parse_workload("dense(m=32,n=64,k=50)"), kSapphireRapids).source,
            "default (rows of znver4 are not taken: not measured on sapphirerapids)")
      << "of a near workload";
}

TEST_F(ChooseConfig, AnyRowIsTakenByWhoMeasuresIt) {
  record(w, target, space, space.print(space.default_config()), 1e-3);
  db::HubOptions options;
  options.db_file = path;
  const auto hub = *db::TopHub::open(options);
  const Space here = make_space(w, kSapphireRapids);
  EXPECT_THAT(choose_config(w, kSapphireRapids, here, *hub, ConfigUse::kAlone, Transfer::kAny)->source,
              HasSubstr("best (same workload, other target"));
}

TEST_F(ChooseConfig, TakesWhatGainsMoreBeforeWhatIsNearer) {
  const Workload window = parse_workload("conv2d(ci=32,h=14,w=14,co=32)");
  for (const char* cpu : {"znver4 -threads=2", "znver5 -threads=1"}) {  // 1.08 and 1.14
    const Target zen = Target::parse(std::string("llvm -mtriple=x86_64-linux -mcpu=") + cpu);
    const Space theirs = make_space(window, zen);
    record(window, zen, theirs, theirs.print(theirs.default_config()), 1e-3);
  }
  EXPECT_THAT(choose(window, kSapphireRapids).source, HasSubstr("-mcpu=znver5"));
}

TEST(CoreKind, KnowsServersBehindAMaskedModelNumber) {
  const auto kind = [](const std::string& of) {
    return core_kind(Target::parse("llvm -mtriple=x86_64-linux -threads=1 -mcpu=" + of));
  };
  EXPECT_EQ(kind("sapphirerapids"), CoreKind::kGoldenCove);
  EXPECT_EQ(kind("rocketlake -mattr=+avx512bf16,+avx512fp16 -l2=2048K"), CoreKind::kGoldenCove);
  EXPECT_EQ(kind("rocketlake"), CoreKind::kOther);
  EXPECT_EQ(kind("znver5 -mattr=-prefetchi"), CoreKind::kZen5);
  EXPECT_EQ(kind("haswell"), CoreKind::kOther);
}

TEST(RankCpuTargets, PutsTheCpuBeforeTheNumberOfThreads) {
  const std::string x86 = "llvm -mtriple=x86_64-linux -mcpu=";
  EXPECT_EQ(rank_cpu_targets(Target::parse(x86 + "znver4 -threads=2"),
                             {"cuda -arch=sm_80", "llvm -mtriple=aarch64-linux -mcpu=cortex-a76 -threads=2", "nonsense",
                              x86 + "x86-64-v3 -threads=2", x86 + "znver4 -threads=16", x86 + "znver4 -threads=1",
                              x86 + "x86-64-v4 -threads=4", x86 + "x86-64-v4 -threads=2"}),
            (std::vector<std::string>{x86 + "znver4 -threads=1", x86 + "znver4 -threads=16",
                                      x86 + "x86-64-v4 -threads=2", x86 + "x86-64-v4 -threads=4"}));
}

// A GPU's space differs with each of its limits.
TEST_F(ChooseConfig, AdaptsTheBestOfTheNearestGpu) {
  const Target h200 = Target::parse("cuda -arch=sm_90 -sms=132"), a100 = Target::parse("cuda -arch=sm_80"),
               less = Target::parse("cuda -arch=sm_90 -sms=114 -shared=32K");
  const Space tuned = make_space(w, h200), other = make_space(w, a100), mine = make_space(w, less);
  const std::string best = tuned.print(mine.default_config()), fast = some_config(other, 3);
  record(w, a100, other, fast, 1e-5);
  record(w, h200, tuned, best, 1e-4);
  const ChosenConfig c = choose(w, less);
  EXPECT_THAT(c.source, HasSubstr("best (same workload, other target: cuda -arch=sm_90 -sms=132"));
  EXPECT_EQ(mine.print(c.config), best);
  EXPECT_THAT(choose(w, h200).source, HasSubstr("best (exact workload"));
  // Never of the other API, nor of CPUs.
  EXPECT_EQ(choose(w, Target::parse("opencl -sms=4")).source, "default");
  EXPECT_THAT(choose(parse_workload("dense(m=32,n=64,k=96)"), less).source, HasSubstr("nearest (dense(m=32,n=64,k=48"));
}

TEST(RankGpuTargets, PutsTheArchitectureBeforeTheMultiprocessors) {
  EXPECT_EQ(rank_gpu_targets(Target::parse("cuda -arch=sm_90 -sms=132"),
                             {"cuda -arch=sm_80 -sms=132", "cuda -arch=sm_90 -sms=16", "llvm",
                              "cuda -arch=sm_90 -sms=114", "cuda -arch=sm_999 -sms=132", "cuda -arch=sm_89 -sms=128"}),
            (std::vector<std::string>{"cuda -arch=sm_90 -sms=114", "cuda -arch=sm_90 -sms=16",
                                      "cuda -arch=sm_89 -sms=128", "cuda -arch=sm_80 -sms=132"}));
}

// Winograd's algorithm is not for results that are rounded to whole numbers.
TEST(RankNearest, KeepsChainsThatRoundApart) {
  const Workload w = parse_workload("dense(m=8,n=8,k=8,epilogue=bias+round+saturate:u8)");
  const std::string plain = to_string(parse_workload("dense(m=8,n=8,k=8,epilogue=bias+relu)")),
                    rounds = to_string(parse_workload("dense(m=8,n=9,k=8,epilogue=bias+relu+round+saturate:u8)"));
  EXPECT_EQ(rank_nearest(w, {plain, rounds}), std::vector<std::string>{rounds});
}

TEST(RankNearest, ComparesShapesOfAsManyAxes) {
  const Workload w = parse_workload("elementwise(op=gelu,shape=128x3072)");
  const std::string near = "elementwise(op=gelu,shape=64x3072,operands=none,dtype=f32)",
                    far = "elementwise(op=gelu,shape=1x768,operands=none,dtype=f32)";
  EXPECT_EQ(rank_nearest(w, {far, "elementwise(op=gelu,shape=393216,operands=none,dtype=f32)",
                             "elementwise(op=relu,shape=128x3072,operands=none,dtype=f32)", near}),
            (std::vector<std::string>{near}));
}

// Winograd's algorithm is for a stride of 1.
TEST(RankNearest, KeepsWindowsApart) {
  const auto text = [](const char* of) { return to_string(parse_workload(of)); };
  const Workload w = parse_workload("conv2d(ci=64,h=28,w=28,co=64)");
  EXPECT_EQ(rank_nearest(w, {text("conv2d(ci=64,h=28,w=28,co=64,stride=2)"),
                             text("conv2d(ci=64,h=28,w=28,co=64,kh=1,kw=1,pad=0)"),
                             text("conv2d(ci=64,h=28,w=28,co=64,pad=2,dilation=2)"),
                             text("conv2d(ci=64,h=28,w=28,co=96)"), text("conv2d(ci=64,h=28,w=28,co=512)")}),
            (std::vector<std::string>{text("conv2d(ci=64,h=28,w=28,co=96)")}));
}

TEST_F(ChooseConfig, AdaptsTheNearestWorkload) {
  record(w, target, space, space.print(space.default_config()), 1e-3);
  const Workload near = parse_workload("dense(m=32,n=96,k=48)");
  const ChosenConfig c = choose(near, target);
  EXPECT_THAT(c.source, HasSubstr("nearest ("));
  EXPECT_TRUE(make_space(near, target).valid(c.config));
}

// A first convolution of bytes is tuned as the one of floats that a build without --input has.
TEST_F(ChooseConfig, TakesWhatWasTunedForTheLayerWithoutItsPreprocessing) {
  const auto conv = [](const std::string& size, const std::string& layout, const std::string& more) {
    return parse_workload("conv2d(n=1,ci=3,h=" + size + ",w=" + size +
                          ",co=32,kh=3,kw=3,stride=2,pad=1,layout=" + layout + ",epilogue=bias+relu" + more + ")");
  };
  const std::string bytes = ",dtype=u8:f32:f32:f32,prologue=mul[1]+bias";
  const Workload plain = conv("64", "NCHW1c:16c", ""), folded = conv("64", "NCHW3c:16c", bytes),
                 neighbour = conv("80", "NCHW3c:16c", bytes);
  ASSERT_EQ(without_preprocessing(folded), plain) << to_string(*without_preprocessing(folded));
  const Space plain_space = make_space(plain, target), folded_space = make_space(folded, target),
              neighbour_space = make_space(neighbour, target);
  const std::string config = some_config(plain_space, 3);
  record(plain, target, plain_space, config, 1e-3);
  record(neighbour, target, neighbour_space, some_config(neighbour_space, 1), 1e-3);
  const auto adapted = folded_space.adapt(config);
  ASSERT_TRUE(adapted);
  ASSERT_NE(folded_space.print(*adapted), folded_space.print(folded_space.default_config()));
  ChosenConfig c = choose(folded, target);
  EXPECT_EQ(folded_space.print(c.config), folded_space.print(*adapted));
  EXPECT_THAT(c.source, HasSubstr("nearest (" + to_string(plain)));
  // Its own comes first.
  record(folded, target, folded_space, some_config(folded_space, 2), 1e-3);
  c = choose(folded, target);
  EXPECT_EQ(folded_space.print(c.config), some_config(folded_space, 2));
  EXPECT_THAT(c.source, HasSubstr("best (exact workload"));
}

TEST(PlainLayer, IsOfPicturesAlone) {
  for (const char* text :
       {"conv2d(n=1,ci=3,h=64,w=64,co=32,layout=NCHW1c:16c)", "conv2d(n=1,ci=16,h=64,w=64,co=32,layout=NCHW16c:16c)",
        "conv2d(n=1,ci=16,h=64,w=64,co=32,layout=NCHW16c:16c,dtype=u8:f32:f32:f32)", "dense(m=32,n=64,k=48)"})
    EXPECT_EQ(without_preprocessing(parse_workload(text)), std::nullopt) << text;
  const Workload planes = parse_workload("conv2d(n=1,ci=3,h=64,w=64,co=4,layout=NCHW,dtype=u8:f32:f32:f32)");
  EXPECT_EQ(without_preprocessing(planes), parse_workload("conv2d(n=1,ci=3,h=64,w=64,co=4,layout=NCHW)"));
}

// Whoever tunes with one number of threads and builds with another is told so, and not that spaces differ.
TEST_F(ChooseConfig, SaysForHowManyThreadsItWasTuned) {
  const auto with = [](int threads) {
    return Target::parse("llvm -mtriple=x86_64-linux -mcpu=x86-64-v4 -threads=" + std::to_string(threads));
  };
  const Space theirs = make_space(w, with(2));
  int adapted = 0;
  for (int which = 1; which <= 8; ++which) {
    record(w, with(2), theirs, some_config(theirs, which), 1e-3 / which);
    const ChosenConfig c = choose(w, with(1));
    if (c.is_default())
      EXPECT_EQ(c.source, "default (tuned for 2 threads, this build has 1)");
    else
      EXPECT_THAT(c.source, testing::EndsWith("; tuned for 2 threads, this build has 1"));
    EXPECT_EQ(c.skipped, "");
    adapted += c.is_default() ? 0 : 1;
  }
  EXPECT_THAT(adapted, testing::AllOf(testing::Gt(0), testing::Lt(8))) << "some can be adapted, some cannot";
  EXPECT_THAT(choose(w, with(2)).source, testing::Not(HasSubstr("this build has")));
}

TEST_F(ChooseConfig, SaysThatTheTemplateWasAnotherOne) {
  const Target other = Target::parse("llvm -mtriple=x86_64-linux -mcpu=znver4 -threads=1");
  record(w, target, space, some_config(space, 1), 1e-3, std::string(32, 'a'), 1);
  const ChosenConfig c = choose(w, other);
  EXPECT_EQ(c.source, "default (tuned with revision " + std::to_string(space.revision() - 1) + " of " +
                          space.template_name() + ", this build has " + std::to_string(space.revision()) + " of " +
                          space.template_name() + ")");
}

TEST_F(ChooseConfig, NeverAppliesARecordOfAnotherSpace) {
  // As if the template had changed since: its fingerprint is another one.
  record(w, target, space, some_config(space, 1), 1e-3, std::string(32, 'a'));
  const ChosenConfig c = choose(w, target);
  EXPECT_EQ(c.config, space.default_config());
  EXPECT_EQ(c.source, "default");
  EXPECT_EQ(c.skipped, "skipped 1 record of other spaces or versions (" + std::string(12, 'a') + "); this space is " +
                           space.fingerprint().hex().substr(0, 12));
}

TEST_F(ChooseConfig, FallsBackToTheDefault) {
  record(parse_workload("conv2d(ci=8,h=8,w=8,co=8)"), target, space, "x=1", 1e-3);
  EXPECT_EQ(choose(w, target).source, "default");
}

}  // namespace
}  // namespace hone
