// Random sequences of primitives on small programs: every schedule that is accepted computes the naive program's
// results, as scheduled and in loop form, interpreted and compiled. Shared by a run of some hundreds and a slow one of
// tens of thousands.
#pragma once

#include <gtest/gtest.h>

#include "compiler/arith/verify.h"
#include "compiler/codegen/llvm/machine/host_target.h"
#include "compiler/host/local_kernel.h"
#include "compiler/lower/lower.h"
#include "compiler/lower/lower_blocks.h"
#include "tests/fakes/programs.h"

namespace hone {

// The steps that put loops as an intrinsic wants them, which chance alone hardly finds; it may go on by others.
inline void lead_to_tensorize(Schedule& s, std::mt19937& rng) {
  const BlockRef b = s.block("c");
  const bool dot = rng() % 2;
  if (dot)
    s.transform_layout("b", Layout{{{0, 4, ceil_div(s.extent(s.loop(b, "j")), 4)},
                                    {1, 4, ceil_div(s.extent(s.loop(b, "k")), 4)},
                                    {0, 1, 4},
                                    {1, 1, 4}}});
  if (dot && rng() % 2) s.pad(b, {1, 4, 4});
  const auto [k_o, k_i] = s.split(s.loop(b, "k"), dot ? 4 : 2);
  const auto [j_o, j_i] = s.split(s.loop(b, "j"), 4);
  const LoopRef i = s.loop(b, "i");
  s.reorder(dot ? std::vector<LoopRef>{i, j_o, k_o, j_i, k_i} : std::vector<LoopRef>{j_o, k_o, k_i, i, j_i});
  if (rng() % 4) s.tensorize(b, dot ? j_i : i, dot ? "dot_u8s8_s32" : "fma_f32");
}

// One random primitive on random loops and blocks, not necessarily a legal one.
inline void random_step(Schedule& s, std::mt19937& rng) {
  std::vector<BlockRef> blocks;
  for_each_block(s.root(), [&](Block& b, TreeNode*) { blocks.push_back({b.id}); });
  const auto any_block = [&] { return blocks[rng() % blocks.size()]; };
  const auto any_loop = [&](BlockRef b) {
    const auto loops = s.loops(b);
    return loops.empty() ? LoopRef{} : loops[rng() % loops.size()];
  };
  const BlockRef b = any_block();
  switch (rng() % 29) {
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
    case 8:
    case 22:
    case 23: s.compute_at(b, any_loop(any_block())); break;
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
      for (size_t d = 0; d < shape.size(); ++d)
        layout.dims.push_back(
            {static_cast<int>(d), d == axis ? block : 1, d == axis ? ceil_div(shape[d], block) : shape[d]});
      layout.dims.push_back({static_cast<int>(axis), 1, block});
      s.transform_layout(s.buffer_of(b), layout);
      break;
    }
    case 13: s.split_parts(any_loop(b), 1 + static_cast<int64_t>(rng() % 5)); break;
    case 14: {
      const auto loops = s.loops(b);
      if (loops.size() < 2) return;
      const size_t i = rng() % (loops.size() - 1), j = i + 1 + rng() % (loops.size() - i - 1);
      s.tile(loops[i], loops[j], 1 + static_cast<int64_t>(rng() % 4), 1 + static_cast<int64_t>(rng() % 4));
      break;
    }
    case 15:
    case 24: s.rfactor(b, any_loop(b)); break;
    case 16:
    case 17: s.reverse_compute_at(b, any_loop(any_block())); break;
    case 20: s.annotate(any_loop(b), "prefetch", 1 + static_cast<int64_t>(rng() % 4)); break;
    case 21: s.tensorize(b, any_loop(b), rng() % 2 ? "fma_f32" : "dot_u8s8_s32"); break;
    case 19: {
      std::vector<int64_t> multiples;
      for_each_block(s.root(), [&](Block& x, TreeNode*) {
        for (size_t i = 0; x.id == b.id && i < x.iters.size(); ++i)
          multiples.push_back(1 + static_cast<int64_t>(rng() % 4 * (rng() % 2)));
      });
      s.pad(b, multiples);
      break;
    }
    case 18: s.reverse_compute_inline(b); break;
    case 25: s.compute_inline(b); break;
    case 26:
      s.storage_align(b, static_cast<int>(rng() % 3), 1 + static_cast<int64_t>(rng() % 8),
                      static_cast<int64_t>(rng() % 4));
      break;
    case 27:
    case 28: s.double_buffer(b, 2 + static_cast<int64_t>(rng() % 4)); break;
  }
}

