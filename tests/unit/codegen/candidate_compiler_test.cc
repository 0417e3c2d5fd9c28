// Candidates compiled one after another: which parts they share, and that they compute the same.
#include "compiler/codegen/llvm/candidate_compiler.h"

#include <gmock/gmock.h>

#include <cstring>

#include "compiler/codegen/llvm/machine/host_target.h"
#include "compiler/runtime/thread_pool.h"
#include "tests/unit/codegen/programs.h"
#include "tests/unit/codegen/random_program.h"

namespace hone {
namespace {

// for i in 0..64 parallel: C[i] = A[i] * factor    and, where `second` is not 0, a loop that adds `second` to C.
Function scaled(double factor, double second = 0, int64_t extent = 64) {
  const Buffer a = make_buffer("A", f32, std::vector<int64_t>{64}), c = make_buffer("C", f32, std::vector<int64_t>{64});
  const Var i("i"), j("j");
  std::vector<Stmt> loops{make_for(i, make_int(0), make_int(extent), LoopKind::kParallel,
                                   make_store(c, {i}, load(a, {i}) * make_float(factor)))};
  if (second != 0)
    loops.push_back(make_for(j, make_int(0), make_int(extent), LoopKind::kParallel,
                             make_store(c, {j}, load(c, {j}) + make_float(second))));
  Function f;
  f.name = "scaled";
  f.params = {a, c};
  f.body = make_seq(std::move(loops));
  return f;
}

// The same, with a prepack of its parameter A: element by element times `factor`.
Module with_prepack(const Function& kernel, double factor) {
  Module m = module_of(kernel, 0, 2);
  Prepack p;
  const Buffer from = make_buffer("from", f32, std::vector<int64_t>{64}),
               to = make_buffer("to", f32, std::vector<int64_t>{64});
  const Var i("i");
  p.function.name = "pack";
  p.function.params = {from, to};
  p.function.body = make_for(i, make_int(0), make_int(64), LoopKind::kSerial,
                             make_store(to, {i}, load(from, {i}) * make_float(factor)));
  m.prepacks.push_back(p);
  return m;
}

std::vector<float> result_of(CandidateCompiler& compiler, const Function& f, const HoneRuntime* rt = nullptr) {
  const CompiledModule compiled(compiler.compile(module_of(f, 0, 2), host_target(2)));
  const std::vector<HostTensor> t = tensors_of(f);
  EXPECT_EQ(compiled.run(t, nullptr, rt), HONE_OK);
  return {t.back().as<float>(), t.back().as<float>() + t.back().size()};
}

TEST(CandidateCompiler, ReusesALoopThatItKnows) {
  CandidateCompiler compiler;
  const std::vector<float> first = result_of(compiler, scaled(2, 1));
  EXPECT_EQ(compiler.counts().compiled, 2);
  EXPECT_EQ(compiler.counts().reused, 0);
  EXPECT_EQ(result_of(compiler, scaled(2, 1)), first);
  EXPECT_EQ(compiler.counts().compiled, 2);
  EXPECT_EQ(compiler.counts().reused, 2);
  // In another kernel, beside another loop.
  const std::vector<float> other = result_of(compiler, scaled(2, 3));
  EXPECT_EQ(compiler.counts().compiled, 3);
  for (size_t i = 0; i < other.size(); ++i) EXPECT_EQ(other[i], first[i] + 2) << i;
}

TEST(CandidateCompiler, OneConstantMakesAnotherFunction) {
  CandidateCompiler compiler;
  const std::vector<float> two = result_of(compiler, scaled(2)), three = result_of(compiler, scaled(3));
  EXPECT_EQ(compiler.counts().compiled, 2);
  EXPECT_EQ(compiler.counts().reused, 0);
  for (size_t i = 0; i < two.size(); ++i) EXPECT_EQ(three[i] * 2, two[i] * 3) << i;
}

TEST(CandidateCompiler, EverythingThatDecidesTheCodeIsInTheKey) {
  CandidateCompiler compiler;
  const Module m = module_of(scaled(2), 0, 2);
  (void)compiler.compile(m, host_target(2));
  int64_t compiled = 1;
  const auto expect_new = [&](const Module& other, const Target& target) {
    (void)compiler.compile(other, target);
    EXPECT_EQ(compiler.counts().compiled, ++compiled);
  };
  expect_new(m, Target::parse("llvm -mtriple=x86_64-linux -mcpu=haswell"));
  expect_new(m, Target::parse("llvm -mtriple=aarch64-linux -mcpu=cortex-a72"));
  Module narrow = m;
  narrow.vector_bits = 128;
  expect_new(narrow, Target::parse("llvm -mtriple=x86_64-linux -mcpu=haswell"));
  // How the iterations are divided is decided outside of the loop's body.
  Module dynamic = m;
  dynamic.partition = Partition::kDynamic;
  dynamic.workers = 3;
  (void)compiler.compile(dynamic, host_target(2));
  (void)compiler.compile(module_of(scaled(2, 0, 32), 0, 2), host_target(2));
  EXPECT_EQ(compiler.counts().compiled, compiled);
}

TEST(CandidateCompiler, SharesPrepacks) {
  CandidateCompiler compiler;
  for (const double factor : {2.0, 3.0, 2.0}) {
    const CompiledModule compiled(compiler.compile(with_prepack(scaled(5), factor), host_target(2)));
    const std::vector<HostTensor> t = tensors_of(scaled(5));
    const DLTensor* args[] = {t[0].view(), t[1].view()};
    ASSERT_EQ(compiled.artifact().prepack(0)(args, 2, nullptr, nullptr), HONE_OK);
    for (int64_t i = 0; i < 64; ++i)
      EXPECT_EQ(t[1].as<float>()[i], t[0].as<float>()[i] * static_cast<float>(factor)) << factor;
  }
  EXPECT_EQ(compiler.counts().compiled, 3);  // one loop, two prepacks
  EXPECT_EQ(compiler.counts().reused, 3);
}

TEST(CandidateCompiler, TwoEqualLoopsOfAKernelAreOne) {
  CandidateCompiler compiler;
  const Buffer a = make_buffer("A", f32, std::vector<int64_t>{64}), c = make_buffer("C", f32, std::vector<int64_t>{64});
  const auto add_one = [&](const Var& i) {
    return make_for(i, make_int(0), make_int(64), LoopKind::kParallel,
                    make_store(c, {i}, load(c, {i}) + make_float(1)));
  };
  Function f;
  f.name = "twice";
  f.params = {a, c};
  f.body = make_seq({add_one(Var("i")), add_one(Var("j"))});
  const std::vector<HostTensor> before = tensors_of(f);
  const std::vector<float> after = result_of(compiler, f);
  EXPECT_EQ(compiler.counts().compiled, 1);
  for (size_t i = 0; i < after.size(); ++i) EXPECT_EQ(after[i], before.back().as<float>()[i] + 2) << i;
}

TEST(CandidateCompiler, ComputesWhatAWholeObjectDoes) {
  CandidateCompiler compiler;
  ThreadPool pool({.workers = 2});
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const Module m = random_program(seed);
    const CompiledModule whole(m), pieces(compiler.compile(m, host_target(1)));
    const AlignedBuffer workspace(m.workspace_bytes);
    for (const HoneRuntime* rt : {static_cast<const HoneRuntime*>(nullptr), pool.runtime()}) {
      const std::vector<HostTensor> x = tensors_of(m.kernels[0], seed), y = tensors_of(m.kernels[0], seed);
      ASSERT_EQ(whole.run(x, workspace.data(), rt), HONE_OK);
      ASSERT_EQ(pieces.run(y, workspace.data(), rt), HONE_OK);
      EXPECT_EQ(std::memcmp(x.back().data(), y.back().data(), static_cast<size_t>(x.back().bytes())), 0) << seed;
    }
  }
}

TEST(CandidateCompiler, ChecksStayWithTheirModule) {
  const Function f = scaled(2);
  const Load* access = as<Load>(as<Binary>(as<Store>(as<For>(f.body)->body)->value)->a);
  CandidateCompiler compiler;
  EXPECT_EQ(compiler.compile(module_of(f, 0, 2), host_target(2), {.checked_accesses = {access}}).size(), 1u);
  EXPECT_EQ(compiler.counts().compiled, 0);
}

TEST(ObjectCache, ForgetsWhatWasNotUsedForLongest) {
  ObjectCache cache(30);
  const auto object = std::make_shared<const std::string>("123456789");
  for (const char* key : {"a", "b", "c"}) cache.insert(key, object);
  EXPECT_EQ(cache.bytes(), 30u);
  EXPECT_TRUE(cache.find("a"));
  cache.insert("d", object);
  EXPECT_EQ(cache.bytes(), 30u);
  EXPECT_FALSE(cache.find("b"));
  for (const char* key : {"a", "c", "d"}) EXPECT_TRUE(cache.find(key)) << key;
  cache.insert("e", std::make_shared<const std::string>(30, 'x'));  // larger than all of it
  EXPECT_FALSE(cache.find("e"));
  EXPECT_EQ(cache.bytes(), 30u);
}

}  // namespace
}  // namespace hone
