// attention: softmax(scores(Q K)) V, whose matrix of scores is no tensor of its own. cached_attention: the same over
// the first rows of a cache of keys and values; the rows behind these are never used.
#include "compiler/ops/products/attention.h"

#include "compiler/ops/chain_stage.h"
#include "compiler/ops/dtypes.h"
#include "compiler/ops/epilogue.h"
#include "compiler/ops/extremes.h"
#include "compiler/ops/movement/movement.h"
#include "compiler/ops/operator.h"
#include "compiler/ops/products/product.h"

namespace hone {
namespace {

using Indices = std::vector<Expr>;

// The `scores` attribute, read.
struct Scores : TypedChain {};

AttentionShape attention_shape_of(const Attributes& a) {
  const AttentionShape s{a.number("b"), a.number("m"), a.number("n"), a.number("k"), a.number("v")};
  check_product_shape({s.b, s.m, s.n, s.k, true});
  check_product_shape({s.b, s.m, s.v, s.n, true});
  return s;
}

std::vector<int64_t> scores_shape(const Attributes& a) {
  const AttentionShape s = attention_shape_of(a);
  return {s.b, s.m, s.n};
}
std::vector<int64_t> mixed_shape(const Attributes& a) {
  const AttentionShape s = attention_shape_of(a);
  return {s.b, s.m, s.v};
}

AttributeParser scores(const FunctionTable& functions) {
  const ChainSource source{&scores_shape, 2, /*has_rows=*/true};
  return [functions, source](std::string_view text, const AttributeContext& context) {
    const DTypes& types = context.before.get<DTypes>("dtype");
    ParsedAttribute out;
    out.value = Scores{read_chain(text, context, functions, source, types.accumulate, types.in, &out.text)};
    return out;
  };
}

AttributeTexts infer_from(std::span<const TensorType> inputs, size_t key_axis, size_t values) {
  const TensorType &q = input_of_rank(inputs, 0, "q", 3), &k = input_of_rank(inputs, 1, "k", 3),
                   &v = input_of_rank(inputs, values, "v", 3);
  return {{"b", std::to_string(q.shape[0])},        {"m", std::to_string(q.shape[1])},
          {"n", std::to_string(k.shape[key_axis])}, {"k", std::to_string(q.shape[2])},
          {"v", std::to_string(v.shape[2])},        {"dtype", to_string(q.dtype)}};
}
AttributeTexts infer_attention(std::span<const TensorType> inputs) { return infer_from(inputs, 2, 2); }
AttributeTexts infer_cached_attention(std::span<const TensorType> inputs) {
  input_of_rank(inputs, 2, "last", 1);
  return infer_from(inputs, 1, 3);
}

// `x` when key number `key` is there, else `otherwise`. In attention without a cache all keys are there.
using WhereThere = std::function<Expr(const Expr& key, const Expr& x, const Expr& otherwise)>;

// Adds to `out`, which has q, k, v, all stages behind Q K; `counted`: the inputs of where_there().
void define_behind_dots(const Workload& w, const Tensor& dots, const Tensor& v, const std::vector<Tensor>& counted,
                        const WhereThere& where_there, Definition* out) {
  const AttentionShape& s = attention_shape(w);
  const DType t = dtypes_of(w).accumulate;
  const std::vector<std::string> axes{"b", "m", "n"}, mixed{"b", "m", "v"};
  const std::vector<int64_t> row{s.b, s.m, 1};
  const auto with_count = [&](std::vector<Tensor> reads) {
    reads.insert(reads.end(), counted.begin(), counted.end());
    return reads;
  };
  Definition& d = *out;
  const Scores& chain = w.attributes.get<Scores>("scores");
  std::vector<Tensor> reads{dots};
  const ChainElement applied = add_chain_operands(w, chain, dots->shape, 2, "scores_", &d, &reads);
  const Tensor x =
      compute("scores", dots->shape, axes, reads, [&](const Indices& i) { return cast(t, applied(dots.at(i), i)); });
  const auto of_row = [](const Tensor& of, const Indices& i) { return of(i[0], i[1], make_int(0)); };
  const Tensor most = compute_reduce("most", row, axes, with_count({x}), [&](const Indices& i) {
    const Axis r = reduce_axis("kn", s.n);
    return max_over(where_there(r, x(i[0], i[1], r), reduce_identity(ReduceKind::kMax, t)), {r});
  });
  // Scores of keys that are not there were perhaps not computed: their exponential is 0.
  const Tensor e = compute("exp", dots->shape, axes, with_count({x, most}), [&](const Indices& i) {
    return call(Intrinsic::kExp, {where_there(i[2], x.at(i) - of_row(most, i), reduce_identity(ReduceKind::kMax, t))});
  });
  const Tensor total = compute_reduce("total", row, axes, with_count({e}), [&](const Indices& i) {
    const Axis r = reduce_axis("kn", s.n);
    return sum(where_there(r, e(i[0], i[1], r), make_const(0, t)), {r});
  });
  // One division a row, not one an element.
  const Tensor inverse =
      compute("inverse", row, axes, {total}, [&](const Indices& i) { return make_const(1, t) / total.at(i); });
  const Tensor mix = compute_reduce("mix", {s.b, s.m, s.v}, mixed, with_count({e, v}), [&](const Indices& i) {
    const Axis r = reduce_axis("n", s.n);
    return sum(where_there(r, e(i[0], i[1], r) * cast(t, v(i[0], r, i[2])), make_const(0, t)), {r});
  });
  d.anchor = mix;
  d.outputs = {compute(has_epilogue_stage(w, t) ? "attention" : "out", mix->shape, mixed, {mix, inverse},
                       [&](const Indices& i) { return mix.at(i) * of_row(inverse, i); })};
  add_epilogue(w, 2, mixed, &d);
}

Definition attention(const Workload& w) {
  const AttentionShape& s = attention_shape(w);
  const DTypes types = dtypes_of(w);
  const DType t = types.accumulate;
  const Tensor q = placeholder("q", {s.b, s.m, s.k}, types.in), k = placeholder("k", {s.b, s.k, s.n}, types.in),
               v = placeholder("v", {s.b, s.n, s.v}, types.in);
  Definition d;
  d.inputs = {{q, ParamRole::kInput}, {k, ParamRole::kInput}, {v, ParamRole::kInput}};
  const Tensor dots = compute_reduce("dots", {s.b, s.m, s.n}, {"b", "m", "n"}, {q, k}, [&](const Indices& i) {
    const Axis r = reduce_axis("k", s.k);
    return sum(cast(t, q(i[0], i[1], r)) * cast(t, k(i[0], r, i[2])), {r});
  });
  define_behind_dots(
      w, dots, v, {}, [](const Expr&, const Expr& x, const Expr&) { return x; }, &d);
  return d;
}

Definition cached_attention(const Workload& w) {
  const AttentionShape& s = attention_shape(w);
  const DTypes types = dtypes_of(w);
  const DType t = types.accumulate;
  const Tensor q = placeholder("q", {s.b, s.m, s.k}, types.in), k = placeholder("k", {s.b, s.n, s.k}, types.in),
               v = placeholder("v", {s.b, s.n, s.v}, types.in), last = placeholder("last", {1}, kIndex);
  Definition d;
  // Candidates are timed on the number that is drawn for the third operand, -24: nearly all rows of a long cache.
  d.inputs = {{q, ParamRole::kInput}, {k, ParamRole::kInput}, {last, ParamRole::kInput}, {v, ParamRole::kInput}};
  const Tensor newest =
      compute("newest", {1}, {"one"}, {last}, [&](const Indices& i) { return index_within(last.at(i), s.n); });
  const Tensor dots = compute_reduce("dots", {s.b, s.m, s.n}, {"b", "m", "n"}, {q, k}, [&](const Indices& i) {
    const Axis r = reduce_axis("k", s.k);
    return sum(cast(t, q(i[0], i[1], r)) * cast(t, k(i[0], i[2], r)), {r});
  });
  const auto where_there = [newest](const Expr& key, const Expr& x, const Expr& otherwise) {
    return select(le(key, newest(make_int(0))), x, otherwise);
  };
  define_behind_dots(w, dots, v, {newest}, where_there, &d);
  return d;
}

}  // namespace

const AttentionShape& attention_shape(const Workload& w) { return w.shape_as<AttentionShape>(); }

namespace {

Operator operator_named(const char* name, const FunctionTable& functions) {
  Operator op;
  op.name = name;
  op.attributes = {{"b", "12", whole_number()},
                   {"m", "128", whole_number()},
                   {"n", "128", whole_number()},
                   {"k", "64", whole_number()},
                   {"v", "64", whole_number()},
                   {"dtype", "f32", float_dtype()},
                   {"scores", "none", scores(functions)},
                   {"epilogue", "none", epilogue(functions, {&mixed_shape, 2, /*has_rows=*/true})}};
  op.shape = [](const Attributes& a) { return std::any(attention_shape_of(a)); };
  op.flops = [](const Workload& w) {
    const AttentionShape& s = attention_shape(w);
    return static_cast<double>(s.b) * static_cast<double>(s.m) * static_cast<double>(s.n) *
           (2 * static_cast<double>(s.k + s.v) + 5);
  };
  return op;
}

}  // namespace

Operator attention_operator(const FunctionTable& functions) {
  Operator op = operator_named("attention", functions);
  op.summary = "softmax over n of scores(Q[b,m,k] K[b,k,n]), times V[b,n,v]";
  op.attributes.push_back(extremes_attribute());
  op.infer = &infer_attention;
  op.define = &attention;
  return op;
}

Operator cached_attention_operator(const FunctionTable& functions) {
  Operator op = operator_named("cached_attention", functions);
  op.summary =
      "softmax of scores(Q[b,m,k] K[b,n,k]), times V[b,n,v], over the rows 0 to last of K and V; what lies behind them "
      "is never used";
  op.infer = &infer_cached_attention;
  op.define = &cached_attention;
  return op;
}

Workload attention_of(const OperatorTable& operators, const Workload& scores, const Workload& mix,
                      const std::vector<TensorType>& types) {
  const AttributeTexts given{{"scores", scores.attributes.text("epilogue")},
                             {"epilogue", mix.attributes.text("epilogue")}};
  return infer(operators, "attention", given, types).workload;
}

Workload cached_attention_of(const OperatorTable& operators, const Workload& w, const std::vector<TensorType>& types) {
  const AttributeTexts given{{"scores", w.attributes.text("scores")}, {"epilogue", w.attributes.text("epilogue")}};
  return infer(operators, "cached_attention", given, types).workload;
}

}  // namespace hone
