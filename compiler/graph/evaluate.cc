#include "compiler/graph/evaluate.h"

#include <cstddef>

#include "compiler/ir/interp.h"
#include "compiler/ir/layout.h"
#include "compiler/lower/lower.h"
#include "compiler/lower/repeat.h"
#include "compiler/ops/operator.h"
#include "compiler/ops/recurrence.h"
#include "compiler/ops/rewrite/collapse.h"

namespace hone {

namespace {

// The same elements in another order: `move` is pack() or unpack().
template <class Move>
TensorData moved(const TensorData& data, const PhysicalTypes::Tensor& t, const TensorType& to, const Move& move) {
  if (t.logical == t.type) return data;
  std::string bytes(static_cast<size_t>(bytes_of(to)), '\0');
  move(data.bytes().data(), bytes.data(), t.logical.shape, t.layout, to.dtype.bytes());
  return {to, std::move(bytes)};
}

}  // namespace

TensorData to_logical(const TensorData& data, const PhysicalTypes::Tensor& t) {
  return moved(data, t, t.logical, &unpack);
}
TensorData to_physical(const TensorData& data, const PhysicalTypes::Tensor& t) { return moved(data, t, t.type, &pack); }

Module naive_module(const Workload& w) {
  const auto steps = recurrence_of(w);
  const Definition d = collapse(define(steps ? steps->step : w));
  const Module m = lower(Schedule(d.inputs, d.outputs), {});
  return steps ? repeat(m, steps->how) : m;
}

std::vector<TensorData> evaluate(const Workload& w, std::span<const TensorData> given) {
  if (!w.op->define) return call_host_function(*host_function_of(w), given);
  const PhysicalTypes types = physical_types(w);
  std::vector<TensorData> inputs;
  for (size_t i = 0; i < given.size(); ++i) inputs.push_back(to_logical(given[i], types.inputs[i]));
  const Module m = naive_module(w);
  std::vector<std::string> outputs;
  std::vector<InterpArg> args;
  for (const TensorData& t : inputs)  // the interpreter only reads them
    args.push_back({const_cast<char*>(t.bytes().data()), t.elements()});
  for (size_t i = inputs.size(); i < m.params.size(); ++i) {
    const int64_t elements = element_count(m.params[i].shape);
    outputs.emplace_back(static_cast<size_t>(elements * m.params[i].dtype.bytes()), '\0');
    args.push_back({nullptr, elements});
  }
  for (size_t o = 0; o < outputs.size(); ++o) args[inputs.size() + o].data = outputs[o].data();
  interpret(m, args);
  std::vector<TensorData> out;
  for (size_t o = 0; o < outputs.size(); ++o) {
    const Param& p = m.params[inputs.size() + o];
    out.push_back(to_physical({TensorType{p.dtype, p.shape}, std::move(outputs[o])}, types.outputs[o]));
  }
  return out;
}

std::vector<TensorData> call_host_function(const HostFunction& f, std::span<const TensorData> inputs) {
  std::vector<void*> tensors;
  std::vector<std::string> outputs;
  for (const TensorData& t : inputs) tensors.push_back(const_cast<char*>(t.bytes().data()));  // it only reads them
  for (const TensorType& t : f.outputs) outputs.emplace_back(static_cast<size_t>(bytes_of(t)), '\0');
  for (std::string& bytes : outputs) tensors.push_back(bytes.data());
  // The element type gives the workspace the largest alignment.
  std::vector<std::max_align_t> workspace(static_cast<size_t>(f.workspace_bytes) / sizeof(std::max_align_t) + 1);
  const int32_t code = f.call(f.numbers.data(), tensors.data(), workspace.data());
  HONE_USER_CHECK(code == 0) << "the model takes a branch that its shapes do not allow, or that is not supported";
  std::vector<TensorData> out;
  for (size_t o = 0; o < outputs.size(); ++o) out.emplace_back(f.outputs[o], std::move(outputs[o]));
  return out;
}

std::vector<TensorData> interpret(const Graph& g, const std::vector<TensorData>& inputs, const Evaluate& evaluate,
                                  const std::function<void(const Node&, const std::vector<TensorData>&)>& watch) {
  return interpret_nodes(
      g, inputs, [&](size_t n, std::span<const TensorData> in) { return evaluate(g.nodes[n].workload, in); }, watch);
}

std::vector<TensorData> interpret_nodes(const Graph& g, const std::vector<TensorData>& inputs,
                                        const EvaluateNode& evaluate,
                                        const std::function<void(const Node&, const std::vector<TensorData>&)>& watch) {
  IdVector<std::optional<TensorData>> values(g.values.size());
  for (size_t v = 0; v < g.values.size(); ++v) values[v] = g.values[v].constant;
  HONE_USER_CHECK(inputs.size() == g.inputs.size())
      << g.name << " takes " << g.inputs.size() << " inputs, not " << inputs.size();
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Port& p = g.inputs[i];
    HONE_USER_CHECK(inputs[i].type() == p.type) << "input '" << p.name << "' is " << to_string(inputs[i].type()) << "; "
                                                << g.name << " takes " << to_string(p.type);
    if (p.value != kNoValue) values[p.value] = inputs[i].reshaped(g.value(p.value).type.shape);
  }
  Uses uses = uses_of(g);
  IdVector<size_t> left;  // how often a value is still read
  for (size_t v = 0; v < g.values.size(); ++v) left.push_back(uses.readers[v].size() + (uses.is_output[v] ? 1 : 0));
  for (size_t number = 0; number < g.nodes.size(); ++number) {
    const Node& n = g.nodes[number];
    std::vector<TensorData> in;
    for (const ValueId v : n.inputs) in.push_back(*values[v]);
    std::vector<TensorData> out = evaluate(number, in);
    if (watch) watch(n, out);
    for (size_t o = 0; o < out.size(); ++o) values[n.outputs[o]] = std::move(out[o]);
    for (const ValueId v : n.inputs)
      if (--left[v] == 0) values[v].reset();
  }
  std::vector<TensorData> out;
  for (const Port& p : g.outputs)
    out.push_back(p.value == kNoValue ? TensorData(p.type, std::string()) : values[p.value]->reshaped(p.type.shape));
  return out;
}

}  // namespace hone
