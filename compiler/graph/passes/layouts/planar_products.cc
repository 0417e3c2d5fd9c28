#include "compiler/graph/passes/axes.h"
#include "compiler/graph/passes/bytes.h"
#include "compiler/graph/passes/chains.h"
#include "compiler/graph/passes/rewriter.h"
#include "compiler/ops/dtypes.h"
#include "compiler/ops/windows/conv_shape.h"

namespace hone {
namespace {

// The least rows of a group's product: with fewer, each row of pixels is read for too few weights.
constexpr int64_t kFewestRows = 8;

// The product in place of a convolution: its workload, and the values that it reads under these shapes.
struct Product {
  Workload workload;
  std::vector<std::pair<ValueId, Extents>> inputs;
  int64_t padding = 0;  ///< zeros behind k, of both factors
};

bool is_planar_product(const Node& n, int64_t lanes) {
  if (!is<ops::Conv2d>(n) || layout_of(n.workload).in != "NCHW" || layout_of(n.workload).out != "NCHW" ||
      has_prologue(n))
    return false;
  const ConvShape& s = conv_shape(n.workload);
  const DTypes& t = dtypes_of(n.workload);
  return s.n == 1 && (s.groups == 1 || s.co / s.groups >= kFewestRows) && s.kh * s.kw == 1 &&
         s.stride_h * s.stride_w == 1 && !has_border(n) && s.oh * s.ow >= lanes &&
         (t.in == t.weight || sums_bytes(n.workload));
}

// An operand of the convolution's chain as one of a product of this shape, and its shape there: channels are rows.
std::optional<std::pair<Operand, Extents>> operand_for(const Operand& o, const ConvShape& s, const Extents& product) {
  using Kind = Operand::Kind;
  using Given = std::pair<Operand, Extents>;
  switch (o.kind) {
    case Kind::kChannel: return Given{{Kind::kRow, {}}, {product[0], product[1]}};
    case Kind::kOne: return Given{o, {1}};
    case Kind::kSame: return Given{o, product};
    case Kind::kRow: return std::nullopt;
    case Kind::kShape: break;
  }
  const SeenOperand seen = seen_with(o.shape, output_shape(s), product);
  return seen.whole == o.shape ? std::optional(Given{{Kind::kShape, seen.shape}, seen.shape}) : std::nullopt;
}

std::optional<Product> planar_product(const Graph& g, const Node& n, const PassContext& c) {
  if (c.lanes == 0 || !is_planar_product(n, c.lanes)) return std::nullopt;
  const ConvShape& s = conv_shape(n.workload);
  const int64_t rows = s.co / s.groups, depth = s.ci / s.groups, columns = s.oh * s.ow;
  const Extents out{s.groups, rows, columns};
  const bool of_bytes = sums_bytes(n.workload);
  Product product{{},
                  {{n.inputs[1], {s.groups, rows, depth}}, {n.inputs[0], {s.groups, depth, columns}}},
                  of_bytes ? missing_of_word(depth) : 0};
  BoundChain chain = bound_epilogue(n);
  const bool all_fit = chain.change_operands([&](ValueId v, const Operand& o) -> std::optional<Argument> {
    const auto given = operand_for(o, s, out);
    if (!given) return std::nullopt;
    product.inputs.emplace_back(v, given->second);
    return given->first;
  });
  if (!all_fit) return std::nullopt;
  const DTypes& t = dtypes_of(n.workload);
  const std::string epilogue = to_text(canonical(chain.chain, t.accumulate, t.out, c.functions),
                                       {c.functions, "epilogue", [&] { return out; }, std::nullopt, true});
  const AttributeTexts given{{"dtype", of_bytes ? "s8:u8:s32:s32" : n.workload.attributes.text("dtype")},
                             {"epilogue", epilogue}};
  std::vector<TensorType> types;
  for (const auto& [v, shape] : product.inputs) types.push_back({g.value(v).type.dtype, shape});
  types[0].shape[2] += product.padding, types[1].shape[1] += product.padding;
  // Nothing where there is no product of these types, or not with this chain.
  const auto w = if_allowed([&] { return infer(c.operators, "batch_matmul", given, types).workload; });
  if (!w) return std::nullopt;
  product.workload = *w;
  return product;
}

}  // namespace

Graph planar_products(const Graph& g, const PassContext& context) {
  Rewriter r(g, context);
  return r.run([&](const Node& n) {
    const auto product = planar_product(g, n, context);
    if (!product) return false;
    std::vector<ValueId> inputs;
    for (const auto& [v, shape] : product->inputs) inputs.push_back(r.with_shape(r.now(v), shape));
    inputs[0] = r.builder().pad(inputs[0], {0, 0, 0}, {0, 0, product->padding});
    inputs[1] = r.builder().pad(inputs[1], {0, 0, 0}, {0, product->padding, 0});
    return r.replace(n, product->workload, inputs);
  });
}

std::optional<Workload> planar_product_of(const Graph& g, const Node& n, const PassContext& context) {
  const auto product = planar_product(g, n, context);
  return product ? std::optional(product->workload) : std::nullopt;
}

}  // namespace hone
