// Context of the rules for ragged tensors. Private to the ragged_*.cc files.
#pragma once

#include <string_view>
#include <unordered_map>

#include "compiler/frontend/lowering/ragged.h"
#include "compiler/frontend/lowering/ragged_extents.h"
#include "compiler/frontend/onnx/ragged/ragged_converters.h"
#include "compiler/ir/layout.h"

namespace hone::onnx {

/// A node whose inputs have lost their run-time extents and bounds, and the inputs as they were given.
struct RaggedNode {
  NodeContext& c;
  const Converter convert;
  const std::vector<std::optional<Operand>> given;

  RaggedNode(NodeContext& context, Converter of) : c(context), convert(of), given(context.inputs) {
    for (std::optional<Operand>& x : c.inputs) {
      if (!x) continue;
      x->ragged.reset();
      if (x->least) x->least.reset(), x->known.reset();
    }
  }

  /// The input as it was given; UserError where it is left out.
  const Operand& in(size_t i) const {
    c.in(i);
    return *given[i];
  }
  bool has(size_t i) const { return c.has(i); }
  /// The run-time extent of an input that has elements.
  std::optional<Ragged> ragged(size_t i) const { return has(i) && !in(i).is_empty() ? in(i).ragged : std::nullopt; }
  /// Whether an input is numbers that a call finds out.
  bool is_counted(size_t i) const { return has(i) && in(i).least.has_value(); }
  Lowering& l() const { return c.l; }

  /// The converter, on all that lies in memory.
  void run() const { convert(c); }
  /// Runs the converter with the input's upper bounds in place of its run-time numbers.
  void run_with_most(size_t i) const {
    const std::optional<Operand> kept = c.inputs[i];
    c.inputs[i] = c.l.constant(*in(i).known);
    convert(c);
    c.inputs[i] = kept;
  }
  /// Says it of an output; of one without elements, or where there is nothing to say, it does nothing.
  void set(size_t output, const std::optional<Ragged>& r) const {
    if (output >= c.outputs.size() || !r || c.outputs[output].is_empty()) return;
    HONE_USER_CHECK(r->axis < c.outputs[output].rank()) << "an axis whose extent is known only when it runs goes";
    c.outputs[output].ragged = r;
  }
  void set_all(const std::optional<Ragged>& r) const {
    for (size_t o = 0; o < c.outputs.size(); ++o) set(o, r);
  }
  /// Element `at` of numbers, as s64[1]: an extent, so that a call for which it is negative has no result.
  ValueId number_at(const Operand& numbers, int64_t at) const {
    const bool is_extent = numbers.least->numbers().at(static_cast<size_t>(at)) >= 0;
    if (const ValueId same = same_number(c.l.b, numbers.id, at); same != kNoValue && is_extent) return same;
    const Operand flat = c.l.reshape(whole(numbers), {element_count(numbers.type.shape)});
    const ValueId number = c.l.value(c.l.cast(c.l.slice(flat, {at}, {1}, {1}), i64));
    if (is_extent) return number;
    return required(number, c.l.pointwise("greater_equal", {{number, {i64, {1}}}, c.l.number(0, i64)}));
  }
  /// The number, where the condition of one bool holds; else the call has no result.
  ValueId required(ValueId number, const Operand& condition) const {
    return c.l.b.add_one("require", {}, {number, c.l.as(condition, {1})});
  }
};

using Rule = void (*)(const RaggedNode& n);
/// Rules by the names of ONNX's own operators.
using RuleTable = std::unordered_map<std::string_view, Rule>;
void add_view_rules(RuleTable& t);
void add_position_rules(RuleTable& t);
void add_order_rules(RuleTable& t);

/// Sets the bounds (Operand::least, known) of a node's outputs from those of its inputs.
void bound_outputs(const RaggedNode& n);

}  // namespace hone::onnx
