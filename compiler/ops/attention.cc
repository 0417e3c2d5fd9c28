// attention: softmax(scores(Q K)) V, whose matrix of scores is no tensor of its own.
#include "compiler/ops/attention.h"

#include "compiler/ops/chain_stage.h"
#include "compiler/ops/dtypes.h"
#include "compiler/ops/epilogue.h"
#include "compiler/ops/operator.h"
#include "compiler/ops/product.h"

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

AttributeTexts infer_attention(std::span<const TensorType> inputs) {
  const TensorType &q = input_of_rank(inputs, 0, "q", 3), &k = input_of_rank(inputs, 1, "k", 3),
                   &v = input_of_rank(inputs, 2, "v", 3);
  return {{"b", std::to_string(q.shape[0])}, {"m", std::to_string(q.shape[1])}, {"n", std::to_string(k.shape[2])},
          {"k", std::to_string(q.shape[2])}, {"v", std::to_string(v.shape[2])}, {"dtype", to_string(q.dtype)}};
}

Definition attention(const Workload& w) {
  const AttentionShape& s = attention_shape(w);
  const DTypes types = dtypes_of(w);
  const DType t = types.accumulate;
  const std::vector<std::string> axes{"b", "m", "n"}, mixed{"b", "m", "v"};
  const std::vector<int64_t> row{s.b, s.m, 1};
  const Tensor q = placeholder("q", {s.b, s.m, s.k}, types.in), k = placeholder("k", {s.b, s.k, s.n}, types.in),
               v = placeholder("v", {s.b, s.n, s.v}, types.in);
  Definition d;
  d.inputs = {{q, ParamRole::kInput}, {k, ParamRole::kInput}, {v, ParamRole::kInput}};
  const Tensor dots = compute_reduce("dots", {s.b, s.m, s.n}, axes, {q, k}, [&](const Indices& i) {
    const Axis r = reduce_axis("k", s.k);
    return sum(cast(t, q(i[0], i[1], r)) * cast(t, k(i[0], r, i[2])), {r});
  });
  const Scores& chain = w.attributes.get<Scores>("scores");
  std::vector<Tensor> reads{dots};
  const ChainElement applied = add_chain_operands(w, chain, dots->shape, 2, "scores_", &d, &reads);
  const Tensor x =
      compute("scores", dots->shape, axes, reads, [&](const Indices& i) { return cast(t, applied(dots.at(i), i)); });
  const auto of_row = [](const Tensor& of, const Indices& i) { return of(i[0], i[1], make_int(0)); };
  const Tensor most = compute_reduce("most", row, axes, {x}, [&](const Indices& i) {
    const Axis r = reduce_axis("kn", s.n);
    return max_over(x(i[0], i[1], r), {r});
  });
  const Tensor e = compute("exp", dots->shape, axes, {x, most},
                           [&](const Indices& i) { return call(Intrinsic::kExp, {x.at(i) - of_row(most, i)}); });
  const Tensor total = compute_reduce("total", row, axes, {e}, [&](const Indices& i) {
    const Axis r = reduce_axis("kn", s.n);
    return sum(e(i[0], i[1], r), {r});
  });
  // One division a row, not one an element.
  const Tensor inverse =
      compute("inverse", row, axes, {total}, [&](const Indices& i) { return make_const(1, t) / total.at(i); });
  const Tensor mix = compute_reduce("mix", {s.b, s.m, s.v}, mixed, {e, v}, [&](const Indices& i) {
    const Axis r = reduce_axis("n", s.n);
    return sum(e(i[0], i[1], r) * cast(t, v(i[0], r, i[2])), {r});
  });
  d.anchor = mix;
  d.outputs = {compute(has_epilogue_stage(w, t) ? "attention" : "out", mix->shape, mixed, {mix, inverse},
                       [&](const Indices& i) { return mix.at(i) * of_row(inverse, i); })};
  add_epilogue(w, 2, mixed, &d);
  return d;
}

}  // namespace

const AttentionShape& attention_shape(const Workload& w) { return w.shape_as<AttentionShape>(); }

Operator attention_operator(const FunctionTable& functions) {
  Operator op;
  op.name = "attention";
  op.summary = "softmax over n of scores(Q[b,m,k] K[b,k,n]), times V[b,n,v]";
  op.attributes = {{"b", "12", whole_number()},
                   {"m", "128", whole_number()},
                   {"n", "128", whole_number()},
                   {"k", "64", whole_number()},
                   {"v", "64", whole_number()},
                   {"dtype", "f32", float_dtype()},
                   {"scores", "none", scores(functions)},
                   {"epilogue", "none", epilogue(functions, {&mixed_shape, 2, /*has_rows=*/true})}};
  op.shape = [](const Attributes& a) { return std::any(attention_shape_of(a)); };
  op.infer = &infer_attention;
  op.define = &attention;
  op.flops = [](const Workload& w) {
    const AttentionShape& s = attention_shape(w);
    return static_cast<double>(s.b) * static_cast<double>(s.m) * static_cast<double>(s.n) *
           (2 * static_cast<double>(s.k + s.v) + 5);
  };
  return op;
}

}  // namespace hone
