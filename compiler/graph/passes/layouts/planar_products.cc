#include <fmt/format.h>

#include <optional>

#include "compiler/graph/passes/chains.h"
#include "compiler/graph/passes/passes.h"
#include "compiler/graph/passes/rewriter.h"
#include "compiler/ir/extents.h"
#include "compiler/ir/layout.h"
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

class PlanarProducts {
 public:
  PlanarProducts(const Graph& g, const PassContext& context) : g_(g), c_(context) {}

  Graph run() {
    Rewriter rebuild(g_, c_);
    return rebuild.run([&](const Node& n) {
      const auto product = product_of(n);
      if (!product) return false;
      std::vector<ValueId> inputs;
      for (const auto& [v, shape] : product->inputs) inputs.push_back(rebuild.with_shape(rebuild.now(v), shape));
      if (product->padding > 0)
        for (const auto& [factor, after] :
             {std::pair<size_t, Extents>{0, {0, 0, product->padding}}, {1, {0, product->padding, 0}}})
          inputs[factor] = rebuild.builder().pad(inputs[factor], {0, 0, 0}, after);
      const ValueId made = rebuild.builder().add(product->workload, inputs, {g_.value(n.outputs[0]).name})[0];
      rebuild.stand_in(n.outputs[0], rebuild.with_shape(made, g_.value(n.outputs[0]).type.shape));
      return true;
    });
  }

  std::optional<Product> product_of(const Node& n) const {
    if (!is_planar_product(n)) return std::nullopt;
    const ConvShape& s = conv_shape(n.workload);
    const int64_t rows = s.co / s.groups, depth = s.ci / s.groups, columns = s.oh * s.ow;
    const bool of_bytes = sums_bytes(n.workload);
    Product product{{}, {{n.inputs[1], {s.groups, rows, depth}}, {n.inputs[0], {s.groups, depth, columns}}}, 0};
    if (of_bytes) product.padding = (kDotBytes - depth % kDotBytes) % kDotBytes;
    Chain chain;
    for (const BoundLink& l : bound_links(n)) {
      ChainLink link = l.link;
      auto value = l.operands.begin();
      for (Argument& a : link.arguments) {
        const auto* o = std::get_if<Operand>(&a);
        if (!o) continue;
        const auto given = operand_for(*o, s);
        if (!given) return std::nullopt;
        product.inputs.emplace_back(*value++, given->shape);
        a = given->operand;
      }
      chain.links.push_back(std::move(link));
    }
    const DTypes& t = n.workload.attributes.get<DTypes>("dtype");
    const Extents out{s.groups, rows, columns};
    const std::string epilogue = to_text(canonical(chain, t.accumulate, t.out, c_.functions),
                                         {c_.functions, "epilogue", [&] { return out; }, std::nullopt, true});
    const AttributeTexts given{{"dtype", of_bytes ? "s8:u8:s32:s32" : n.workload.attributes.text("dtype")},
                               {"epilogue", epilogue}};
    std::vector<TensorType> types;
    for (const auto& [v, shape] : product.inputs) types.push_back({g_.value(v).type.dtype, shape});
    types[0].shape[2] += product.padding, types[1].shape[1] += product.padding;
    try {
      product.workload = infer(c_.operators, "batch_matmul", given, types).workload;
    } catch (const UserError&) {  // no product of these types, or not with this chain
      return std::nullopt;
    }
    return product;
  }

 private:
  bool is_planar_product(const Node& n) const {
    if (!is<ops::Conv2d>(n) || layout_of(n.workload).in != "NCHW" || layout_of(n.workload).out != "NCHW" ||
        n.workload.attributes.text("prologue") != "none")
      return false;
    const ConvShape& s = conv_shape(n.workload);
    const DTypes& t = n.workload.attributes.get<DTypes>("dtype");
    return s.n == 1 && (s.groups == 1 || s.co / s.groups >= kFewestRows) && s.kh * s.kw == 1 &&
           s.stride_h * s.stride_w == 1 && s.pad_top + s.pad_left + s.pad_bottom + s.pad_right == 0 &&
           s.oh * s.ow >= c_.lanes && (t.in == t.weight || sums_bytes(n.workload));
  }

  // An operand of the convolution's chain as one of the product's: channels are rows there.
  struct Given {
    Operand operand;
    Extents shape;
  };
  std::optional<Given> operand_for(const Operand& o, const ConvShape& s) const {
    using Kind = Operand::Kind;
    switch (o.kind) {
      case Kind::kChannel: return Given{{Kind::kRow, {}}, {s.groups, s.co / s.groups}};
      case Kind::kOne: return Given{o, {1}};
      case Kind::kSame: return Given{o, {s.groups, s.co / s.groups, s.oh * s.ow}};
      case Kind::kShape: {
        const bool planes = o.shape[2] == s.oh && o.shape[3] == s.ow, one = o.shape[2] * o.shape[3] == 1;
        if (!planes && !one) return std::nullopt;
        const int64_t groups = o.shape[1] == s.co ? s.groups : 1;
        const Extents shape{groups, o.shape[1] / groups, o.shape[2] * o.shape[3]};
        return Given{{Kind::kShape, shape}, shape};
      }
      default: return std::nullopt;
    }
  }

  const Graph& g_;
  const PassContext& c_;
};

}  // namespace

Graph planar_products(const Graph& g, const PassContext& context) {
  return context.lanes == 0 ? g : PlanarProducts(g, context).run();
}

std::optional<Workload> planar_product_of(const Graph& g, const Node& n, const PassContext& context) {
  if (context.lanes == 0) return std::nullopt;
  const auto product = PlanarProducts(g, context).product_of(n);
  return product ? std::optional(product->workload) : std::nullopt;
}

}  // namespace hone
