#include "compiler/ops/rewrite/collapse.h"

#include <algorithm>
#include <functional>
#include <map>

#include "base/check.h"
#include "compiler/ir/mutator.h"
#include "compiler/ir/visitor.h"

namespace hone {
namespace {

// The tensors of a definition, every one after those it reads.
std::vector<const TensorNode*> in_order(const Definition& d) {
  std::vector<const TensorNode*> order;
  const std::function<void(const TensorNode*)> visit = [&](const TensorNode* t) {
    if (std::find(order.begin(), order.end(), t) != order.end()) return;
    for (const auto& in : t->inputs) visit(in.get());
    order.push_back(t);
  };
  for (const auto& [tensor, role] : d.inputs) visit(tensor.node().get());
  for (const Tensor& t : d.outputs) visit(t.node().get());
  return order;
}

std::vector<size_t> longer_than_one(const std::vector<int64_t>& extents) {
  std::vector<size_t> out;
  for (size_t d = 0; d < extents.size(); ++d)
    if (extents[d] > 1) out.push_back(d);
  return out;
}

std::vector<int64_t> extents_of(const std::vector<Axis>& axes) {
  std::vector<int64_t> out;
  for (const Axis& a : axes) out.push_back(a.extent);
  return out;
}

// Which dimensions of a tensor (and reduction axes of a stage) are kept, and which neighbours among those are joined:
// joined[i] says that the i-th and the next one are.
struct Groups {
  std::vector<size_t> kept, reduce_kept;
  std::vector<bool> joined, reduce_joined;
};
using AllGroups = std::map<const TensorNode*, Groups>;

// Loads of a stage's body, and its variables outside of plain indices.
class Accesses final : public Visitor {
 public:
  std::vector<const Load*> loads;
  std::vector<const VarNode*> loose;

 protected:
  using Visitor::visit;
  void visit(const Load* op) override {
    loads.push_back(op);
    for (const Expr& i : op->indices)
      if (i->kind != ExprKind::kVar) (*this)(i);
  }
  void visit(const VarNode* op) override { loose.push_back(op); }
};

class JoinFinder {
 public:
  explicit JoinFinder(const std::vector<const TensorNode*>& order) : order_(order) {
    for (const TensorNode* t : order) {
      Groups& g = groups_[t];
      g.kept = longer_than_one(t->shape);
      g.joined.assign(g.kept.empty() ? 0 : g.kept.size() - 1, true);
      g.reduce_kept = longer_than_one(extents_of(t->reduce_axes));
      g.reduce_joined.assign(g.reduce_kept.empty() ? 0 : g.reduce_kept.size() - 1, true);
    }
  }

  // Starts with all neighbours joined and separates axes that an access distinguishes, until nothing changes.
  AllGroups run() {
    for (changed_ = true; changed_;) {
      changed_ = false;
      for (const TensorNode* t : order_)
        if (!t->is_placeholder()) visit(t);
    }
    return std::move(groups_);
  }

 private:
  void part(std::vector<bool>* joined, size_t i) {
    if (i < joined->size() && (*joined)[i]) (*joined)[i] = false, changed_ = true;
  }

  // The stage's axis that is this variable: in `kept` or `reduce_kept`.
  struct Position {
    bool reduce = false;
    size_t at = 0;
  };
  std::optional<Position> position_of(const TensorNode* stage, const Expr& index) const {
    const Groups& g = groups_.at(stage);
    for (size_t i = 0; i < g.kept.size(); ++i)
      if (stage->axes[g.kept[i]].var.get() == index.get()) return Position{false, i};
    for (size_t i = 0; i < g.reduce_kept.size(); ++i)
      if (stage->reduce_axes[g.reduce_kept[i]].var.get() == index.get()) return Position{true, i};
    return std::nullopt;
  }
  std::vector<bool>* joined_of(const TensorNode* stage, const Position& p) {
    return p.reduce ? &groups_.at(stage).reduce_joined : &groups_.at(stage).joined;
  }
  void part_around(const TensorNode* stage, const Position& p) {
    part(joined_of(stage, p), p.at);
    if (p.at > 0) part(joined_of(stage, p), p.at - 1);
  }

  void visit(const TensorNode* stage) {
    Accesses accesses;
    accesses(stage->body);
    for (const VarNode* v : accesses.loose)
      if (const auto p = position_of(stage, Expr(v))) part_around(stage, *p);
    for (const Load* l : accesses.loads) {
      const auto t =
          std::find_if(order_.begin(), order_.end(), [&](const TensorNode* n) { return n->buffer.same_as(l->buffer); });
      HONE_ICHECK(t != order_.end()) << "collapse: stage '" << stage->name << "' reads unknown '" << l->buffer->name
                                     << "'";
      visit_load(stage, *t, l);
    }
  }

  void visit_load(const TensorNode* stage, const TensorNode* from, const Load* l) {
    Groups& g = groups_.at(from);
    std::vector<std::optional<Position>> positions;
    for (size_t dim : g.kept) {
      positions.push_back(position_of(stage, l->indices[dim]));
      // A loop that covers only part of the dimension steps through it differently.
      if (positions.back()) {
        const Position& p = *positions.back();
        const int64_t extent = p.reduce ? stage->reduce_axes[groups_.at(stage).reduce_kept[p.at]].extent
                                        : stage->axes[groups_.at(stage).kept[p.at]].extent;
        if (extent != from->shape[dim]) part_around(stage, p), positions.back().reset();
      }
    }
    for (size_t i = 0; i < positions.size(); ++i) {
      const bool with_next = i + 1 < positions.size() && positions[i] && positions[i + 1] &&
                             positions[i]->reduce == positions[i + 1]->reduce &&
                             positions[i + 1]->at == positions[i]->at + 1;
      if (!with_next) part(&g.joined, i);
      if (!positions[i]) continue;
      const size_t at = positions[i]->at;
      std::vector<bool>* joined = joined_of(stage, *positions[i]);
      // Two axes of the stage become one only where this access joins them as well, and two of the access only where
      // the stage joins them.
      if (!with_next || !g.joined[i]) part(joined, at);
      if (with_next && !(at < joined->size() && (*joined)[at])) part(&g.joined, i);
      const bool with_previous = i > 0 && positions[i - 1] && positions[i - 1]->reduce == positions[i]->reduce &&
                                 positions[i - 1]->at + 1 == at;
      if (!with_previous && at > 0) part(joined, at - 1);
    }
  }

