#include "compiler/ops/rewrite/compose.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "base/check.h"
#include "compiler/ir/layout.h"
#include "compiler/ir/mutator.h"
#include "compiler/ir/visitor.h"

namespace hone {
namespace {

constexpr size_t kMostOfPlainName = 40;

class DefinitionCopy {
 public:
  // From here on `from` is `to`.
  void stand_in(const Tensor& from, const Tensor& to) { made_[from->buffer.get()] = to; }

  Tensor input(const Tensor& t) {
    const Tensor made = placeholder(name_for(t->name), t->shape, t->buffer->dtype);
    stand_in(t, made);
    return made;
  }
  void stages(const Definition& d) {
    for (const TensorNode* t : stages_of(d)) stand_in(Tensor(Ref<const TensorNode>(t)), stage(*t));
  }
  Tensor of(const Tensor& t) const { return made_.at(t->buffer.get()); }

  Tensor stage(const TensorNode& t) {
    auto* node = new TensorNode;
    const Ref<const TensorNode> owner(node);
    node->name = name_for(t.name);
    node->is_inlined = t.is_inlined;
    node->shape = t.shape;
    node->reduce = t.reduce;
    node->scan_axis = t.scan_axis;
    node->compares_bits = t.compares_bits;
    node->buffer = make_buffer(node->name, t.buffer->dtype, t.shape, t.buffer->scope);
    if (t.scan_axis) made_[t.buffer.get()] = Tensor(owner);  // it reads its own elements
    VarMap fresh;
    const auto copied = [&](const std::vector<Axis>& axes) {
      std::vector<Axis> out;
      for (const Axis& a : axes) {
        out.push_back({Var(plain(a.var->name), a.var->dtype), a.extent});
        fresh.emplace_back(a.var.get(), out.back().var);
      }
      return out;
    };
    node->axes = copied(t.axes);
    node->reduce_axes = copied(t.reduce_axes);
    node->body = Swap(made_)(substitute(t.body, fresh));
    for (const auto& in : t.inputs) {
      const Ref<const TensorNode>& now = made_.at(in->buffer.get()).node();
      const bool is_new = std::none_of(node->inputs.begin(), node->inputs.end(),
                                       [&](const auto& other) { return other->buffer.same_as(now->buffer); });
      if (is_new) node->inputs.push_back(now);
    }
    return Tensor(owner);
  }

 private:
  struct Swap : Mutator {
    explicit Swap(const std::map<const BufferNode*, Tensor>& to) : Mutator(Sharing::kKept), to_(to) {}
    Expr visit(const Load* op) override {
      std::vector<Expr> indices;
      mutate_all(op->indices, &indices);
      const auto to = to_.find(op->buffer.get());
      HONE_USER_CHECK(to != to_.end()) << "'" << op->buffer->name
                                       << "' is read, and not among what stages say that they read";
      return to->second.at(std::move(indices));
    }
    const std::map<const BufferNode*, Tensor>& to_;
  };

  static std::string plain(const std::string& name) {
    std::string out;
    for (const char c : name.substr(0, kMostOfPlainName)) {
      const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
      const bool is_digit = c >= '0' && c <= '9';
      if (is_digit && out.empty()) out += '_';
      out += is_letter || is_digit ? c : '_';
    }
    return out.empty() ? "t" : out;
  }
  std::string name_for(const std::string& name) {
    const std::string base = plain(name);
    std::string out = base;
    for (int n = 1; !names_.insert(out).second; ++n) out = fmt::format("{}_{}", base, n);
    return out;
  }

  std::map<const BufferNode*, Tensor> made_;
  std::set<std::string> names_;
};

}  // namespace

Definition with_plain_names(const Definition& d) {
  DefinitionCopy copy;
  Definition out;
  for (const auto& [tensor, role] : d.inputs) out.inputs.emplace_back(copy.input(tensor), role);
  copy.stages(d);
  for (const Tensor& t : d.outputs) out.outputs.push_back(copy.of(t));
  return out;
}

Definition composed(const Definition& producer, const Definition& consumer, const std::vector<size_t>& at) {
  DefinitionCopy copy;
  Definition out;
  for (const auto& [tensor, role] : producer.inputs) out.inputs.emplace_back(copy.input(tensor), role);
  copy.stages(producer);
  const Tensor made = copy.of(producer.output());
  for (size_t i = 0; i < consumer.inputs.size(); ++i) {
    const auto& [tensor, role] = consumer.inputs[i];
    if (std::find(at.begin(), at.end(), i) == at.end()) {
      out.inputs.emplace_back(copy.input(tensor), role);
      continue;
    }
    HONE_ICHECK(tensor->shape == made->shape && tensor->buffer->dtype == made->buffer->dtype)
        << "'" << tensor->name << "' is not what '" << made->name << "' is";
    copy.stand_in(tensor, made);
  }
  copy.stages(consumer);
  for (const Tensor& t : consumer.outputs) out.outputs.push_back(copy.of(t));
  return out;
}

DefinitionPart part_of(const std::vector<Tensor>& outputs, const std::vector<Tensor>& known) {
  DefinitionPart out;
  std::vector<Tensor> stages;
  const auto holds = [](const std::vector<Tensor>& all, const Tensor& t) {
    return std::any_of(all.begin(), all.end(), [&](const Tensor& o) { return o->buffer.same_as(t->buffer); });
  };
  const std::function<void(const Tensor&, bool)> visit = [&](const Tensor& t, bool is_output) {
    if (!is_output && holds(known, t)) {
      if (!holds(out.reads, t)) out.reads.push_back(t);
      return;
    }
    HONE_ICHECK(!t->is_placeholder()) << "'" << t->name << "' is not known";
    if (holds(stages, t)) return;
    for (const auto& in : t->inputs) visit(Tensor(in), false);
    stages.push_back(t);
  };
  for (const Tensor& t : outputs) visit(t, true);
  DefinitionCopy copy;
  for (const Tensor& t : out.reads) out.definition.inputs.emplace_back(copy.input(t), ParamRole::kInput);
  for (const Tensor& t : stages) copy.stand_in(t, copy.stage(*t.node()));
  for (const Tensor& t : outputs) out.definition.outputs.push_back(copy.of(t));
  return out;
}

double reads_of_each(const Definition& d, size_t at) {
  const Tensor& input = d.inputs[at].first;
  double reads = 0;
  for (const TensorNode* t : stages_of(d)) {
    struct Count : Visitor {
      const BufferNode* buffer = nullptr;
      double loads = 0;
      void visit(const Load* l) override {
        loads += l->buffer.get() == buffer ? 1 : 0;
        Visitor::visit(l);
      }
    } count;
    count.buffer = input->buffer.get();
    count(t->body);
    double iterations = 1;
    for (const auto* axes : {&t->axes, &t->reduce_axes})
      for (const Axis& a : *axes) iterations *= static_cast<double>(a.extent);
    reads += count.loads * iterations;
  }
  return reads / static_cast<double>(element_count(input->shape));
}

}  // namespace hone
