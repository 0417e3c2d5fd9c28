#include "compiler/frontend/tflite/node/bodies.h"

#include "compiler/frontend/lowering/ragged.h"
#include "compiler/ir/layout.h"

namespace hone::tflite {
namespace {

constexpr int64_t kMostTurns = 4096;  // of a loop

std::vector<Operand> inputs_from(const NodeContext& c, size_t first) {
  std::vector<Operand> out;
  for (size_t i = first; i < c.inputs.size(); ++i) out.push_back(c.in(i));
  return out;
}

void require_condition(const Operand& condition) {
  HONE_USER_CHECK(element_count(condition.type.shape) == 1 && condition.type.dtype.is_bool())
      << "its condition is " << to_string(condition.type);
}

template <class Options>
int64_t graph_of(const NodeContext& c, int32_t (Options::*field)() const) {
  const auto* options = c.options<Options>();
  HONE_USER_CHECK(options) << "it has no options";
  return (options->*field)();
}

void call(const BodyNode& n) {
  const auto* options = n.c.options<file::CallOptions>();
  HONE_USER_CHECK(options) << "it has no options";
  const size_t count = n.c.outputs.size();
  n.c.outputs = n.run(options->graph(), inputs_from(n.c, 0));
  n.c.require_outputs(count);
}

// One whose condition is known becomes that branch. For other conditions both branches are computed, and the outputs
// are selected: a branch has no effects.
void choose(const BodyNode& n) {
  using Options = file::IfOptions;
  NodeContext& c = n.c;
  const Operand& condition = c.in(0);
  require_condition(condition);
  const std::vector<Operand> inputs = inputs_from(c, 1);
  const size_t count = c.outputs.size();
  const int64_t if_true = graph_of(c, &Options::then_graph), if_false = graph_of(c, &Options::else_graph);
  if (const auto known = c.l.data_of(condition)) {
    c.outputs = n.run(known->numbers()[0] ? if_true : if_false, inputs);
    return c.require_outputs(count);
  }
  struct WithoutEffects {
    States& states;
    const bool before = states.may_assign;
    explicit WithoutEffects(States& s) : states(s) { states.may_assign = false; }
    ~WithoutEffects() { states.may_assign = before; }
  } without_effects(n.states);
  const std::vector<Operand> one = n.run(if_true, inputs), other = n.run(if_false, inputs);
  HONE_USER_CHECK(one.size() == count && other.size() == count) << "its branches have other outputs";
  for (size_t o = 0; o < count; ++o) {
    HONE_USER_CHECK(one[o].type == other[o].type) << "output " << o << " is " << to_string(one[o].type) << " or "
                                                  << to_string(other[o].type) << ", which only a call knows";
    c.outputs[o] = chosen(c.l, condition, one[o], other[o]);
  }
}

// Turns are written out, so their number must be known.
void loop(const BodyNode& n) {
  using Options = file::WhileOptions;
  NodeContext& c = n.c;
  const size_t count = c.outputs.size();
  std::vector<Operand> values = inputs_from(c, 0);
  HONE_USER_CHECK(values.size() == count) << "it has " << values.size() << " inputs and " << count << " outputs";
  const int64_t condition = graph_of(c, &Options::condition_graph), body = graph_of(c, &Options::body_graph);
  for (int64_t turn = 0;; ++turn) {
    const std::vector<Operand> goes_on = n.run(condition, values);
    HONE_USER_CHECK(goes_on.size() == 1) << "its condition has " << goes_on.size() << " outputs";
    require_condition(goes_on[0]);
    const auto known = c.l.data_of(goes_on[0]);
    HONE_USER_CHECK(known) << "its condition must be known while the model is built" << c.l.how_to_know(goes_on[0]);
    if (known->numbers()[0] == 0) break;
    HONE_USER_CHECK(turn < kMostTurns) << "more than " << kMostTurns << " turns are not supported";
    values = n.run(body, values);
    HONE_USER_CHECK(values.size() == count)
        << "its body has " << values.size() << " outputs for " << count << " values";
  }
  c.outputs = std::move(values);
}

// The graph that gives variables their first values.
void call_once(const BodyNode& n) {
  const bool before = n.states.is_initializing;
  n.states.is_initializing = true;
  try {
    n.run(graph_of(n.c, &file::CallOnceOptions::graph), {});
  } catch (...) {
    n.states.is_initializing = before;
    throw;
  }
  n.states.is_initializing = before;
}

void variable_handle(const BodyNode& n) {
  n.c.require_outputs(1);
  const auto id = static_cast<int64_t>(n.states.variable(variable_name(n.c.node)));
  n.c.outputs[0] = n.c.l.constant(TensorData::of_numbers({id}, i32).reshaped({}));
}

int64_t variable_of(const NodeContext& c) {
  HONE_USER_CHECK(c.has(0) && c.read[0]->is_resource) << "input 0 is no variable";
  return c.constant_number(0, "variable");
}

void read_variable(const BodyNode& n) {
  n.c.require_outputs(1);
  n.c.outputs[0] = n.states.read(n.c.l, variable_of(n.c));
}

void assign_variable(const BodyNode& n) { n.states.assign(n.c.l, variable_of(n.c), n.c.in(1)); }

}  // namespace

const std::unordered_map<int32_t, BodyConverter>& body_converters() {
  static const std::unordered_map<int32_t, BodyConverter> all = {
      {31, &call},           {118, &choose},         {119, &loop}, {129, &call_once}, {142, &variable_handle},
      {143, &read_variable}, {144, &assign_variable}};
  return all;
}

}  // namespace hone::tflite
