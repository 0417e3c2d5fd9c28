// Random sequences of primitives on small programs: whatever a schedule accepts computes what the naive program does, as scheduled and in loop
// form, interpreted and compiled.
#include <gmock/gmock.h>

#include <map>

#include "compiler/arith/verify.h"
#include "compiler/codegen/llvm/compile.h"
#include "compiler/local_kernel.h"
#include "compiler/lower/lower.h"
#include "compiler/lower/lower_blocks.h"
#include "tests/fakes/programs.h"

namespace hone {
namespace {

// One random primitive on random loops and blocks, not necessarily a legal one.
void random_step(Schedule& s, std::mt19937& rng) {
  const std::vector<std::string> names = {"c", "d", "pad", "conv", "scaled", "pool", "shifted", "c_write", "conv_write", "pool_write", "a_cache", "x_cache", "b_cache", "w_cache", "conv_init", "c_init"};
  const auto any_block = [&] {
    for (;;) {
      try {
        return s.block(names[rng() % names.size()]);
      } catch (const UserError&) {
      }
    }
  };
  const auto any_loop = [&](BlockRef b) {
    const auto loops = s.loops(b);
    return loops.empty() ? LoopRef{} : loops[rng() % loops.size()];
  };
  const BlockRef b = any_block();
  switch (rng() % 13) {
    case 0:
    case 1:
    case 2: s.split(any_loop(b), 1 + static_cast<int64_t>(rng() % 5)); break;
    case 3: {
      const auto loops = s.loops(b);
      if (loops.size() < 2) return;
      const size_t i = rng() % (loops.size() - 1);
      s.fuse(loops[i], loops[i + 1]);
      break;
    }
    case 4: {
      auto loops = s.loops(b);
      std::shuffle(loops.begin(), loops.end(), rng);
      loops.resize(std::min<size_t>(loops.size(), 2 + rng() % 2));
      s.reorder(loops);
      break;
    }
    case 5: s.vectorize(any_loop(b)); break;
    case 6: s.unroll(any_loop(b)); break;
    case 7: s.parallel(any_loop(b)); break;
    case 8: s.compute_at(b, any_loop(any_block())); break;
    case 9: rng() % 3 ? s.decompose_reduction(b, any_loop(b)) : (s.compute_inline(b), b); break;
    case 10: s.cache_write(b, rng() % 2 ? BufferScope::kStack : BufferScope::kWorkspace); break;
    case 11: {
      static const char* kBuffers[] = {"a", "b", "x", "w"};
      s.cache_read(kBuffers[rng() % 4], b, rng() % 2 ? BufferScope::kStack : BufferScope::kWorkspace);
      break;
    }
    case 12: {
      const std::vector<int64_t> shape = s.shape_of(b);
      Layout layout;
      const size_t axis = rng() % shape.size();
      const int64_t block = 1 + static_cast<int64_t>(rng() % 3);
      for (size_t d = 0; d < shape.size(); ++d) layout.dims.push_back({static_cast<int>(d), d == axis ? block : 1, d == axis ? ceil_div(shape[d], block) : shape[d]});
      layout.dims.push_back({static_cast<int>(axis), 1, block});
      s.transform_layout(s.buffer_of(b), layout);
      break;
    }
  }
}

class RandomSchedules : public testing::TestWithParam<int> {};

TEST_P(RandomSchedules, KeepTheMeaning) {
  std::mt19937 rng(static_cast<unsigned>(GetParam()));
  const Program programs[] = {matmul_program(), conv_program(), pool_program(), matmul_program(1, 16, 4)};
  int accepted = 0, refused = 0;
  for (int round = 0; round < 60; ++round) {
    const Program& program = programs[rng() % 4];
    const auto s = program.schedule();
    const auto expected = run_logical(lower_blocks(*s, Storage::kWhole), s->params());
    const int steps = 1 + static_cast<int>(rng() % 12);
    for (int i = 0; i < steps; ++i) {
      const size_t before = s->steps().size();
      try {
        random_step(*s, rng);
        ++accepted;
      } catch (const UserError& e) {
        EXPECT_EQ(s->steps().size(), before) << "a refused step was recorded: " << e.what();
        ++refused;
      }
    }
    SCOPED_TRACE(program.name + "\n" + s->text());
    try {
      ASSERT_EQ(run_logical(lower_blocks(*s, Storage::kWhole), s->params()), expected) << "as scheduled";
      const auto after_pass = [&](std::string_view pass, const Function& f) { EXPECT_EQ(run_logical(f, s->params()), expected) << "after " << pass; };
      verify(lower(*s, {.workers = 2, .after_pass = after_pass}));
      if (HasFailure()) return;
    } catch (const UserError& e) {
      FAIL() << e.what();
    }
    const Module m = lower(*s, {.workers = 2});
    if (round % 12 == 0) {
      LocalKernel kernel(m, host_target(2));
      std::mt19937 data(3);
      for (size_t p = 0; p < m.params.size(); ++p) {
        std::vector<int32_t> logical(static_cast<size_t>(element_count(m.params[p].shape)));
        for (int32_t& v : logical) v = static_cast<int32_t>(data() % 19) - 9;
        if (m.params[p].role != ParamRole::kOutput) kernel.set_input(p, logical.data());
      }
      ASSERT_EQ(kernel.run(), HONE_OK);
      const auto bytes = kernel.get_output(m.params.size() - 1);
      const std::vector<int32_t> got(reinterpret_cast<const int32_t*>(bytes.data()), reinterpret_cast<const int32_t*>(bytes.data() + bytes.size()));
      ASSERT_EQ(got, expected) << "compiled";
    }
    // The steps are the schedule.
    const auto again = program.schedule();
    again->replay(s->steps());
    ASSERT_EQ(again->text(), s->text());
  }
  EXPECT_GT(accepted, 100);
  EXPECT_GT(refused, 10);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomSchedules, testing::Range(1, 13));

}  // namespace
}  // namespace hone
