#include "compiler/ir/structural_hash.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/fakes/sample_modules.h"

namespace hone {
namespace {

Module module_of(const Stmt& body, const std::vector<Buffer>& params) {
  Module m;
  m.kernels = {{"k", params, {}, body}};
  return m;
}

// Hashes are database keys: when one of these changes, every stored record becomes unreachable. Change kFormat and say
// so.
TEST(ContentHash, IsTheSameOnEveryPlatform) {
  EXPECT_EQ(content_hash(Module{}).hex(), "1a96ae0a06da34bcefde2ea8c13a42f8");
  EXPECT_EQ(content_hash(sample_module()).hex(), "26850603f6dfd6f6ebdb777c402b7c2a");
  EXPECT_EQ(content_hash(vector_module()).hex(), "d334591d54202dd3ac83d1ba730b08ff");
  EXPECT_EQ(content_hash(prefetch_module()).hex(), "9ca8b8579b3b9d9881d4d57011dda171");
}

TEST(ContentHash, DoesNotDependOnNames) {
  EXPECT_EQ(content_hash(sample_module()), content_hash(sample_module("other_")));
}

TEST(ContentHash, DoesNotDependOnSharing) {
  const Var i("i");
  const Buffer c = make_buffer("C", i64, {64});
  const Expr shared = Expr(i) * 3;
  const auto with = [&](const Expr& a, const Expr& b) {
    return content_hash(module_of(serial(i, 4, make_store(c, {a}, b)), {c}));
  };
  EXPECT_EQ(with(shared, shared), with(Expr(i) * 3, Expr(i) * 3));
}

TEST(ContentHash, SeesEveryDifference) {
  const Var i("i"), j("j");
  const Buffer a = make_buffer("A", f32, {64}), b = make_buffer("B", f32, {64}), c = make_buffer("C", f32, {65});
  const Buffer t = make_buffer("t", f32, {64}, BufferScope::kStack),
               w = make_buffer("w", f32, {64}, BufferScope::kWorkspace);
  const Stmt store = make_store(b, {i}, load(a, {i}));
  std::vector<Module> all = {
      module_of(serial(i, 4, store), {a, b}),
      module_of(serial(i, 5, store), {a, b}),
      module_of(serial(i, 4, store, LoopKind::kParallel), {a, b}),
      module_of(serial(i, 4, make_store(a, {i}, load(b, {i}))), {a, b}),
      module_of(serial(i, 4, make_store(c, {i}, load(a, {i}))), {a, c}),
      module_of(serial(i, 4, serial(j, 4, store)), {a, b}),
      module_of(serial(i, 4, serial(j, 4, make_store(b, {j}, load(a, {i})))), {a, b}),
      module_of(serial(i, 4, make_allocate(t, -1, store)), {a, b}),
      module_of(serial(i, 4, make_allocate(w, -1, store)), {a, b}),
      module_of(serial(i, 4, make_allocate(w, 64, store)), {a, b}),
      module_of(serial(i, 4, make_store(b, {i}, make_float(0.0))), {a, b}),
      module_of(serial(i, 4, make_store(b, {i}, make_float(-0.0))), {a, b}),
      module_of(serial(i, 4, Stmt(new If(lt(i, 3), store))), {a, b}),
      module_of(serial(i, 4, Stmt(new If(le(i, make_int(3)), store))), {a, b}),
      module_of(serial(i, 4, Stmt(new If(lt(i, 3), store, store))), {a, b}),
  };
  for (int change = 0; change < 10; ++change) {
    Module m = sample_module();
    if (change == 1) m.workers = 3;
    if (change == 2) m.workspace_bytes += 64;
    if (change == 3) m.vector_bits = 512;
    if (change == 4) m.params[0].role = ParamRole::kConstant;
    if (change == 5) m.params[2].layout = Layout::identity({24});
    if (change == 6) m.prepacks.clear();
    if (change == 7) m.kernels.push_back(m.kernels[0]);
    if (change == 8) m.params[0].shape = {4, 5};
    if (change == 9) m.partition = Partition::kDynamic;
    all.push_back(m);
  }
  std::set<Hash128> hashes;
  for (const Module& m : all) hashes.insert(content_hash(m));
  EXPECT_EQ(hashes.size(), all.size());
}

}  // namespace
}  // namespace hone