  const std::vector<const TensorNode*>& order_;
  AllGroups groups_;
  bool changed_ = false;
};

// Groups of positions in `kept` that are one.
std::vector<std::vector<size_t>> runs(const std::vector<size_t>& kept, const std::vector<bool>& joined) {
  std::vector<std::vector<size_t>> out;
  for (size_t i = 0; i < kept.size(); ++i) {
    if (i == 0 || !joined[i - 1]) out.emplace_back();
    out.back().push_back(kept[i]);
  }
  return out;
}

class Rebuilder {
 public:
  explicit Rebuilder(const AllGroups& groups) : groups_(groups) {}

  Ref<const TensorNode> rebuild(const TensorNode* t) {
    auto* node = new TensorNode;
    Ref<const TensorNode> owner(node);
    node->name = t->name;
    node->is_inlined = t->is_inlined;
    node->caller_shape = t->caller_shape.empty() ? t->shape : t->caller_shape;
    const Groups& g = groups_.at(t);
    for (const auto& run : runs(g.kept, g.joined)) {
      int64_t extent = 1;
      for (size_t d : run) extent *= t->shape[d];
      node->shape.push_back(extent);
    }
    if (node->shape.empty()) node->shape.push_back(1);
    node->buffer = make_buffer(t->name, t->buffer->dtype, node->shape, t->buffer->scope);
    if (!t->is_placeholder()) rebuild_stage(t, node);
    tensors_[t] = owner;
    return owner;
  }

 private:
  void rebuild_stage(const TensorNode* t, TensorNode* node) {
    const Groups& g = groups_.at(t);
    VarMap map;
    for (const Axis& a : t->axes) map.emplace_back(a.var.get(), make_int(0));  // dropped axes have one element
    for (const Axis& a : t->reduce_axes) map.emplace_back(a.var.get(), make_int(0));
    const auto rename = [&](const std::vector<Axis>& from, const std::vector<std::vector<size_t>>& all,
                            std::vector<Axis>* to) {
      for (const auto& run : all) {
        int64_t extent = 1;
        std::string name;
        for (size_t d : run) extent *= from[d].extent, name += from[d].var->name;
        to->push_back({Var(name), extent});
        // A joined axis occurs only as a whole: its first member stands for it.
        for (auto& [var, value] : map)
          if (var == from[run[0]].var.get()) value = to->back();
      }
    };
    rename(t->axes, runs(g.kept, g.joined), &node->axes);
    if (node->axes.empty()) node->axes.push_back({Var("one"), 1});
    rename(t->reduce_axes, runs(g.reduce_kept, g.reduce_joined), &node->reduce_axes);
    if (node->reduce_axes.empty() && t->reduce != ReduceKind::kNone) node->reduce_axes.push_back({Var("once"), 1});
    node->reduce = t->reduce;
    node->body = AccessRewriter(*this, map)(t->body);
    for (const auto& in : t->inputs) node->inputs.push_back(tensors_.at(in.get()));
  }

  class AccessRewriter final : public Mutator {
   public:
    AccessRewriter(const Rebuilder& all, const VarMap& map) : all_(all), map_(map) {}

   protected:
    using Mutator::visit;
    Expr visit(const VarNode* op) override {
      for (const auto& [var, value] : map_)
        if (var == op) return value;
      return Expr(op);
    }
    Expr visit(const Load* op) override {
      for (const auto& [old, fresh] : all_.tensors_) {
        if (!old->buffer.same_as(op->buffer)) continue;
        const Groups& g = all_.groups_.at(old);
        std::vector<Expr> indices;
        for (const auto& run : runs(g.kept, g.joined)) indices.push_back((*this)(op->indices[run[0]]));
        if (indices.empty()) indices.push_back(make_int(0));
        return load(fresh->buffer, std::move(indices));
      }
      HONE_ICHECK(false) << "collapse: '" << op->buffer->name << "' is read before it is made";
      return Expr(op);
    }

   private:
    const Rebuilder& all_;
    const VarMap& map_;
  };

  const AllGroups& groups_;
  std::map<const TensorNode*, Ref<const TensorNode>> tensors_;
};

}  // namespace

Definition collapse(const Definition& d) {
  const std::vector<const TensorNode*> order = in_order(d);
  // A scan reads its own elements, by its own axis.
  if (std::any_of(order.begin(), order.end(), [](const TensorNode* t) { return t->scan_axis.has_value(); })) return d;
  const AllGroups groups = JoinFinder(order).run();
  Rebuilder rebuilder(groups);
  std::map<const TensorNode*, Tensor> fresh;
  for (const TensorNode* t : order) fresh[t] = Tensor(rebuilder.rebuild(t));
  Definition out;
  for (const auto& [tensor, role] : d.inputs) out.inputs.emplace_back(fresh.at(tensor.node().get()), role);
  for (const Tensor& t : d.outputs) out.outputs.push_back(fresh.at(t.node().get()));
  out.factor_error = d.factor_error;
  return out;
}

}  // namespace hone
