#include "compiler/schedule/tensor_intrinsics.h"

#include <absl/strings/str_join.h>
#include <fmt/format.h>

#include "compiler/target/matrix_units.h"

namespace hone {
namespace {

TensorIntrinsic fma_f32() {
  const Var i("i"), j("j");
  const Buffer a = make_buffer("A", f32, {1}), b = make_buffer("B", f32, {1}), c = make_buffer("C", f32, {1, 1});
  TensorIntrinsic t;
  t.name = "fma_f32";
  t.axes = {{i, false, 1, 32, LoopKind::kUnroll}, {j, false, 4, 64, LoopKind::kVectorize}};
  t.out = {c, 1};
  t.out_indices = {i, j};
  t.tensors = {{a, 0}, {b, 1}};
  t.value = load(a, {i}) * load(b, {j});
  t.implement = [](const std::vector<std::vector<Expr>>& reads) { return reads[0][0] * reads[0][1]; };
  t.fused_step = true;
  return t;
}

// `each`: A has an element for each column, too. The processor's instruction takes the factor of u8 first, so where A
// is of s8 and B of u8 they are exchanged.
TensorIntrinsic dot_of_bytes(std::string_view name, DType of_a, DType of_b, bool each) {
  const Var j("j"), k("k");
  const Buffer a = each ? make_buffer("A", of_a, {4, 1}) : make_buffer("A", of_a, {4}),
               b = make_buffer("B", of_b, {1, 4}), c = make_buffer("C", i32, {1});
  TensorIntrinsic t;
  t.name = name;
  t.axes = {{j, false, 4, 64, LoopKind::kVectorize}, {k, true, 4, 4, LoopKind::kSerial}};
  t.out = {c, 1};
  t.out_indices = {j};
  t.tensors = {{a, 1}, {b, 2}};
  t.value = cast(i32, load(a, each ? std::vector<Expr>{k, j} : std::vector<Expr>{k})) * cast(i32, load(b, {j, k}));
  t.consumed = 1;
  t.implement = [](const std::vector<std::vector<Expr>>& reads) {
    const size_t first = reads[0][0]->dtype.scalar() == u8 ? 0 : 1;
    std::vector<Expr> args;
    for (const size_t n : {first, 1 - first})
      for (const auto& step : reads) args.push_back(step[n]);
    return call(Intrinsic::kDot4, std::move(args));
  };
  return t;
}

TensorIntrinsic dot_bf16_f32() {
  const Var j("j"), k("k");
  const Buffer a = make_buffer("A", bf16, {2}), b = make_buffer("B", bf16, {1, 2}), c = make_buffer("C", f32, {1});
  TensorIntrinsic t;
  t.name = "dot_bf16_f32";
  t.axes = {{j, false, 4, 64, LoopKind::kVectorize}, {k, true, 2, 2, LoopKind::kSerial}};
  t.out = {c, 1};
  t.out_indices = {j};
  t.tensors = {{a, 1}, {b, 2}};
  t.value = cast(f32, load(a, {k})) * cast(f32, load(b, {j, k}));
  t.consumed = 1;
  t.implement = [](const std::vector<std::vector<Expr>>& reads) {
    return call(Intrinsic::kDot2, {reads[0][0], reads[1][0], reads[0][1], reads[1][1]});
  };
  return t;
}

// The part of C += A * B that one thread of a warp holds, for a product on tensor cores (codegen/gpu/tensor_nest.h).
TensorIntrinsic mma(std::string_view name, DType ta, DType tb, DType tc, Feature needs) {
  const Var h("h"), c("c"), k("k");
  const int64_t depth = 32 / ta.bytes();
  const Buffer a = make_buffer("A", ta, {2, depth}), b = make_buffer("B", tb, {2, depth}),
               out = make_buffer("C", tc, {2, 2});
  TensorIntrinsic t;
  t.name = name;
  t.axes = {
      {h, false, 2, 2, LoopKind::kWarp}, {c, false, 2, 2, LoopKind::kWarp}, {k, true, depth, depth, LoopKind::kWarp}};
  t.out = {out, 0};
  t.out_indices = {h, c};
  t.tensors = {{a, 0}, {b, 0}};
  t.value = cast(tc, load(a, {h, k})) * cast(tc, load(b, {c, k}));
  t.implement = [](const std::vector<std::vector<Expr>>& reads) {
    const DType wide = reads[0][0]->dtype.is_float() ? f32 : i32;
    return cast(wide, reads[0][0]) * cast(wide, reads[0][1]);
  };
  t.warp = {8, 4};
  t.needs = needs;
  return t;
}

// A product of full tiles, or of full blocks of sums, which a unit executes (codegen/legalize/tile_nest.h). B's
// elements of a word are neighbours, so k is two axes where a step has several words.
TensorIntrinsic product_of(const MatrixUnit& u) {
  const Var i("i"), j("j"), k("k"), w("w");
  const int64_t words = u.depth / u.word;
  const DType sums = parse_dtype(u.c);
  const Buffer a = make_buffer("A", parse_dtype(u.a), {u.rows, words, u.word}),
               b = make_buffer("B", parse_dtype(u.b), {words, u.columns, u.word}),
               c = make_buffer("C", sums, {u.rows, u.columns});
  TensorIntrinsic t;
  t.name = u.name;
  t.axes = {{i, false, u.rows, u.rows, LoopKind::kWarp}, {j, false, u.columns, u.columns, LoopKind::kWarp}};
  if (words > 1) t.axes.push_back({k, true, words, words, LoopKind::kWarp});
  t.axes.push_back({w, true, u.word, u.word, LoopKind::kWarp});
  t.out = {c, 0};
  t.out_indices = {i, j};
  t.tensors = {{a, 0}, {b, 0}};
  const Expr of_words = words > 1 ? Expr(k) : make_int(0);
  t.value = cast(sums, load(a, {i, of_words, w})) * cast(sums, load(b, {of_words, j, w}));
  t.implement = [](const std::vector<std::vector<Expr>>& reads) {
    const DType wide = reads[0][0]->dtype.is_float() ? f32 : i32;
    return cast(wide, reads[0][0]) * cast(wide, reads[0][1]);
  };
  t.needs = u.feature;
  return t;
}

std::vector<TensorIntrinsic> all_intrinsics() {
  std::vector<TensorIntrinsic> table = {fma_f32(),
                                        dot_of_bytes("dot_u8s8_s32", u8, i8, false),
                                        dot_of_bytes("dot_each_u8s8_s32", u8, i8, true),
                                        dot_of_bytes("dot_s8u8_s32", i8, u8, false),
                                        dot_bf16_f32(),
                                        mma("mma_f16", f16, f16, f32, Feature::kMmaF16),
                                        mma("mma_bf16", bf16, bf16, f32, Feature::kMmaBf16),
                                        mma("mma_tf32", f32, f32, f32, Feature::kMmaTf32),
                                        mma("mma_s8s8", i8, i8, i32, Feature::kMmaInt8),
                                        mma("mma_u8s8", u8, i8, i32, Feature::kMmaInt8)};
  for (const MatrixUnit& u : matrix_units())
    if (u.is_nest()) table.push_back(product_of(u));
  return table;
}

}  // namespace

const std::vector<TensorIntrinsic>& tensor_intrinsics() {
  static const std::vector<TensorIntrinsic> table = all_intrinsics();
  return table;
}

const TensorIntrinsic& find_intrinsic(std::string_view name) {
  std::vector<std::string> known;
  for (const TensorIntrinsic& t : tensor_intrinsics()) {
    if (t.name == name) return t;
    known.emplace_back(t.name);
  }
  throw UserError(fmt::format("tensorize: there is no intrinsic '{}'; there are {}", name, absl::StrJoin(known, ", ")));
}

}  // namespace hone
