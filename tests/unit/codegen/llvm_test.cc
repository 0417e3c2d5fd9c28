// Compiled modules: the artifact's ABI, their assembly, and this machine's description.
#include <gmock/gmock.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

#include "base/check.h"
#include "base/narrow_floats.h"
#include "compiler/codegen/llvm/compile.h"
#include "compiler/codegen/llvm/machine/host_target.h"
#include "compiler/ir/interp.h"
#include "compiler/ir/printer.h"
#include "compiler/runtime/artifact.h"
#include "compiler/runtime/thread_pool.h"
#include "tests/fakes/assembly.h"
#include "tests/fakes/sample_modules.h"
#include "tests/unit/codegen/programs.h"

namespace hone {
namespace {

using testing::HasSubstr;

void expect_product(const std::vector<HostTensor>& t, int64_t m, int64_t n, int64_t k) {
  const float *a = t[0].as<float>(), *b = t[1].as<float>(), *c = t[2].as<float>();
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (int64_t x = 0; x < k; ++x) sum += static_cast<double>(a[i * k + x]) * b[x * n + j];
      ASSERT_NEAR(c[i * n + j], sum, 1e-4) << i << "," << j;
    }
}

// out[i] = in[i + shift], i < n; in has `size` elements.
Function shifted_copy(int64_t n, int64_t size, const Expr& shift, LoopKind kind, const void** load_node) {
  const Buffer in = make_buffer("in", f32, std::vector<int64_t>{size}),
               out = make_buffer("out", f32, std::vector<int64_t>{n});
  const Var i("i");
  const Expr access = load(in, {Expr(i) + shift});
  *load_node = access.get();
  Function f;
  f.name = "copy";
  f.params = {in, out};
  f.body = make_for(i, make_int(0), make_int(n), kind, make_store(out, {Expr(i)}, access));
  return f;
}

// How often the floating-point mode is set, by the text of the assembly.
size_t mode_changes(const Target& target, Denormals denormals, const std::string& instruction) {
  const std::string text =
      emit_asm_text(module_of(tiled_matmul(16, 64, 48, 8, 32, 2)), target, {.denormals = denormals});
  size_t count = 0;
  for (size_t at = text.find(instruction); at != std::string::npos; at = text.find(instruction, at + 1)) ++count;
  return count;
}

TEST(Llvm, AnEntryAndItsChunksSetTheModeOfDenormals) {
  const Target arm = Target::parse("llvm -mtriple=aarch64-linux -mcpu=cortex-a76 -threads=2"),
               x86 = Target::parse("llvm -mtriple=x86_64-linux -mcpu=x86-64-v3 -threads=2");
  for (const auto& [target, write] : {std::pair(arm, "msr\tFPCR"), std::pair(x86, "ldmxcsr")}) {
    EXPECT_EQ(mode_changes(target, Denormals::kZero, write), 4u) << "there and back, in the entry and in chunks";
    EXPECT_EQ(mode_changes(target, Denormals::kKeep, write), 0u);
  }
}

TEST(Llvm, ComputesATiledProduct) {
  const Function f = tiled_matmul(16, 64, 48, 8, 32, 2);
  const CompiledModule compiled(module_of(f));
  const std::vector<HostTensor> t = tensors_of(f);
  ASSERT_EQ(compiled.run(t), HONE_OK);
  expect_product(t, 16, 64, 48);
}

TEST(Llvm, RunsParallelLoopsOnThePoolAndWithoutOne) {
  const Function f = tiled_matmul(24, 64, 48, 4, 32, 1, /*parallel=*/true);
  const CompiledModule compiled(module_of(f, 0, 2));
  ThreadPool pool({.workers = 2});
  for (const HoneRuntime* rt : {static_cast<const HoneRuntime*>(nullptr), pool.runtime()}) {
    const std::vector<HostTensor> t = tensors_of(f);
    ASSERT_EQ(compiled.run(t, nullptr, rt), HONE_OK);
    expect_product(t, 24, 64, 48);
  }
}

// A runtime that runs everything at once and keeps the numbers that it was given.
struct Asked {
  HoneRuntime runtime = {HONE_RUNTIME_ABI, 4, this, &Asked::parallel_for};
  int64_t iterations = 0, grain = -1;
  static int32_t parallel_for(void* self, HoneChunk body, void* closure, int64_t iterations, int32_t, int64_t grain) {
    static_cast<Asked*>(self)->iterations = iterations;
    static_cast<Asked*>(self)->grain = grain;
    return body(0, iterations, 0, closure);
  }
};

TEST(Llvm, AsksForThePartitionThatTheModuleNames) {
  const Function f = tiled_matmul(160, 32, 8, 2, 32, 1, /*parallel=*/true);  // 80 iterations
  Module m = module_of(f, 0, 2);
  for (const auto& [partition, grain] :
       {std::pair<Partition, int64_t>{Partition::kStatic, 0}, {Partition::kDynamic, 3}}) {
    m.partition = partition;
    const CompiledModule compiled(m);
    Asked asked;
    std::vector<HostTensor> t = tensors_of(f);
    ASSERT_EQ(compiled.run(t, nullptr, &asked.runtime), HONE_OK);
    EXPECT_EQ(asked.iterations, 80);
    EXPECT_EQ(asked.grain, grain) << "80 iterations, 2 workers, 16 claims each";
    expect_product(t, 160, 32, 8);
    ThreadPool pool({.workers = 2});
    t = tensors_of(f);
    ASSERT_EQ(compiled.run(t, nullptr, pool.runtime()), HONE_OK);
    expect_product(t, 160, 32, 8);
  }
}

struct KernelCase {
  const char* target;
  int64_t rows, columns, unroll;
  const char* fma;    // the multiply-add of accumulators
  int fmas;           // in the innermost loop
  const char* store;  // a vector stored, or one on the stack
};

class Accumulators : public testing::TestWithParam<KernelCase> {};

TEST_P(Accumulators, StayInRegistersInTheReductionLoop) {
  const KernelCase& c = GetParam();
  const std::string assembly = emit_asm_text(
      module_of(tiled_matmul(c.rows * 2, c.columns * 2, 96, c.rows, c.columns, c.unroll)), Target::parse(c.target));
  int found = 0;
  for (const auto& loop : innermost_loops(assembly)) {
    const int fmas = count_matching(loop, c.fma);
    if (fmas == 0) continue;
    ++found;
    EXPECT_EQ(fmas, c.fmas);
    EXPECT_EQ(count_matching(loop, c.store), 0) << testing::PrintToString(loop);
    // Loads, broadcasts, multiply-adds; a pointer or two move on, a counter is compared.
    EXPECT_LE(static_cast<int>(loop.size()) - fmas - count_matching(loop, R"(\(%|\[x)"), 6)
        << testing::PrintToString(loop);
  }
  EXPECT_EQ(found, 1) << assembly;
}

INSTANTIATE_TEST_SUITE_P(
    Machines, Accumulators,
    testing::Values(
        KernelCase{"llvm -mtriple=x86_64-linux -mcpu=znver5", 14, 32, 1, R"(vfmadd\d+ps\s.*zmm)", 28, kX86Store},
        KernelCase{"llvm -mtriple=x86_64-linux -mcpu=znver4", 8, 32, 3, R"(vfmadd\d+ps\s.*zmm)", 48, kX86Store},
        KernelCase{"llvm -mtriple=x86_64-linux -mcpu=skylake-avx512", 28, 16, 1, R"(vfmadd\d+ps\s.*zmm)", 28,
                   kX86Store},
        KernelCase{"llvm -mtriple=x86_64-linux -mcpu=haswell", 6, 16, 2, R"(vfmadd\d+ps\s.*ymm)", 24, kX86Store},
        KernelCase{"llvm -mtriple=aarch64-linux -mcpu=neoverse-n1", 6, 16, 1, R"(fmla\s+v)", 24, kArmStore},
        KernelCase{"llvm -mtriple=aarch64-linux -mcpu=cortex-a72", 4, 16, 1, R"(fmla\s+v)", 16, kArmStore}));

// Index arithmetic leaves loops and branches: it must neither trap there nor be found where it was not computed.
TEST(Llvm, MovesIndexArithmeticOutwardsOnlyWhereThatIsSafe) {
  const Buffer a = make_buffer("A", f32, {64}), n = make_buffer("N", i64, {8}), c = make_buffer("C", f32, {8 * 40});
  const Var i("i"), j("j"), k("k");
  const Expr below = floor_div(Expr(i) - 5, 3) + 4, rest = floor_mod(Expr(i) * 5 - 11, 4),
             by_element = floor_div(Expr(k) + 40, load(n, {Expr(i)}));
  const auto at = [&](const Expr& e) { return Expr(i) * 40 + e; };
  const Stmt branches = make_if(lt(rest, 2), make_store(c, {at(rest)}, load(a, {below})),
                                make_if(lt(make_int(2), rest), make_store(c, {at(rest + 4)}, load(a, {below + rest}))));
  // As many passes as N says, none for some; the divisor is 0 for others, which never get to the division.
  const Stmt some = make_for(j, rest, load(n, {Expr(i)}) - 1, LoopKind::kSerial,
                             make_store(c, {at(Expr(j) * 3 + 8)}, load(a, {Expr(j) * 5 + below})));
  const Stmt guarded =
      make_for(k, make_int(0), make_int(2), LoopKind::kSerial,
               make_if(lt(make_int(0), load(n, {Expr(i)})), make_store(c, {at(Expr(k) + 36)}, load(a, {by_element}))));
  const Stmt again = make_store(c, {at(make_int(38))}, load(a, {below * 2 + rest}));
  const Stmt masked = make_store(c, {at(make_int(39))}, load(a, {floor_mod(Expr(i), 7) * 2}), lt(Expr(i), 5));
  Function f;
  f.name = "arithmetic";
  f.params = {a, n, c};
  f.body = make_for(i, make_int(0), make_int(8), LoopKind::kSerial,
                    make_seq({branches, some, guarded, masked, again,
                              make_store(c, {at(make_int(35))}, load(a, {floor_mod(Expr(i), 7) * 3}))}));
  const std::vector<HostTensor> want = tensors_of(f), got = tensors_of(f);
  for (const std::vector<HostTensor>* tensors : {&want, &got})
    for (int64_t x = 0; x < 8; ++x) (*tensors)[1].as<int64_t>()[x] = x % 4 == 3 ? 0 : x % 4 + 1;
  std::vector<InterpArg> args;
  for (const HostTensor& t : want) args.push_back({t.data(), t.size()});
  interpret(f, args);
  ASSERT_EQ(CompiledModule(module_of(f)).run(got), HONE_OK);
  for (int64_t x = 0; x < want[2].size(); ++x) EXPECT_EQ(got[2].as<float>()[x], want[2].as<float>()[x]) << x;
}

TEST(Llvm, KeepsToThePreferredVectorWidth) {
  Module m = module_of(tiled_matmul(8, 64, 32, 4, 16, 1));
  m.vector_bits = 256;
  const Target t = Target::parse("llvm -mtriple=x86_64-linux -mcpu=znver5");
  EXPECT_THAT(emit_asm_text(m, t), testing::Not(HasSubstr("zmm")));
  m.vector_bits = 0;
  EXPECT_THAT(emit_asm_text(m, t), HasSubstr("zmm"));
}

TEST(Llvm, PrefetchesAreInstructions) {
  const Module m = prefetch_module();
  EXPECT_THAT(emit_asm_text(m, Target::parse("llvm -mtriple=x86_64-linux -mcpu=haswell")), HasSubstr("prefetcht0"));
  EXPECT_THAT(emit_asm_text(m, Target::parse("llvm -mtriple=aarch64-linux -mcpu=neoverse-n1")),
              HasSubstr("prfm\tpldl1keep"));
}

// The same results with the processor's instruction and without.
TEST(Llvm, DotProductsAgreeWithTheInterpreter) {
  const Module m = dot_module(3, 24);
  const std::vector<HostTensor> t = tensors_of(m.kernels[0]);
  for (int i = 0; i < 72; ++i) t[0].as<uint8_t>()[i] = static_cast<uint8_t>(i * 37 + 200);
  for (int i = 0; i < 384; ++i) t[1].as<int8_t>()[i] = static_cast<int8_t>(i * 91 - 128);
  std::vector<int32_t> expected(3 * 16);
  interpret(m, {{t[0].as<void>(), 72}, {t[1].as<void>(), 384}, {expected.data(), 48}});
  Target plain = host_target(1);
  if (plain.arch == "x86_64") plain.mattr += std::string(plain.mattr.empty() ? "" : ",") + "-avx512vnni,-avxvnni";
  for (const Target& target : {host_target(1), plain}) {
    const CompiledModule compiled(m, {}, target);
    std::fill_n(t[2].as<int32_t>(), 48, -7);
    ASSERT_EQ(compiled.run(t), HONE_OK);
    EXPECT_EQ(std::vector<int32_t>(t[2].as<int32_t>(), t[2].as<int32_t>() + 48), expected) << to_string(target);
  }
}

// Rows 0 and 3 lie in the border: bytes of 9. Once with vectors, and once with one sum at a time.
TEST(Llvm, DotProductsOfABorderAgreeWithTheInterpreter) {
  for (const LoopKind kind : {LoopKind::kVectorize, LoopKind::kSerial}) {
    const Buffer a = make_buffer("A", u8, {8}), b = make_buffer("B", i8, {32}), c = make_buffer("C", i32, {32});
    const Var i("i"), j("j");
    const Expr inside = logical_and(ge(Expr(i), int64_t{1}), lt(Expr(i), int64_t{3}));
    std::vector<Expr> args;
    for (int t = 0; t < 4; ++t) args.push_back(select(inside, load(a, {(Expr(i) - 1) * 4 + t}), make_const(9, u8)));
    for (int t = 0; t < 4; ++t) args.push_back(load(b, {Expr(j) * 4 + t}));
    const Stmt store = make_store(c, {Expr(i) * 8 + j}, call(Intrinsic::kDot4, args));
    Function f;
    f.name = "f", f.params = {a, b, c};
    f.body =
        make_for(i, make_int(0), make_int(4), LoopKind::kSerial, make_for(j, make_int(0), make_int(8), kind, store));
    const std::vector<HostTensor> t = tensors_of(f, 5), wanted = tensors_of(f, 5);
    interpret(f, {{wanted[0].data(), 8}, {wanted[1].data(), 32}, {wanted[2].data(), 32}});
    ASSERT_EQ(CompiledModule(module_of(f)).run(t), HONE_OK);
    EXPECT_EQ(std::memcmp(t[2].data(), wanted[2].data(), 32 * sizeof(int32_t)), 0);
  }
}

TEST(Llvm, DotProductsAreOneInstructionWhereThereIsOne) {
  const Module m = dot_module(4, 64);
  const std::string znver4 = emit_asm_text(m, Target::parse("llvm -mtriple=x86_64-linux -mcpu=znver4"));
  EXPECT_THAT(znver4, testing::ContainsRegex("vpdpbusd.*zmm"));
  // Four steps of sixteen columns: one broadcast word, one instruction with its operand from memory, and the
  // instructions of the loop itself.
  size_t shortest = 99;
  for (const auto& loop : innermost_loops(znver4)) shortest = std::min(shortest, loop.size());
  EXPECT_LE(shortest, 7u) << znver4;
  EXPECT_THAT(emit_asm_text(m, Target::parse("llvm -mtriple=x86_64-linux -mcpu=alderlake")),
              testing::ContainsRegex("vpdpbusd.*ymm"));
  for (const char* without :
       {"llvm -mtriple=x86_64-linux -mcpu=haswell", "llvm -mtriple=x86_64-linux -mcpu=znver4 -mattr=-avx512vnni"}) {
    const std::string text = emit_asm_text(m, Target::parse(without));
    EXPECT_THAT(text, testing::Not(HasSubstr("vpdpbusd"))) << without;
    EXPECT_THAT(text, HasSubstr("vpmaddwd")) << without;
  }
  const auto on_arm = [&](const std::string& cpu) {
    return emit_asm_text(m, Target::parse("llvm -mtriple=aarch64-linux -mcpu=" + cpu));
  };
  EXPECT_THAT(on_arm("neoverse-n1"), testing::ContainsRegex("sdot.*16b"));
  EXPECT_THAT(on_arm("neoverse-v1"), testing::ContainsRegex("usdot.*16b"));
  EXPECT_THAT(on_arm("neoverse-v1 -mattr=-i8mm"), testing::Not(HasSubstr("usdot")));
  EXPECT_THAT(on_arm("cortex-a72"), testing::Not(HasSubstr("dot\t")));
}

// Whole numbers, whose sums are exact in whatever order.
TEST(Llvm, DotProductsOfBf16AgreeWithTheInterpreter) {
  const Module m = dot_module(3, 10, Intrinsic::kDot2);
  const std::vector<HostTensor> t = tensors_of(m.kernels[0]);
  for (int i = 0; i < 30; ++i) t[0].as<uint16_t>()[i] = bf16_of_float(static_cast<float>(i * 37 % 64 - 32));
  for (int i = 0; i < 160; ++i) t[1].as<uint16_t>()[i] = bf16_of_float(static_cast<float>(i * 91 % 128 - 64));
  std::vector<float> expected(3 * 16);
  interpret(m, {{t[0].as<void>(), 30}, {t[1].as<void>(), 160}, {expected.data(), 48}});
  Target plain = host_target(1);
  if (plain.arch == "x86_64") plain.mattr += std::string(plain.mattr.empty() ? "" : ",") + "-avx512bf16";
  for (const Target& target : {host_target(1), plain}) {
    const CompiledModule compiled(m, {}, target);
    std::fill_n(t[2].as<float>(), 48, -7.0f);
    ASSERT_EQ(compiled.run(t), HONE_OK);
    EXPECT_EQ(std::vector<float>(t[2].as<float>(), t[2].as<float>() + 48), expected) << to_string(target);
  }
}

TEST(Llvm, DotProductsOfBf16AreOneInstructionWhereThereIsOne) {
  const Module m = dot_module(4, 64, Intrinsic::kDot2);
  const auto on = [&](const std::string& target) { return emit_asm_text(m, Target::parse("llvm -mtriple=" + target)); };
  const std::string znver4 = on("x86_64-linux -mcpu=znver4");
  EXPECT_THAT(znver4, testing::ContainsRegex("vdpbf16ps.*zmm"));
  size_t shortest = 99;
  for (const auto& loop : innermost_loops(znver4)) shortest = std::min(shortest, loop.size());
  EXPECT_LE(shortest, 7u) << znver4;
  EXPECT_THAT(on("x86_64-linux -mcpu=znver4 -mattr=-avx512bf16"), testing::Not(HasSubstr("vdpbf16ps")));
  EXPECT_THAT(on("x86_64-linux -mcpu=haswell"), HasSubstr("vfmadd"));
  EXPECT_THAT(on("aarch64-linux -mcpu=neoverse-v1"), HasSubstr("bfdot"));
  EXPECT_THAT(on("aarch64-linux -mcpu=neoverse-n1"), testing::Not(HasSubstr("bfdot")));
}

TEST(Llvm, TargetsKnowWhetherTheyHaveDotProductsOfBf16) {
  const Module m = dot_module(4, 64, Intrinsic::kDot2);
  for (const char* cpu : kNarrowFloatCpus) {
    const Target t = Target::parse(std::string("llvm -mtriple=") + cpu);
    const std::string text = emit_asm_text(m, t);
    const bool has = text.find("vdpbf16ps") != std::string::npos || text.find("bfdot") != std::string::npos;
    EXPECT_EQ(t.has(Feature::kDotBf16), has) << cpu;
  }
}

// Numbers of a word as bf16: a shift, and one operation for mask and exponent.
TEST(Llvm, NumbersOfAWordBecomeBf16WhereTheyLie) {
  const Buffer a = make_buffer("A", bf16, {8}), w = make_buffer("W", u32, {16}), c = make_buffer("C", f32, {16});
  const Var j("j");
  std::vector<Stmt> steps;
  for (int i = 0; i < 4; ++i) {
    const auto number = [&](int at) {
      return cast(bf16, floor_mod(floor_div(load(w, {j}), int64_t{1} << 4 * at), 16) + 16);
    };
    const Expr dot =
        call(Intrinsic::kDot2, {load(a, {make_int(2 * i)}), load(a, {make_int(2 * i + 1)}), number(i), number(i + 4)});
    steps.push_back(
        make_for(j, make_int(0), make_int(16), LoopKind::kVectorize, make_store(c, {j}, load(c, {j}) + dot)));
  }
  Function f;
  f.name = "f", f.params = {a, w, c}, f.body = make_seq(steps);
  std::vector<HostTensor> t = tensors_of(f, 3), wanted = tensors_of(f, 3);
  for (int i = 0; i < 16; ++i)
    t[1].as<uint32_t>()[i] = wanted[1].as<uint32_t>()[i] = 0x9E3779B9u * static_cast<uint32_t>(i + 1);
  interpret(f, {{wanted[0].data(), 8}, {wanted[1].data(), 16}, {wanted[2].data(), 16}});
  ASSERT_EQ(CompiledModule(module_of(f)).run(t), HONE_OK);
  for (int i = 0; i < 16; ++i) EXPECT_EQ(t[2].as<float>()[i], wanted[2].as<float>()[i]) << i;
  const std::string text = emit_asm_text(module_of(f), Target::parse("llvm -mtriple=x86_64-linux -mcpu=znver4"));
  EXPECT_THAT(text, HasSubstr("vpternlogd"));
  EXPECT_THAT(text, testing::ContainsRegex("vdpbf16ps.*zmm"));
  EXPECT_THAT(text, testing::Not(HasSubstr("vcvt")));
}

TEST(Llvm, SameModuleGivesTheSameObject) {
  const Module m = module_of(tiled_matmul(8, 64, 32, 4, 32, 1, true), 0, 2);
  EXPECT_EQ(emit_object(m, host_target(1)), emit_object(m, host_target(1)));
}

TEST(Llvm, RefusesBadArguments) {
  const Function f = tiled_matmul(4, 32, 8, 4, 32, 1);
  const CompiledModule compiled(module_of(f, /*workspace_bytes=*/64));
  const std::vector<HostTensor> t = tensors_of(f);
  const AlignedBuffer workspace(128);
  const auto call = [&](std::vector<const DLTensor*> args, void* ws, const HoneRuntime* rt) {
    return compiled.entry()(args.data(), static_cast<int32_t>(args.size()), ws, rt);
  };
  const DLTensor *a = t[0].view(), *b = t[1].view(), *c = t[2].view();
  EXPECT_EQ(call({a, b, c}, workspace.data(), nullptr), HONE_OK);
  EXPECT_EQ(call({a, b}, workspace.data(), nullptr), HONE_BAD_ARGUMENTS);
  EXPECT_EQ(call({a, nullptr, c}, workspace.data(), nullptr), HONE_BAD_ARGUMENTS);
  EXPECT_EQ(call({a, b, c}, nullptr, nullptr), HONE_BAD_ARGUMENTS);
  EXPECT_EQ(call({a, b, c}, workspace.as<char>() + 4, nullptr), HONE_BAD_ARGUMENTS);
  DLTensor other = *b;
  other.data = nullptr;
  EXPECT_EQ(call({a, &other, c}, workspace.data(), nullptr), HONE_BAD_ARGUMENTS);
  other = *b;
  other.dtype.bits = 64;
  EXPECT_EQ(call({a, &other, c}, workspace.data(), nullptr), HONE_BAD_ARGUMENTS);
  other = *b;
  other.byte_offset = 4;
  EXPECT_EQ(call({a, &other, c}, workspace.data(), nullptr), HONE_BAD_ARGUMENTS);
  HoneRuntime wrong = {HONE_RUNTIME_ABI + 1, 1, nullptr, nullptr};
  EXPECT_EQ(call({a, b, c}, workspace.data(), &wrong), HONE_BAD_ARGUMENTS);
  wrong.abi_version = HONE_RUNTIME_ABI_OLDEST - 1;
  EXPECT_EQ(call({a, b, c}, workspace.data(), &wrong), HONE_BAD_ARGUMENTS);
  HoneRuntime older = {HONE_RUNTIME_ABI_OLDEST, 1, nullptr, nullptr};
  EXPECT_EQ(call({a, b, c}, workspace.data(), &older), HONE_OK);
}

TEST(Llvm, CheckedAccessesReturnTheFault) {
  for (LoopKind kind : {LoopKind::kSerial, LoopKind::kVectorize, LoopKind::kParallel, LoopKind::kUnroll})
    for (int64_t shift : {-1, 0, 5, 6}) {  // 0 and 5 stay inside the 45 elements
      const void* node = nullptr;
      const Function f = shifted_copy(40, 45, make_int(shift), kind, &node);
      CodegenOptions options;
      options.checked_accesses = {node};
      const CompiledModule compiled(module_of(f, 0, 2), options);
      ThreadPool pool({.workers = 2});
      const std::vector<HostTensor> t = tensors_of(f);
      const bool inside = shift == 0 || shift == 5;
      EXPECT_EQ(compiled.run(t, nullptr, pool.runtime()), inside ? HONE_OK : HONE_FAULT)
          << name_of(kind) << " " << shift;
      if (!inside) continue;
      for (int64_t i = 0; i < 40; ++i) EXPECT_EQ(t[1].as<float>()[i], t[0].as<float>()[i + shift]);
    }
}

TEST(Llvm, ChecksStackBuffersInsideParallelLoops) {
  // parallel for i in 0..4: { row[..] stack; for j in 0..8: row[j] = i; out[i] = row[index[i]] }
  const Buffer index = make_buffer("index", i64, std::vector<int64_t>{4}),
               out = make_buffer("out", i32, std::vector<int64_t>{4});
  const Buffer row = make_buffer("row", i32, std::vector<int64_t>{8}, BufferScope::kStack);
  const Var i("i"), j("j");
  const Expr checked = load(row, {load(index, {Expr(i)})});
  const Stmt fill =
      make_for(j, make_int(0), make_int(8), LoopKind::kSerial, make_store(row, {Expr(j)}, cast(i32, Expr(i))));
  Function f;
  f.name = "rows";
  f.params = {index, out};
  f.body = make_for(i, make_int(0), make_int(4), LoopKind::kParallel,
                    make_allocate(row, -1, make_seq({fill, make_store(out, {Expr(i)}, checked)})));
  CodegenOptions options;
  options.checked_accesses = {checked.get()};
  const CompiledModule compiled(module_of(f, 0, 2), options);
  ThreadPool pool({.workers = 2});
  const std::vector<HostTensor> t = tensors_of(f);
  for (int64_t x = 0; x < 4; ++x) t[0].as<int64_t>()[x] = 7 - x;
  ASSERT_EQ(compiled.run(t, nullptr, pool.runtime()), HONE_OK);
  for (int32_t x = 0; x < 4; ++x) EXPECT_EQ(t[1].as<int32_t>()[x], x);
  t[0].as<int64_t>()[3] = 8;
  EXPECT_EQ(compiled.run(t, nullptr, pool.runtime()), HONE_FAULT);
}

TEST(Llvm, TailsNearTheEndsOfInt64AreNoTails) {
  // for j in 0..3: for i in 0..16 vectorize: if (i + j < LIMIT) out[i] = 1, for limits that leave nothing or everything
  for (const int64_t limit : {INT64_MIN, INT64_MIN + 1, INT64_MAX - 1, INT64_MAX}) {
    const Buffer out = make_buffer("out", i32, std::vector<int64_t>{16});
    const Var i("i"), j("j");
    const Stmt store = make_store(out, {Expr(i)}, make_int(1, i32));
    for (const Expr& inside : {lt(Expr(i) + Expr(j), limit), le(Expr(i) + Expr(j), make_int(limit))}) {
      Function f;
      f.name = "tail";
      f.params = {out};
      f.body = make_for(j, make_int(0), make_int(3), LoopKind::kSerial,
                        make_for(i, make_int(0), make_int(16), LoopKind::kVectorize, make_if(inside, store)));
      const CompiledModule compiled(module_of(f));
      const std::vector<HostTensor> t = tensors_of(f);
      for (int64_t x = 0; x < 16; ++x) t[0].as<int32_t>()[x] = 0;
      ASSERT_EQ(compiled.run(t), HONE_OK);
      for (int64_t x = 0; x < 16; ++x) EXPECT_EQ(t[0].as<int32_t>()[x], limit > 0 ? 1 : 0) << limit;
    }
  }
}

TEST(Llvm, ChecksOnlyTheLanesThatAreWanted) {
  // for i in 0..16 vectorize: if (i < 10) out[index[i]] = in[i], with a checked scatter: only its masked-off lanes are
  // out of bounds
  const Buffer in = make_buffer("in", f32, std::vector<int64_t>{16}),
               index = make_buffer("index", i64, std::vector<int64_t>{16}),
               out = make_buffer("out", f32, std::vector<int64_t>{10});
  const Var i("i");
  const Stmt store = make_store(out, {Expr(i)}, load(in, {load(index, {Expr(i)})}));
  Function f;
  f.name = "gather";
  f.params = {in, index, out};
  f.body = make_for(i, make_int(0), make_int(16), LoopKind::kVectorize, make_if(lt(Expr(i), 10), store));
  CodegenOptions options;
  options.checked_accesses = {store.get(), as<Store>(store)->value.get()};
  const CompiledModule compiled(module_of(f), options);
  const std::vector<HostTensor> t = tensors_of(f);
  for (int64_t x = 0; x < 16; ++x) t[1].as<int64_t>()[x] = x < 10 ? 15 - x : 1'000'000'000'000;
  ASSERT_EQ(compiled.run(t), HONE_OK);
  for (int64_t x = 0; x < 10; ++x) EXPECT_EQ(t[2].as<float>()[x], t[0].as<float>()[15 - x]);
  t[1].as<int64_t>()[9] = 16;
  EXPECT_EQ(compiled.run(t), HONE_FAULT);
  t[1].as<int64_t>()[9] = -1;
  EXPECT_EQ(compiled.run(t), HONE_FAULT);
}

TEST(Llvm, ExportsPrepacks) {
  const void* node = nullptr;
  Module m = module_of(tiled_matmul(4, 32, 8, 4, 32, 1));
  m.prepacks.push_back({1, shifted_copy(8, 16, make_int(3), LoopKind::kVectorize, &node)});
  CodegenOptions options;
  options.name = "dense";
  const CompiledModule compiled(m, options);
  EXPECT_EQ(compiled.artifact().prepack(1), nullptr);
  ASSERT_NE(compiled.artifact().prepack(0), nullptr);
  const std::vector<HostTensor> t = tensors_of(m.prepacks[0].function);
  const DLTensor* args[] = {t[0].view(), t[1].view()};
  ASSERT_EQ(compiled.artifact().prepack(0)(args, 2, nullptr, nullptr), HONE_OK);
  for (int64_t i = 0; i < 8; ++i) EXPECT_EQ(t[1].as<float>()[i], t[0].as<float>()[i + 3]);
}

TEST(Llvm, IsCalledFromPlainC) {
  const Function f = tiled_matmul(8, 32, 16, 4, 32, 1, true);
  const CompiledModule compiled(module_of(f, 0, 2));
  const std::string base = compiled.path().substr(0, compiled.path().rfind('/')), program = base + "/main",
                    source = std::string(HONE_SOURCE_DIR) + "/tests/unit/codegen/plain_c_main.c";
  const std::string build = "cc -std=c11 -Wall -Wextra -Werror -I" HONE_SOURCE_DIR "/compiler/runtime/include " +
                            source + " -o " + program + " -ldl";
  ASSERT_EQ(std::system(build.c_str()), 0);
  EXPECT_EQ(std::system((program + " " + compiled.path()).c_str()), 0);
  std::remove(program.c_str());
}

std::string error_of(const Module& m, const Target& t) {
  try {
    emit_object(m, t);
  } catch (const UserError& e) {
    return e.what();
  }
  return "no error";
}

TEST(Llvm, SaysWhichTargetsItCannotServe) {
  const Module m = module_of(tiled_matmul(4, 32, 8, 4, 32, 1));
  EXPECT_THAT(error_of(m, Target()), HasSubstr("names no -mcpu"));
  EXPECT_THAT(error_of(m, Target::parse("llvm -mtriple=x86_64-linux -mcpu=zen99")),
              HasSubstr("LLVM does not know -mcpu=zen99"));
  EXPECT_THAT(error_of(m, Target::parse("llvm -mtriple=x86_64-linux -mcpu=znver4 -mattr=-avx512f,+warp")),
              HasSubstr("LLVM does not know feature '+warp'"));
  Target gpu = host_target(1);
  gpu.kind = "cuda";
  EXPECT_THAT(error_of(m, gpu), HasSubstr("target kind 'cuda'"));
  Module dynamic = m;
  dynamic.kernels[0].shape_vars.push_back(Var("n"));
  EXPECT_THAT(error_of(dynamic, host_target(1)), HasSubstr("shape variables are not supported yet"));
}

TEST(HostTarget, IsCompleteAndRoundTrips) {
  const Target t = host_target(2);
  EXPECT_TRUE(t.is_complete());
  EXPECT_EQ(t.threads, 2);
  EXPECT_EQ(Target::parse(to_string(t)), t);
}

TEST(CodegenVersion, NamesLlvm) { EXPECT_THAT(codegen_version(), HasSubstr("llvm-19.1")); }

// A loop that leaves int64 goes on below, as often as its extent says: serial, in parallel, its end known or not.
TEST(Llvm, LoopsWrapAroundAsTheInterpretersDo) {
  const Buffer x = make_buffer("X", i64, {1}), out = make_buffer("out", i64, {16});
  const Var v("v");
  ThreadPool pool({.workers = 2});
  for (LoopKind kind : {LoopKind::kSerial, LoopKind::kParallel})
    for (const Expr& begin : {make_int(INT64_MAX - 3), load(x, {make_int(0)})})
      for (const Expr& count : {make_int(9), load(x, {make_int(0)}) - make_int(INT64_MAX - 12)}) {  // 9, once loaded
        Function f;
        f.name = "f";
        f.params = {x, out};
        f.body = make_for(v, begin, count, kind, make_store(out, {floor_mod(Expr(v), 16)}, Expr(v)));
        const CompiledModule compiled(module_of(f, 0, 2));
        for (const HoneRuntime* rt : {static_cast<const HoneRuntime*>(nullptr), pool.runtime()}) {
          std::vector<HostTensor> got = tensors_of(f), want = tensors_of(f);
          for (auto* tensors : {&got, &want}) *static_cast<int64_t*>((*tensors)[0].data()) = INT64_MAX - 3;
          interpret(f, {{want[0].data(), 1}, {want[1].data(), 16}});
          ASSERT_EQ(compiled.run(got, nullptr, rt), HONE_OK);
          EXPECT_EQ(std::memcmp(got[1].data(), want[1].data(), 128), 0) << to_string(f);
        }
      }
}

}  // namespace
}  // namespace hone
