// Every template's program is legal and proved in bounds, for random configs of ordinary and odd shapes, and survives
// the wire.
#include <gtest/gtest.h>

#include <random>

#include "compiler/arith/unproved_accesses.h"
#include "compiler/arith/verify.h"
#include "compiler/build/build.h"
#include "compiler/codegen/legalize/legalize.h"
#include "compiler/ir/printer.h"
#include "compiler/ops/dtypes.h"
#include "compiler/reference/reference.h"
#include "tests/fakes/cpu_workloads.h"
#include "tests/fakes/draws.h"
#include "tests/fakes/f16_workloads.h"
#include "tests/fakes/workloads.h"

namespace hone {
namespace {

// Legalizing takes ten times as long as verifying: one of so many configs has that proof, too.
constexpr int kEmitted = 8;

// The passes between the proof and machine code lose none: no candidate pays for checks when it runs.
void expect_proved_as_emitted(const Module& m) {
  const auto expect = [](const Function& f, int vector_bits) {
    const auto unproved = unproved_accesses(legalize(f.body, vector_bits));
    EXPECT_TRUE(unproved.empty()) << f.name << " as emitted: " << unproved[0].access;
  };
  for (const Function& f : m.kernels) expect(f, m.vector_bits > 0 ? m.vector_bits : 512);
  for (const Prepack& p : m.prepacks) expect(p.function, 512);
}

class VerifyTemplates : public testing::TestWithParam<const char*> {};

TEST_P(VerifyTemplates, LeaveNoAccessUnproved) {
  const Workload w = parse_workload(GetParam());
  const Target target = Target::parse(dtypes_of(w).f16_runs ? "llvm -mtriple=aarch64-linux -mcpu=cortex-a76 -threads=2"
                                                            : "llvm -mtriple=x86_64-linux -mcpu=znver4 -threads=2");
  const Space space = make_space(w, target);
  std::mt19937_64 rng(11);  // over all shapes more than 20,000 configs where all are drawn
  std::vector<Config> configs{space.default_config()};
  for (int n = 0; n < draws(150, 460); ++n)
    if (const auto c = space.sample(rng)) configs.push_back(*c);
  int tried = 0;
  for (const Config& config : configs) {
    SCOPED_TRACE(space.print(config));
    const Module m = lower_config(w, target, space, config);
    const auto unproved = verify(m);
    ASSERT_TRUE(unproved.empty()) << unproved[0].access << "\n" << to_string(m);
    if (++tried % kEmitted == 1) expect_proved_as_emitted(m);
  }
}

TEST_P(VerifyTemplates, ReferenceIsLegal) {
  // Some of its accesses depend on the sampled indices, which are read from memory: those are checked when it runs.
  const Definition d = define(parse_workload(GetParam()));
  EXPECT_NO_THROW(verify(reference_module(d, std::vector<int64_t>(d.outputs.size(), 100), 2)));
}

INSTANTIATE_TEST_SUITE_P(Shapes, VerifyTemplates, testing::ValuesIn(kCpuWorkloads));
INSTANTIATE_TEST_SUITE_P(SumsInF16, VerifyTemplates, testing::ValuesIn(kF16SumWorkloads));

}  // namespace
}  // namespace hone
