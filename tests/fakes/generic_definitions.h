// Definitions as a graph compiler fuses them: several reductions, over the same rows or not, and several outputs.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "compiler/ops/definition.h"

namespace hone::generic {

using Indices = std::vector<Expr>;

// A reduction of `of` over its axis `axis`, which stays with one element.
inline Tensor reduced(const char* name, const Tensor& of, size_t axis, Reduction (*kind)(Expr, std::vector<Axis>)) {
  std::vector<int64_t> shape = of->shape;
  const int64_t extent = std::exchange(shape[axis], 1);
  return compute_reduce(name, shape, std::vector<std::string>(shape.size(), "i"), {of}, [&](Indices i) {
    const Axis k = reduce_axis("k", extent);
    i[axis] = k;
    return kind(of.at(i), {k});
  });
}

// f of x and of y, which is broadcast where it has one element.
inline Tensor paired(const char* name, const Tensor& x, const Tensor& y, Expr (*f)(const Expr&, const Expr&)) {
  return compute(name, x->shape, std::vector<std::string>(x->shape.size(), "i"), {x, y}, [&](const Indices& i) {
    Indices at = i;
    for (size_t d = 0; d < at.size(); ++d)
      if (y->shape[d] == 1) at[d] = make_int(0);
    return f(x.at(i), y.at(at));
  });
}
inline Tensor mapped(const char* name, const Tensor& x, Expr (*f)(const Expr&)) {
  return compute(name, x->shape, std::vector<std::string>(x->shape.size(), "i"), {x},
                 [&](const Indices& i) { return f(x.at(i)); });
}

inline Expr shifted_exp(const Expr& x, const Expr& m) { return call(Intrinsic::kExp, {x - m}); }
inline Expr over(const Expr& x, const Expr& y) { return x / y; }
inline Expr minus(const Expr& x, const Expr& y) { return x - y; }
inline Expr plus(const Expr& x, const Expr& y) { return x + y; }
inline Expr times(const Expr& x, const Expr& y) { return x * y; }

inline Tensor softmax_of(const Tensor& x, size_t axis) {
  const Tensor e = paired("e", x, reduced("most", x, axis, &max_over), &shifted_exp);
  return paired("p", e, reduced("total", e, axis, &sum), &over);
}

inline Definition softmax(std::vector<int64_t> shape, size_t axis) {
  const Tensor x = placeholder("x", shape, f32);
  return {{{x, ParamRole::kInput}}, {softmax_of(x, axis)}};
}

// A scale and a mask, softmax, and a product with a gate: the middle of attention as a graph compiler makes it.
inline Definition masked_softmax(int64_t heads, int64_t rows, int64_t columns) {
  const Tensor x = placeholder("x", {heads, rows, columns}, f32), mask = placeholder("mask", {1, rows, columns}, f32),
               gate = placeholder("gate", {1, 1, columns}, f32);
  const Tensor scaled = mapped("scaled", x, [](const Expr& v) { return v * make_float(0.125); });
  const Tensor p = softmax_of(paired("masked", scaled, mask, &plus), 2);
  return {{{x, ParamRole::kInput}, {mask, ParamRole::kInput}, {gate, ParamRole::kInput}},
          {paired("out", p, gate, &times)}};
}

// A long chain that all rows share, in front of a softmax.
inline Definition shared_shift(int64_t rows, int64_t columns) {
  const Tensor x = placeholder("x", {rows, columns}, f32), shift = placeholder("shift", {1, columns}, f32);
  Tensor s = shift;
  for (const char* name : {"s1", "s2", "s3", "s4", "s5", "s6", "s7"})
    s = paired(name, s, s,
               [](const Expr& a, const Expr& b) { return a * make_float(0.5) + call(Intrinsic::kTanh, {b}); });
  return {{{x, ParamRole::kInput}, {shift, ParamRole::kInput}}, {softmax_of(paired("shifted", x, s, &minus), 1)}};
}

// (x - mean) / sqrt(variance + eps), and both as outputs where `all` is set.
inline Definition normalised(int64_t rows, int64_t columns, bool all) {
  const Tensor x = placeholder("x", {rows, columns}, f32);
  const Tensor total = reduced("total", x, 1, &sum);
  const Tensor mean = compute("mean", total->shape, {"i", "j"}, {total}, [&](const Indices& i) {
    return total.at(i) * make_float(1.0 / static_cast<double>(columns));
  });
  const Tensor apart = paired("apart", x, mean, &minus);
  const Tensor squares = reduced("squares", mapped("square", apart, [](const Expr& v) { return v * v; }), 1, &sum);
  const Tensor scale = compute("scale", squares->shape, {"i", "j"}, {squares}, [&](const Indices& i) {
    return make_float(1) /
           call(Intrinsic::kSqrt, {squares.at(i) * make_float(1.0 / static_cast<double>(columns)) + make_float(1e-5)});
  });
  const Tensor out = paired("out", apart, scale, &times);
  if (!all) return {{{x, ParamRole::kInput}}, {out}};
  return {{{x, ParamRole::kInput}}, {out, mean, scale}};
}

// A residual is added, stored, and normalised: the end of a transformer's block.
inline Definition added_and_normalised(int64_t rows, int64_t columns) {
  const Tensor x = placeholder("x", {rows, columns}, f32), residual = placeholder("residual", {rows, columns}, f32);
  const Tensor added =
      paired("added", mapped("half", x, [](const Expr& v) { return v * make_float(0.5); }), residual, &plus);
  const Tensor squares = reduced("squares", mapped("square", added, [](const Expr& v) { return v * v; }), 1, &sum);
  const Tensor length = mapped("length", squares, [](const Expr& v) { return call(Intrinsic::kSqrt, {v}); });
  const Tensor shares = paired("shares", added, length, &over), most = reduced("most", shares, 1, &max_over);
  return {{{x, ParamRole::kInput}, {residual, ParamRole::kInput}}, {paired("out", shares, most, &minus), added}};
}

// Reductions over different axes: columns are centred, then rows are divided by their largest value.
inline Definition both_ways(int64_t rows, int64_t columns) {
  const Tensor x = placeholder("x", {rows, columns}, f32);
  const Tensor centred = paired("centred", x, reduced("columns", x, 0, &max_over), &minus);
  const Tensor e = mapped("e", centred, [](const Expr& v) { return call(Intrinsic::kExp, {v}); });
  return {{{x, ParamRole::kInput}}, {paired("out", e, reduced("rows", e, 1, &sum), &over)}};
}

// A reduction of a reduction, and an elementwise output that the rest reads.
inline Definition sums_of_sums(int64_t rows, int64_t columns) {
  const Tensor x = placeholder("x", {rows, columns}, f32);
  const Tensor positive = mapped("positive", x, [](const Expr& v) { return max(v, make_float(0)); });
  const Tensor rows_total = reduced("rows", positive, 1, &sum), total = reduced("all", rows_total, 0, &sum);
  return {{{x, ParamRole::kInput}}, {positive, paired("share", rows_total, total, &over), total}};
}

// The first place of each row's largest value.
inline Definition largest_place(int64_t rows, int64_t columns) {
  const Tensor x = placeholder("x", {rows, columns}, f32);
  const Tensor most = reduced("most", x, 1, &max_over);
  return {{{x, ParamRole::kInput}}, {compute_reduce("place", {rows}, {"i"}, {x, most}, [&](const Indices& i) {
            const Axis k = reduce_axis("k", columns);
            return min_over(select(eq(x(i[0], k), most(i[0], make_int(0))), cast(i32, Expr(k)),
                                   make_const(static_cast<double>(columns), i32)),
                            {k});
          })}};
}

// x + its transpose in front of a softmax: an axis is read as two.
inline Definition symmetric_softmax(int64_t n) {
  const Tensor x = placeholder("x", {n, n}, f32);
  const Tensor both =
      compute("both", {n, n}, {"i", "j"}, {x}, [&](const Indices& i) { return x.at(i) + x(i[1], i[0]); });
  const Tensor kept = mapped("kept", both, [](const Expr& v) { return call(Intrinsic::kTanh, {v}); });
  const Tensor most = reduced("most", kept, 1, &max_over);
  const Tensor e = compute("e", {n, n}, {"i", "j"}, {kept, most}, [&](const Indices& i) {
    return call(Intrinsic::kExp, {kept(i[1], i[0]) - most(i[0], make_int(0))});
  });
  return {{{x, ParamRole::kInput}}, {paired("p", e, reduced("total", e, 1, &sum), &over)}};
}

/// A definition that no workload names.
struct GenericDefinition {
  const char* name;
  Definition (*make)();
};
inline const GenericDefinition kGenericDefinitions[] = {
    {"softmax",
     [] {
       return softmax({7, 45}, 1);
     }},
    {"softmax_of_long_rows",
     [] {
       return softmax({3, 1501}, 1);
     }},
    {"softmax_of_one_row",
     [] {
       return softmax({1, 2000}, 1);
     }},
    {"softmax_of_single_elements",
     [] {
       return softmax({5, 1}, 1);
     }},
    {"softmax_of_one_element",
     [] {
       return softmax({1, 1}, 1);
     }},
    {"softmax_of_channels",
     [] {
       return softmax({2, 5, 7, 11}, 1);
     }},
    {"softmax_of_first_axis",
     [] {
       return softmax({19, 33}, 0);
     }},
    {"masked_softmax", [] { return masked_softmax(3, 6, 37); }},
    {"normalised", [] { return normalised(6, 101, false); }},
    {"normalised_with_statistics", [] { return normalised(6, 101, true); }},
    {"added_and_normalised", [] { return added_and_normalised(12, 101); }},
    {"shared_shift", [] { return shared_shift(9, 70); }},
    {"both_ways", [] { return both_ways(13, 70); }},
    {"sums_of_sums", [] { return sums_of_sums(40, 600); }},
    {"largest_place", [] { return largest_place(9, 75); }},
    {"symmetric_softmax", [] { return symmetric_softmax(21); }},
};

}  // namespace hone::generic
