#include "compiler/ops/templates/row_wise.h"

#include <algorithm>
#include <functional>

#include "compiler/ir/visitor.h"
#include "compiler/ops/rewrite/replace_stage.h"
#include "compiler/ops/templates/reduction_nest.h"

namespace hone {
namespace {

// All loads of an expression.
std::vector<const Load*> all_loads(const Expr& e) {
  class Loads final : public Visitor {
   public:
    std::vector<const Load*> found;

   protected:
    using Visitor::visit;
    void visit(const Load* op) override {
      found.push_back(op);
      Visitor::visit(op);
    }
  } loads;
  loads(e);
  return loads.found;
}

// Axes of stages and dimensions of tensors that run together are one class: a stage's axis, and the dimension of a
// tensor that it indexes over its whole extent.
class AxisClasses {
 public:
  // False where a stage reads another one otherwise than by whole axes.
  bool unite(const std::vector<const TensorNode*>& stages) {
    for (const TensorNode* t : stages)
      for (const Load* l : all_loads(t->body)) {
        const auto from = std::find_if(stages.begin(), stages.end(),
                                       [&](const TensorNode* n) { return n->buffer.same_as(l->buffer); });
        if (!unite(t, l) && from != stages.end()) return false;
      }
    return true;
  }

  int class_of(const BufferNode* tensor, bool reduced, size_t axis) {
    const auto [it, fresh] = number_.emplace(Key{tensor, {reduced, axis}}, static_cast<int>(parent_.size()));
    if (fresh) parent_.push_back(it->second);
    return root(it->second);
  }

 private:
  using Key = std::pair<const BufferNode*, std::pair<bool, size_t>>;

  int root(int n) const {
    while (parent_[static_cast<size_t>(n)] != n) n = parent_[static_cast<size_t>(n)];
    return n;
  }

  bool unite(const TensorNode* stage, const Load* l) {
    bool whole = true;
    for (size_t d = 0; d < l->indices.size(); ++d) {
      const int64_t extent = *as_const_int(l->buffer->shape[d]);
      if (extent == 1) continue;
      std::optional<int> found;
      for (size_t a = 0; a < stage->axes.size(); ++a)
        if (stage->axes[a].var.get() == l->indices[d].get() && stage->axes[a].extent == extent)
          found = class_of(stage->buffer.get(), false, a);
      for (size_t a = 0; a < stage->reduce_axes.size(); ++a)
        if (stage->reduce_axes[a].var.get() == l->indices[d].get() && stage->reduce_axes[a].extent == extent)
          found = class_of(stage->buffer.get(), true, a);
      whole = whole && found;
      if (found) parent_[static_cast<size_t>(class_of(l->buffer.get(), false, d))] = *found;
    }
    return whole;
  }

  std::map<Key, int> number_;
  std::vector<int> parent_;
};

}  // namespace

bool RowGroup::is_row_axis(size_t axis) const { return std::find(rows.begin(), rows.end(), axis) != rows.end(); }

bool RowGroup::reaches_inside(const std::string& name) const {
  const auto& all = axes.at(name);
  return std::any_of(all.begin(), all.end(), [&](const auto& a) { return a && !is_row_axis(*a); });
}

bool RowGroup::has_rows(const std::string& name) const {
  const auto& all = axes.at(name);
  return std::all_of(rows.begin(), rows.end(),
                     [&](size_t r) { return std::find(all.begin(), all.end(), r) != all.end(); });
}

std::optional<RowGroup> find_rows(const Definition& d) {
  if (d.outputs.size() != 1) return std::nullopt;
  const std::vector<const TensorNode*> stages = stages_of(d);
  AxisClasses classes;
  if (!classes.unite(stages)) return std::nullopt;

  RowGroup g;
  std::map<int, size_t> output_axis;
  const TensorNode* out = d.output().node().get();
  for (size_t a = 0; a < out->axes.size(); ++a)
    if (out->shape[a] > 1) output_axis[classes.class_of(out->buffer.get(), false, a)] = a;
  std::optional<std::set<int>> rows;
  int64_t largest = 0;
  for (const TensorNode* t : stages) {
    std::set<int> own;
    std::vector<std::optional<size_t>>& axes = g.axes[t->name];
    for (size_t a = 0; a < t->axes.size(); ++a) {
      axes.emplace_back();
      if (t->shape[a] == 1) continue;
      const int c = classes.class_of(t->buffer.get(), false, a);
      if (!own.insert(c).second) return std::nullopt;  // a tensor and its transpose
      if (const auto found = output_axis.find(c); found != output_axis.end()) axes.back() = found->second;
    }
    if (t->reduce == ReduceKind::kNone) continue;
    int64_t terms = product_of(t->shape, t->shape.size());
    for (size_t a = 0; a < t->reduce_axes.size(); ++a) {
      if (own.count(classes.class_of(t->buffer.get(), true, a))) return std::nullopt;
      terms *= t->reduce_axes[a].extent;
    }
    if (rows && *rows != own) return std::nullopt;
    rows = own;
    if (terms > largest) largest = terms, g.along = reduces_neighbours(t);
  }
  if (!rows || rows->empty()) return std::nullopt;
  for (const int c : *rows)
    if (!output_axis.count(c)) return std::nullopt;
  for (size_t a = 0; a < out->axes.size(); ++a) {
    const bool is_row = out->shape[a] > 1 && rows->count(classes.class_of(out->buffer.get(), false, a));
    (is_row ? g.rows : g.inside).push_back(a);
    if (is_row) g.count *= out->shape[a];
  }
  return g;
}

BehindEarlyOutputs behind_early_outputs(const Definition& d) {
  const std::function<bool(const TensorNode*)> reduces = [&](const TensorNode* t) {
    return t->reduce != ReduceKind::kNone ||
           std::any_of(t->inputs.begin(), t->inputs.end(), [&](const auto& in) { return reduces(in.get()); });
  };
  BehindEarlyOutputs out;
  out.rest = d;
  if (d.outputs.size() == 1) return out;
  StageReplacer given;
  out.rest.outputs.clear();
  for (const Tensor& t : d.outputs) {
    if (reduces(t.node().get())) continue;
    auto* node = new TensorNode;
    const Ref<const TensorNode> input(node);
    node->name = t->name;
    node->buffer = t->buffer;
    node->shape = t->shape;
    node->caller_shape = t->caller_shape;
    given.replace(t.node().get(), input);
    out.early.push_back(t->name);
    out.rest.inputs.emplace_back(Tensor(input), ParamRole::kInput);
  }
  for (const Tensor& t : d.outputs)
    if (reduces(t.node().get())) out.rest.outputs.emplace_back(given(t.node()));
  return out;
}

}  // namespace hone
