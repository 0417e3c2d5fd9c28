#include "tuner/measure/candidate.h"

#include <gmock/gmock.h>

#include <cmath>
#include <set>
#include "tests/fakes/workloads.h"

namespace hone {
namespace {

Target znver5() { return Target::parse("llvm -mtriple=x86_64-linux -mcpu=znver5 -threads=2"); }

// The features as the ranker would see them, of random configs of a real space.
TEST(CompiledCandidates, PreparesEveryTask) {
  for (const char* text : {"conv2d(ci=20,h=13,w=17,co=24,kh=3,kw=3)", "depthwise_conv2d(c=20,h=13,w=17)",
                           "dense(m=30,n=50,k=70)", "batch_matmul(b=3,m=30,n=20,k=10)"}) {
    const Workload w = parse_workload(text);
    const Target target = znver5();
    const Space space = make_space(w, target);
    NoCoreSharing cores;
    CompiledCandidates candidates(w, target, space, cores);
    std::mt19937_64 rng(1);
    std::set<std::string> programs, rows;
    for (int i = 0; i < 40; ++i) {
      const auto config = space.sample(rng);
      ASSERT_TRUE(config);
      const auto c = candidates.prepare(*config);
      ASSERT_EQ(c->error, "") << c->config_text;
      EXPECT_EQ(c->config_text, space.print(*config));
      EXPECT_FALSE(c->layouts.in.empty());
      const Features* f = candidates.features(*config);
      ASSERT_NE(f, nullptr);
      for (float x : *f) EXPECT_TRUE(std::isfinite(x));
      EXPECT_EQ(c->features, *f);
      programs.insert(c->hash.hex());
      rows.insert(std::string(reinterpret_cast<const char*>(f->data()), sizeof *f));
      EXPECT_EQ(candidates.prepare(*config)->hash, c->hash);
    }
    EXPECT_GT(programs.size(), 20u) << text;
    // Different programs look different to the model, all but a few.
    EXPECT_GE(rows.size() + 3, programs.size()) << text;
  }
}

TEST(CompiledCandidates, RememberFeaturesWithinBounds) {
  const Workload w = parse_workload("dense(m=30,n=50,k=70)");
  const Target target = znver5();
  const Space space = make_space(w, target);
  NoCoreSharing cores;
  Features known{};
  known[0] = 12345;
  CompiledCandidates reminded(w, target, space, cores), full(w, target, space, cores, {}, 0);
  for (CompiledCandidates* c : {&reminded, &full}) c->remember(space.default_config(), known);
  EXPECT_EQ(*reminded.features(space.default_config()), known);
  EXPECT_EQ(*full.features(space.default_config()), *full.prepare(space.default_config())->features);
}

TEST(CompiledCandidates, ComeEncodedWhenAsked) {
  const Workload w = parse_workload("dense(m=30,n=50,k=70)");
  const Target target = znver5();
  const Space space = make_space(w, target);
  NoCoreSharing cores;
  CompiledCandidates plain(w, target, space, cores),
      encoded(w, target, space, cores, [](const Module&m) { return std::to_string(m.kernels.size()) + " kernels"; });
  EXPECT_EQ(plain.prepare(space.default_config())->encoded, "");
  EXPECT_THAT(encoded.prepare(space.default_config())->encoded, testing::HasSubstr("kernels"));
}

TEST(CompiledCandidates, AConfigThatCannotBeLoweredIsAnErrorLine) {
  const Workload w = parse_workload("dense(m=64,n=64,k=64)");
  const Target target = znver5();
  const Space real = make_space(w, target);
  // The same knobs without constraints: something in it breaks one.
  NoCoreSharing cores;
  CompiledCandidates candidates(w, target, real, cores);
  std::optional<Config> bad;
  for (ConfigIndex i = 0; i < real.size() && !bad; i += 1 + real.size() / 5000)
    if (!real.valid(real.config_at(i))) bad = real.config_at(i);
  if (!bad) GTEST_SKIP() << "every config of this space is valid";
  const auto c = candidates.prepare(*bad);
  EXPECT_NE(c->error.find("constraint"), std::string::npos) << c->error;
  EXPECT_EQ(c->error.find('\n'), std::string::npos);
  EXPECT_EQ(candidates.features(*bad), nullptr);
}

}  // namespace
}  // namespace hone
