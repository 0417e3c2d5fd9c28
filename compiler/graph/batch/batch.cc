#include "compiler/graph/batch/batch.h"

#include <absl/strings/str_join.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "compiler/graph/batch/rules.h"
#include "compiler/graph/passes/passes.h"

namespace hone {
namespace {

bool is_one_of_a_batch(const Extents& shape) { return !shape.empty() && shape[0] == 1; }

std::string shape_text(const Extents& shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

class Batching {
 public:
  Batching(const Graph& one, int64_t n, const OperatorTable& operators)
      : one_(one), b_(operators, one.name), stack_(b_, n), now_(one.values.size()) {}

  BatchedGraph run() {
    read_inputs();
    for (const Node& node : one_.nodes) {
      b_.set_origin(node.origin);
      add(node);
    }
    for (const Port& p : one_.outputs) give(p);
    return {remove_dead(b_.take()), std::move(notes_)};
  }

 private:
  void read_inputs() {
    bool is_batched = false;
    for (const Port& p : one_.inputs) {
      const bool has_runs = is_one_of_a_batch(p.type.shape);
      is_batched |= has_runs;
      const ValueId v = b_.input(p.name, {p.type.dtype, has_runs ? stack_.all(p.type.shape, 0) : p.type.shape});
      if (p.value != kNoValue) now_[p.value] = {v, one_.value(p.value).type.shape, {}};
      if (p.value != kNoValue && has_runs) now_[p.value]->axis = 0;
      if (!has_runs)
        notes_.push_back(
            fmt::format("{} {} is the same for all {} of the batch", p.name, shape_text(p.type.shape), stack_.runs()));
    }
    const std::string inputs = absl::StrJoin(
        one_.inputs, ", ", [](std::string* out, const Port& p) { *out += p.name + " " + shape_text(p.type.shape); });
    HONE_USER_CHECK(is_batched) << "no input has a first dimension of 1; there are "
                                << (inputs.empty() ? "none" : inputs);
  }

  void add(const Node& node) {
    BatchedNode n{stack_, one_, node, {}, std::vector<Stacked>(node.outputs.size())};
    for (const ValueId v : node.inputs) n.in.push_back(now(v));
    if (std::none_of(n.in.begin(), n.in.end(), [](const Stacked& x) { return x.axis.has_value(); })) {
      copy(n);
    } else {
      const auto rule = batch_rules().find(node.workload.operator_name());
      try {
        HONE_USER_CHECK(rule != batch_rules().end()) << "it has no form for several images";
        rule->second(n);
      } catch (const UserError& e) {
        const auto varies = std::find_if(n.in.begin(), n.in.end(), [](const Stacked& x) { return x.axis.has_value(); });
        throw UserError(fmt::format("node '{}' ({} of {}): {}", node.origin, node.workload.operator_name(),
                                    shape_text(varies->one), e.what()));
      }
    }
    for (size_t o = 0; o < node.outputs.size(); ++o) now_[node.outputs[o]] = n.out[o];
  }

  void copy(BatchedNode& n) {
    std::vector<ValueId> inputs;
    std::vector<std::string> names;
    for (const Stacked& x : n.in) inputs.push_back(x.id);
    for (const ValueId v : n.node.outputs) names.push_back(one_.value(v).name);
    const std::vector<ValueId> ids = b_.add(n.node.workload, inputs, names);
    for (size_t o = 0; o < ids.size(); ++o) n.out[o] = {ids[o], n.one(o), std::nullopt};
  }

  void give(const Port& p) {
    HONE_USER_CHECK(!p.extent) << "output '" << p.name << "' has as many elements as a run finds out";
    const bool has_runs = is_one_of_a_batch(p.type.shape);
    const TensorType type{p.type.dtype, has_runs ? stack_.all(p.type.shape, 0) : p.type.shape};
    if (p.value == kNoValue) return b_.output(p.name, kNoValue, type);
    Stacked x = now(p.value);
    HONE_USER_CHECK(has_runs || !x.axis) << "output '" << p.name << "' is " << shape_text(p.type.shape)
                                         << ": it differs between images and has no first dimension of 1 for them";
    if (has_runs) x = stack_.seen(stack_.at(x, 0), p.type.shape, 0);
    b_.output(p.name, x.id, type);
  }

  const Stacked& now(ValueId v) {
    std::optional<Stacked>& known = now_[v];
    const Value& value = one_.value(v);
    if (!known) known = {b_.constant(*value.constant, value.name), value.type.shape, std::nullopt};
    return *known;
  }

  const Graph& one_;
  GraphBuilder b_;
  Stack stack_;
  IdVector<std::optional<Stacked>> now_;  ///< by value of the graph of one run
  std::vector<std::string> notes_;
};

}  // namespace

BatchedGraph batched(const Graph& one, int64_t n, const OperatorTable& operators) {
  return Batching(one, n, operators).run();
}

}  // namespace hone