// Elementwise stages, a transposition, a broadcast and reductions over one and two axes, of random extents.
inline Program chain_program(std::mt19937& rng) {
  const auto extent = [&] { return 1 + static_cast<int64_t>(rng() % 7); };
  const int64_t m = extent(), n = extent(), k = extent();
  const Tensor a = placeholder("a", {m, n, k}, i32), b = placeholder("b", {n}, i32);
  const Tensor twice = compute("twice", {m, n, k}, {"i", "j", "k"}, {a},
                               [&](const auto& x) { return a.at(x) * make_int(2, i32) + make_int(1, i32); });
  const Tensor turned = compute("turned", {k, m, n}, {"k", "i", "j"}, {twice, b},
                                [&](const auto& x) { return twice(x[1], x[2], x[0]) + b(x[2]); });
  const Tensor sums = compute_reduce("sums", {m, n}, {"i", "j"}, {turned}, [&](const auto& x) {
    const Axis r = reduce_axis("r", k);
    return sum(turned(r, x[0], x[1]), {r});
  });
  const Tensor shifted =
      compute("shifted", {m, n}, {"i", "j"}, {sums, b}, [&](const auto& x) { return max(sums.at(x), b(x[1])); });
  const Tensor out = rng() % 2 ? compute("out", {n, m}, {"j", "i"}, {shifted},
                                         [&](const auto& x) { return shifted(x[1], x[0]) - make_int(3, i32); })
                               : compute_reduce("out", {m}, {"i"}, {shifted}, [&](const auto& x) {
                                   const Axis r = reduce_axis("s", n);
                                   return max_over(shifted(x[0], r), {r});
                                 });
  return {"chain", {{a, ParamRole::kInput}, {b, ParamRole::kConstant}}, out};
}

inline Program random_program(std::mt19937& rng) {
  const auto extent = [&] { return 1 + static_cast<int64_t>(rng() % 9); };
  const auto fours = [&] { return 4 * (1 + static_cast<int64_t>(rng() % 3)) - static_cast<int64_t>(rng() % 3 == 0); };
  switch (rng() % 7) {
    case 5: return int8_program(extent(), fours(), fours());
    case 6: return float_program(extent(), fours(), extent());
    case 0: return conv_program();
    case 1: return pool_program();
    case 2: return matmul_program(1, 16, 4);
    case 3: return matmul_program(extent(), extent(), extent());
    default: return chain_program(rng);
  }
}

// Compiled, on the inputs that run_logical gives.
inline std::vector<int32_t> run_compiled(const Module& m, const std::vector<ScheduledParam>& params,
                                         const Target& target) {
  LocalKernel kernel(m, target);
  std::mt19937 data(3);
  for (size_t p = 0; p < params.size(); ++p) {
    const auto logical = logical_values(params[p], data);
    if (params[p].role != ParamRole::kOutput) kernel.set_input(p, logical.data());
  }
  EXPECT_EQ(kernel.run(), HONE_OK);
  const auto bytes = kernel.get_output(params.size() - 1);
  return numbers(reinterpret_cast<const std::byte*>(bytes.data()), params.back().buffer->dtype,
                 element_count(params.back().shape));
}

// One random program under random steps; every `compile`-th is compiled too.
inline void check_random_schedule(std::mt19937& rng, bool compile, int* accepted, int* refused) {
  const Program program = random_program(rng);
  const auto s = program.schedule();
  const auto expected = run_logical(lower_blocks(*s, Allocation::kWhole), s->params());
  const int steps = 1 + static_cast<int>(rng() % 12);
  for (int i = 0; i < steps; ++i) {
    const std::string before = s->text();
    const bool several = rng() % (program.name == "int8" || program.name == "float" ? 3 : 32) == 0;
    try {
      several ? lead_to_tensorize(*s, rng) : random_step(*s, rng);
      ++*accepted;
    } catch (const UserError& e) {
      ASSERT_TRUE(several || s->text() == before) << "a refused step was recorded: " << e.what();
      ++*refused;
    }
  }
  SCOPED_TRACE(program.name + "\n" + s->text());
  try {
    ASSERT_EQ(run_logical(lower_blocks(*s, Allocation::kWhole), s->params()), expected) << "as scheduled";
    PassHooks<Function> hooks;
    hooks.after = [&](std::string_view pass, const Function& f, double) {
      EXPECT_EQ(run_logical(f, s->params()), expected) << "after " << pass;
    };
    const Module m = lower(*s, {.workers = 2, .hooks = hooks});
    ASSERT_FALSE(testing::Test::HasFailure());
    verify(m);
    if (compile) {
      ASSERT_EQ(run_compiled(m, s->params(), host_target(2)), expected) << "compiled";
    }
  } catch (const UserError& e) {
    FAIL() << e.what();
  }
  // The steps are the schedule.
  const auto again = program.schedule();
  again->replay(s->steps());
  ASSERT_EQ(again->text(), s->text());
}

}  // namespace hone
