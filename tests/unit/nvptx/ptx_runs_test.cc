// The loop form behind PTX, run on the CPU: configs of the GPU templates against the reference.
#include <gtest/gtest.h>

#include <set>

#include "base/sanitizer.h"
#include "compiler/codegen/gpu/emit_expr.h"
#include "compiler/codegen/nvptx/emit.h"
#include "compiler/runtime/buffer.h"
#include "tests/fakes/gpu_dots.h"
#include "tests/fakes/gpu_workloads.h"
#include "tests/fakes/interpreted.h"
#include "tests/fakes/reference_check.h"
#include "tests/fakes/workloads.h"
#include "tests/unit/gpu_code/programs.h"
#include "tests/unit/nvptx/lockstep.h"

namespace hone {
namespace {

// There the emission alone is looked at.
constexpr const char* kNoFibers = "sanitizers warn of fibers";

std::vector<char> run(const std::string& text, const Module& m, const Target& target,
                      const std::vector<std::vector<char>>& inputs) {
  SCOPED_TRACE(text);
  LockstepProgram program(text);
  std::vector<AlignedBuffer> buffers;
  std::vector<void*> arguments;
  for (size_t i = 0; i < m.params.size(); ++i) {
    const Param& p = m.params[i];
    const auto bytes = static_cast<size_t>(p.layout.physical_size() * p.dtype.bytes());
    buffers.emplace_back(static_cast<int64_t>(bytes));
    std::memset(buffers.back().data(), 0xff, bytes);
    if (i < inputs.size()) pack(inputs[i].data(), buffers.back().data(), p.shape, p.layout, p.dtype.bytes());
    arguments.push_back(buffers.back().data());
  }
  if (m.workspace_bytes > 0) {
    buffers.emplace_back(m.workspace_bytes);
    arguments.push_back(buffers.back().data());
  }
  for (const GpuLaunch& l : emit_ptx(m, target).launches) program.run(l, arguments);
  std::vector<char> out;
  for (size_t i = inputs.size(); i < m.params.size(); ++i) append_logical(arguments[i], m.params[i], &out);
  return out;
}

class PtxRuns : public testing::TestWithParam<const char*> {};

TEST_P(PtxRuns, AndComputesWhatTheReferenceComputes) {
  const Workload w = parse_workload(GetParam());
  std::mt19937_64 rng(16);
  const ReferenceRun reference(w, rng);
  const Target target = Target::parse("cuda -arch=sm_53");
  const Space space = make_space(w, target);
  for (const Config& config : some_configs(space, 8, rng)) {
    SCOPED_TRACE(space.print(config));
    const Module m = lower_config(w, target, space, config);
    const std::string text = emit_ptx_llvm_text(m, target);
    if (kSanitizer) GTEST_SKIP() << kNoFibers;
    if (!reference.expect_agrees(run(text, m, target, reference.inputs()), m)) return;
  }
}

// Configs whose products are on tensor cores, the same ones as in CUDA's text.
class PtxProducts : public testing::TestWithParam<std::tuple<const char*, const char*>> {};

TEST_P(PtxProducts, AreOnTensorCoresAndComputeWhatTheReferenceComputes) {
  const auto& [arch, workload] = GetParam();
  const Workload w = parse_workload(workload);
  std::mt19937_64 rng(18);
  const ReferenceRun reference(w, rng);
  const Target target = Target::parse(std::string("cuda -arch=") + arch);
  const Space space = make_space(w, target);
  if (!target.has(Feature::kAsyncCopy) && !space.print(space.default_config()).starts_with(tensor_core_algorithm(w)))
    GTEST_SKIP() << arch << " has no product of these types";
  for (const Config& config : some_configs(space, 4, rng, tensor_core_algorithm(w))) {
    SCOPED_TRACE(space.print(config));
    const Module m = lower_config(w, target, space, config);
    const std::string text = emit_ptx_llvm_text(m, target), cuda = emit_gpu(m, "cuda").text;
    EXPECT_EQ(text.find("@llvm.nvvm.mma.") != std::string::npos,
              cuda.find(" mma_", cuda.find("extern \"C\"")) != std::string::npos);
    EXPECT_NE(text.find("@llvm.nvvm.mma."), std::string::npos);
    if (kSanitizer) GTEST_SKIP() << kNoFibers;
    if (!reference.expect_agrees(run(text, m, target, reference.inputs()), m)) return;
  }
}

// A device without an instruction computes plain sums, and says so.
TEST(PtxNotes, SayWhichLoopsArePlainSums) {
  const Workload w = parse_workload("dense(m=128,n=128,k=64,dtype=f16)");
  const Target made_for = Target::parse("cuda -arch=sm_75");
  const Space space = make_space(w, made_for);
  const Module m = lower_config(w, made_for, space, space.default_config());
  const auto notes = [&](const char* arch) {
    return emit_ptx(m, Target::parse(std::string("cuda -arch=") + arch)).notes;
  };
  EXPECT_TRUE(notes("sm_80").empty());
  EXPECT_TRUE(notes("sm_75").empty());
  ASSERT_FALSE(notes("sm_72").empty());
  EXPECT_NE(notes("sm_72")[0].find("is a plain sum: there is no instruction for it here"), std::string::npos)
      << notes("sm_72")[0];
}

// Copies that do not wait are done when they are waited for, by a model that does them no earlier: without a wait the
// threads read what was there before, and where one more group may be under way, too.
TEST(PtxCopies, AreWaitedFor) {
  const Workload w = parse_workload("dense(m=40,n=24,k=256,dtype=f16)");
  const Target target = Target::parse("cuda -arch=sm_80");
  const Space space = make_space(w, target);
  std::mt19937_64 rng(20);
  const ReferenceRun reference(w, rng);
  const std::string all = "call void @llvm.nvvm.cp.async.wait.all()",
                    earlier = "call void @llvm.nvvm.cp.async.wait.group(i32 ";
  std::set<std::string> waits, fills;
  for (const Config& config : some_configs(space, 12, rng, tensor_core_algorithm(w))) {
    SCOPED_TRACE(space.print(config));
    const Module m = lower_config(w, target, space, config);
    const std::string text = emit_ptx_llvm_text(m, target);
    EXPECT_NE(text.find("call void @llvm.nvvm.cp.async.c"), std::string::npos);
    if (kSanitizer) GTEST_SKIP() << kNoFibers;
    const std::vector<char> right = run(text, m, target, reference.inputs());
    if (!reference.expect_agrees(right, m)) return;
    std::string without = text;
    for (size_t at; (at = without.find(all)) != std::string::npos;) without.erase(at, all.size());
    if (without != text && without.find(earlier) == std::string::npos) {
      EXPECT_NE(run(without, m, target, reference.inputs()), right);
      waits.insert("all");
    }
    std::string later = text;
    for (size_t at = later.find(earlier); at != std::string::npos; at = later.find(earlier, at + 1))
      ++later[at + earlier.size()];
    if (later == text) continue;
    EXPECT_NE(run(later, m, target, reference.inputs()), right);
    waits.insert("earlier");
  }
  EXPECT_EQ(waits, (std::set<std::string>{"all", "earlier"}));
}

// Four products of bytes are one instruction from sm_61 on, and the same sum before.
TEST(PtxDots, AreOneInstructionWhereThereIsOne) {
  const Module m = gpu_dot_module();
  const std::vector<std::vector<char>> inputs = gpu_dot_inputs();
  const std::vector<char> right = interpreted(m.kernels[0], m, inputs);
  for (const auto& [arch, is_one] : {std::pair("sm_53", false), {"sm_61", true}, {"sm_90", true}}) {
    SCOPED_TRACE(arch);
    const Target target = Target::parse(std::string("cuda -arch=") + arch);
    EXPECT_EQ(emit_ptx(m, target).text.find("dp4a.u32.s32 ") != std::string::npos, is_one);
    const std::string text = emit_ptx_llvm_text(m, target);
    if (kSanitizer) GTEST_SKIP() << kNoFibers;
    EXPECT_EQ(run(text, m, target, inputs), right);
  }
}

// Loaded values have 64 bits, so indices have too; their quotients round down for either sign; lanes of a masked vector
// are loaded and stored one by one.
TEST(PtxWideIndices, ComputeWhatTheInterpreterComputes) {
  const Buffer a = buffer("A", 64, BufferScope::kParam, i64), c = buffer("C", 64, BufferScope::kParam, i64),
               s = buffer("S", 16, BufferScope::kShared, i64);
  const Var b("b"), t("t"), u("u"), v("v");
  const Expr mine = load(a, {Expr(b) * 16 + t}) - make_int(500);
  const Stmt first = loop(
      t, 16, LoopKind::kThread,
      make_store(s, {make_int(15) - t},
                 floor_div(mine, make_int(7)) * 1000 + floor_mod(mine, make_int(9)) + floor_mod(mine, make_int(8))));
  const Expr column = Expr(u) * 4 + v;
  const Stmt second = loop(u, 4, LoopKind::kThread,
                           loop(v, 4, LoopKind::kVectorize,
                                make_if(lt(column + Expr(b), make_int(13)),
                                        make_store(c, {Expr(b) * 16 + column},
                                                   select(lt(column, make_int(9)), load(s, {column}), column)))));
  const Function f = function_of({a, c}, loop(b, 4, LoopKind::kBlock, make_allocate(s, -1, make_seq({first, second}))));
  Module m;
  m.kernels = {f};
  m.params = {{"A", ParamRole::kInput, i64, {64}, Layout::identity({64})},
              {"C", ParamRole::kOutput, i64, {64}, Layout::identity({64})}};
  const Target target = Target::parse("cuda -arch=sm_53");
  ASSERT_FALSE(index_fits_i32(gpu_program(f).kernels[0]));
  std::vector<char> in(64 * sizeof(int64_t));
  for (int64_t i = 0; i < 64; ++i) reinterpret_cast<int64_t*>(in.data())[i] = i * i * 7 - 3 * i;
  const std::string text = emit_ptx_llvm_text(m, target);
  if (kSanitizer) GTEST_SKIP() << kNoFibers;
  EXPECT_EQ(run(text, m, target, {in}), interpreted(f, m, {in}));
}

// More shared memory than a kernel may declare lies where the launch asked for it.
TEST(PtxDynamicMemory, HoldsTheBlocksBuffersOneAfterTheOther) {
  const Workload w = parse_workload("dense(m=128,n=128,k=192,dtype=f16)");
  std::mt19937_64 rng(19);
  const ReferenceRun reference(w, rng);
  const Target target = Target::parse("cuda -arch=sm_90 -shared=227K");
  const Space space = make_space(w, target);
  for (int tries = 0; tries < 2000; ++tries) {
    const auto config = space.sample(rng);
    ASSERT_TRUE(config);
    const Module m = lower_config(w, target, space, *config);
    if (gpu_program(m.kernels[0]).kernels[0].shared_bytes() <= 48 << 10) continue;
    SCOPED_TRACE(space.print(*config));
    const GpuSource ptx = emit_ptx(m, target);
    EXPECT_GT(ptx.launches[0].shape.dynamic_shared_bytes, 48 << 10);
    EXPECT_NE(ptx.text.find(".extern .shared .align 16 .b8 block_memory[]"), std::string::npos);
    const std::string text = emit_ptx_llvm_text(m, target);
    if (kSanitizer) GTEST_SKIP() << kNoFibers;
    reference.expect_agrees(run(text, m, target, reference.inputs()), m);
    return;
  }
  FAIL() << "no config needs more than 48 KiB";
}

// The harness sees the purpose of barriers: without any one of them, threads read values that others have not written
// yet or have written over.
TEST(PtxBarriers, AreEachNeeded) {
  const Workload w = parse_workload("dense(m=20,n=24,k=48)");
  std::mt19937_64 rng(17);
  const ReferenceRun reference(w, rng);
  const Target target = Target::parse("cuda -arch=sm_53");
  const Space space = make_space(w, target);
  const Module m = lower_config(w, target, space, space.default_config());
  const std::string text = emit_ptx_llvm_text(m, target), barrier = "call void @llvm.nvvm.barrier0()";
  if (kSanitizer) GTEST_SKIP() << kNoFibers;
  int barriers = 0;
  for (size_t at = text.find(barrier); at != std::string::npos; at = text.find(barrier, at + 1), ++barriers) {
    std::string without = text;
    without.replace(at, barrier.size(), "");
    const std::vector<char> right = run(text, m, target, reference.inputs()),
                            wrong = run(without, m, target, reference.inputs());
    EXPECT_NE(right, wrong) << "barrier " << barriers;
  }
  EXPECT_EQ(barriers, 2);
}

INSTANTIATE_TEST_SUITE_P(Shapes, PtxProducts,
                         testing::Combine(testing::Values("sm_75", "sm_80"), testing::ValuesIn(kTensorCoreWorkloads)),
                         [](const auto& info) {
                           return std::get<0>(info.param) + ("_" + name_of_workload(std::get<1>(info.param)));
                         });
INSTANTIATE_TEST_SUITE_P(Shapes, PtxRuns, testing::ValuesIn(kGpuWorkloads),
                         [](const auto& info) { return name_of_workload(info.param); });

}  // namespace
}  // namespace hone
