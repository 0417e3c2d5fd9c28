#include <optional>

#include "compiler/graph/passes/chains.h"
#include "compiler/graph/passes/passes.h"
#include "compiler/graph/passes/rebuild.h"
#include "compiler/ir/layout.h"
#include "compiler/ops/conv_shape.h"
#include "compiler/ops/dtypes.h"

namespace hone {
namespace {

using Extents = std::vector<int64_t>;

// Of a group's product: with fewer, a row of pixels that is read meets too few weights.
constexpr int64_t kFewestRows = 8;

class PlanarProducts {
 public:
  PlanarProducts(const Graph& g, const PassContext& context) : g_(g), c_(context), rebuild_(g, context) {}

  Graph run() {
    return rebuild_.run([&](const Node& n) { return add_product(n); });
  }

 private:
  bool is_planar_product(const Node& n) const {
    if (n.workload.task() != "conv2d" || layout_of(n.workload).in != "NCHW" || layout_of(n.workload).out != "NCHW" ||
        n.workload.attributes.text("prologue") != "none")
      return false;
    const ConvShape& s = conv_shape(n.workload);
    const DTypes& t = n.workload.attributes.get<DTypes>("dtype");
    return s.n == 1 && (s.groups == 1 || s.co / s.groups >= kFewestRows) && s.kh * s.kw == 1 &&
           s.stride_h * s.stride_w == 1 && s.pad_top + s.pad_left + s.pad_bottom + s.pad_right == 0 &&
           s.oh * s.ow >= c_.lanes && t.in == t.weight;
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

  bool add_product(const Node& n) {
    if (!is_planar_product(n)) return false;
    const ConvShape& s = conv_shape(n.workload);
    const int64_t rows = s.co / s.groups, depth = s.ci / s.groups, columns = s.oh * s.ow;
    const Extents out{s.groups, rows, columns};
    const std::vector<BoundLink> links = bound_links(n);
    Chain chain;
    std::vector<std::pair<ValueId, Extents>> operands;
    for (const BoundLink& l : links) {
      ChainLink link = l.link;
      auto value = l.operands.begin();
      for (Argument& a : link.arguments) {
        const auto* o = std::get_if<Operand>(&a);
        if (!o) continue;
        const auto given = operand_for(*o, s);
        if (!given) return false;
        operands.emplace_back(*value++, given->shape);
        a = given->operand;
      }
      chain.links.push_back(std::move(link));
    }
    const DTypes& t = n.workload.attributes.get<DTypes>("dtype");
    const std::string epilogue = to_text(canonical(chain, t.accumulate, t.out, c_.functions),
                                         {c_.functions, "epilogue", [&] { return out; }, std::nullopt, true});
    std::vector<ValueId> inputs{rebuild_.with_shape(rebuild_.now(n.inputs[1]), {s.groups, rows, depth}),
                                rebuild_.with_shape(rebuild_.now(n.inputs[0]), {s.groups, depth, columns})};
    for (const auto& [v, shape] : operands) inputs.push_back(rebuild_.with_shape(rebuild_.now(v), shape));
    try {
      const AttributeTexts given{{"dtype", n.workload.attributes.text("dtype")}, {"epilogue", epilogue}};
      const ValueId made = rebuild_.builder().add_one("batch_matmul", given, inputs, g_.value(n.outputs[0]).name);
      rebuild_.stand_in(n.outputs[0], rebuild_.with_shape(made, {1, s.co, s.oh, s.ow}));
    } catch (const UserError&) {  // no product of these types, or not with this chain
      return false;
    }
    return true;
  }

  const Graph& g_;
  const PassContext& c_;
  Rebuild rebuild_;
};

}  // namespace

Graph planar_products(const Graph& g, const PassContext& context) {
  return context.lanes == 0 ? g : PlanarProducts(g, context).run();
}

}  // namespace hone
