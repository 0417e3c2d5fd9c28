#include "compiler/model/plan/wide_nodes.h"

#include <algorithm>
#include <cctype>
#include <cstring>

#include "base/check.h"
#include "compiler/model/pack/store_float.h"
#include "compiler/ops/operator.h"
#include "compiler/ops/user_operator.h"
#include "compiler/ops/windows/physical.h"

namespace hone {
namespace {

// The text of a workload with every float type in it f64.
std::string widened(const std::string& text) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    size_t end = i;
    while (end < text.size() && std::isalnum(static_cast<unsigned char>(text[end]))) ++end;
    const std::string word = text.substr(i, end - i);
    out += word == "f16" || word == "bf16" || word == "f32" ? "f64" : word;
    if (end < text.size()) out += text[end];
    i = end + 1;
  }
  return out;
}

// Nothing where the operator has no f64.
std::optional<Workload> in_f64(const Workload& w) {
  if (!w.op->define || is_user_operator(w)) return std::nullopt;
  try {
    return Workload::parse_of(w.op, widened(to_string(w)));
  } catch (const UserError&) {
    return std::nullopt;
  }
}

TensorData converted(const TensorData& data, DType to) {
  const DType from = data.type().dtype;
  if (from == to || !from.is_float() || !to.is_float()) return data;
  const std::vector<double> values = data.values();
  const auto each = static_cast<size_t>(to.bytes());
  std::string bytes(values.size() * each, '\0');
  for (size_t i = 0; i < values.size(); ++i) store_float(bytes.data() + i * each, to, values[i]);
  return {{to, data.type().shape}, std::move(bytes)};
}

}  // namespace

WideNodes::WideNodes(const Graph& g) : g_(g), wide_(g.nodes.size()), is_wide_(g.values.size(), false) {
  const Uses uses = uses_of(g);
  const auto wide = [&](size_t n) -> bool {
    if (!wide_[n]) wide_[n] = in_f64(g.nodes[n].workload);
    return wide_[n].has_value();
  };
  for (size_t v = 0; v < g.values.size(); ++v) {
    const int made_by = uses.producer[v];
    if (made_by < 0 || !g.values[v].type.dtype.is_narrow_float() || uses.is_output[v] || uses.readers[v].empty())
      continue;
    const Node& n = g.nodes[made_by];
    const auto is_step = [&](int reader) {
      const size_t r = static_cast<size_t>(reader);
      return g.nodes[r].origin == n.origin && wide(r);
    };
    is_wide_[v] = !n.origin.empty() && wide(static_cast<size_t>(made_by)) &&
                  std::all_of(uses.readers[v].begin(), uses.readers[v].end(), is_step);
  }
  // Nodes that neither read nor make such a value stay as they are.
  for (size_t n = 0; n < g.nodes.size(); ++n) {
    const auto touches = [&](const std::vector<ValueId>& values) {
      return std::any_of(values.begin(), values.end(), [&](ValueId v) { return is_wide_[static_cast<size_t>(v)]; });
    };
    if (!touches(g.nodes[n].inputs) && !touches(g.nodes[n].outputs)) wide_[n].reset();
  }
}

std::vector<TensorData> WideNodes::evaluate(size_t n, std::span<const TensorData> inputs,
                                            const Evaluate& evaluate) const {
  const Node& node = g_.nodes[n];
  if (!wide_[n]) return evaluate(node.workload, inputs);
  const PhysicalTypes types = physical_types(*wide_[n]);
  std::vector<TensorData> in;
  for (size_t i = 0; i < inputs.size(); ++i) in.push_back(converted(inputs[i], types.inputs[i].type.dtype));
  std::vector<TensorData> out = evaluate(*wide_[n], in);
  for (size_t o = 0; o < out.size(); ++o) {
    const auto v = static_cast<size_t>(node.outputs[o]);
    if (!is_wide_[v]) out[o] = converted(out[o], g_.values[v].type.dtype);
  }
  return out;
}

size_t WideNodes::count() const {
  return static_cast<size_t>(std::count_if(wide_.begin(), wide_.end(), [](const auto& w) { return w.has_value(); }));
}

}  // namespace hone
