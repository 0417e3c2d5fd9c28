#include <algorithm>
#include <map>

#include "compiler/frontend/lowering/operators/definition_nodes.h"
#include "compiler/frontend/lowering/operators/stage_shape.h"
#include "compiler/ops/definition_text.h"
#include "compiler/ops/rewrite/compose.h"

namespace hone::frontend {
namespace {

constexpr double kLeastProduct = 1 << 17;  // operations: smaller ones are better off inside of a kernel
constexpr double kLeastShare = 0.5;        // of the definition's operations

class PartLowering {
 public:
  PartLowering(Lowering& l, const Definition& d, const std::vector<Operand>& inputs, const OwnKernel& own)
      : l_(l), d_(d), own_(own), stages_(stages_of(d)) {
    for (size_t i = 0; i < inputs.size(); ++i) know(d.inputs[i].first, inputs[i]);
  }

  std::optional<std::vector<Operand>> run() {
    double work = 0;
    for (const TensorNode* t : stages_) {
      int level = 0;
      for (const auto& in : t->inputs)
        if (!in->is_placeholder()) level = std::max(level, levels_.at(in->buffer.get()));
      const bool is_product = has_product(*t);
      if (is_product) products_.push_back(t);
      levels_[t->buffer.get()] = level + (is_product ? 1 : 0);
      if (is_product) work += operations_of(part_of({tensor_of(t)}, tensors_in(*t)).definition);
    }
    if (products_.empty() || work < kLeastShare * operations_of(d_)) return std::nullopt;
    const int deepest =
        levels_.empty() ? 0 : std::max_element(levels_.begin(), levels_.end(), [](const auto& a, const auto& b) {
                                return a.second < b.second;
                              })->second;
    for (int level = 0; level <= deepest; ++level) {
      // Products of a level read stages of those below it.
      for (const TensorNode* t : products_)
        if (levels_.at(t->buffer.get()) == level) lower({tensor_of(t)});
      std::vector<Tensor> roots;
      for (const TensorNode* t : stages_)
        if (levels_.at(t->buffer.get()) == level && is_root(*t)) roots.push_back(tensor_of(t));
      if (!roots.empty()) lower(roots);
    }
    std::vector<Operand> out;
    for (const Tensor& t : d_.outputs) out.push_back(values_.at(t->buffer.get()));
    return out;
  }

 private:
  static Tensor tensor_of(const TensorNode* t) { return Tensor(Ref<const TensorNode>(t)); }
  static std::vector<Tensor> tensors_in(const TensorNode& t) {
    std::vector<Tensor> out;
    for (const auto& in : t.inputs) out.push_back(Tensor(in));
    return out;
  }
  bool is_product(const TensorNode& t) const {
    return std::find(products_.begin(), products_.end(), &t) != products_.end();
  }
  static bool is_border(const TensorNode& t) { return !t.is_placeholder() && border_stage(t).has_value(); }

  // Whether the stage, with a border that it reads, is a node of Hone's that is worth one.
  bool has_product(const TensorNode& t) const {
    if (!product_stage(t)) return false;
    const DefinitionPart part = part_of({tensor_of(&t)}, begins_of(t));
    if (operations_of(part.definition) < kLeastProduct) return false;
    std::vector<bool> is_known;
    for (const Tensor& r : part.reads) {
      const auto at = values_.find(r->buffer.get());
      is_known.push_back(at != values_.end() && l_.data_of(at->second));
    }
    return have_nodes(part.definition, is_known);
  }
  // A product's inputs: borders are its own.
  std::vector<Tensor> begins_of(const TensorNode& t) const {
    std::vector<Tensor> out;
    for (const auto& in : t.inputs) {
      if (!is_border(*in)) out.push_back(Tensor(in));
      if (is_border(*in))
        for (const Tensor& of_border : tensors_in(*in)) out.push_back(of_border);
    }
    return out;
  }

  // Whether a stage that is no product has to be there for a product, or for the caller.
  bool is_root(const TensorNode& t) const {
    if (is_product(t)) return false;
    for (const Tensor& o : d_.outputs)
      if (o->buffer.same_as(t.buffer)) return true;
    return std::any_of(products_.begin(), products_.end(), [&](const TensorNode* p) {
      const std::vector<Tensor> begins = begins_of(*p);
      return std::any_of(begins.begin(), begins.end(), [&](const Tensor& b) { return b->buffer.same_as(t.buffer); });
    });
  }

  void know(const Tensor& t, const Operand& value) {
    known_.push_back(t);
    values_.emplace(t->buffer.get(), value);
  }

  void lower(const std::vector<Tensor>& outputs) {
    const DefinitionPart part = part_of(outputs, known_);
    std::vector<Operand> inputs;
    for (const Tensor& r : part.reads) inputs.push_back(values_.at(r->buffer.get()));
    auto made = as_nodes(l_, part.definition, inputs);
    if (!made) made = own_(part.definition, inputs);
    for (size_t o = 0; o < outputs.size(); ++o) know(outputs[o], (*made)[o]);
  }

  Lowering& l_;
  const Definition& d_;
  const OwnKernel& own_;
  const std::vector<const TensorNode*> stages_;
  std::vector<const TensorNode*> products_;
  std::map<const BufferNode*, int> levels_;  // how many products are in front of a stage, at the most
  std::vector<Tensor> known_;
  std::map<const BufferNode*, Operand> values_;
};

}  // namespace

std::optional<std::vector<Operand>> as_parts(Lowering& l, const Definition& d, const std::vector<Operand>& inputs,
                                             const OwnKernel& own) {
  return PartLowering(l, d, inputs, own).run();
}

}  // namespace hone::frontend
