#include "compiler/graph/graph.h"

#include <unordered_set>

#include "base/check.h"
#include "compiler/ir/layout.h"
#include "compiler/ops/windows/physical.h"

namespace hone {

Uses uses_of(const Graph& g) {
  Uses u{IdVector<int>(g.values.size(), -1), IdVector<std::vector<int>>(g.values.size()),
         IdVector<bool>(g.values.size(), false)};
  for (size_t n = 0; n < g.nodes.size(); ++n) {
    for (const ValueId v : g.nodes[n].inputs) u.readers[v].push_back(static_cast<int>(n));
    for (const ValueId v : g.nodes[n].outputs) u.producer[v] = static_cast<int>(n);
  }
  each_value(g.outputs, [&](ValueId v) { u.is_output[v] = true; });
  return u;
}

const Node* producer_of(const Graph& g, const Uses& uses, ValueId v) {
  const int n = v == kNoValue ? -1 : uses.producer[v];
  return n < 0 ? nullptr : &g.nodes[n];
}

const Node* own_producer_of(const Graph& g, const Uses& uses, ValueId v) {
  return uses.is_output[v] || uses.readers[v].size() != 1 ? nullptr : producer_of(g, uses, v);
}

const Node* only_reader_of(const Graph& g, const Uses& uses, ValueId v) {
  return uses.is_output[v] || uses.readers[v].size() != 1 ? nullptr : &g.nodes[uses.readers[v][0]];
}

namespace {

// Throws UserError at the first fault; `node` says where it was then.
void look_for_faults(const Graph& g, int* node) {
  IdVector<bool> is_there(g.values.size(), false);
  const auto check_id = [&](ValueId v, std::string_view what) {
    HONE_USER_CHECK(v >= 0 && static_cast<size_t>(v) < g.values.size()) << what << " has a value that is none";
  };
  const auto become = [&](ValueId v, std::string_view what) {
    check_id(v, what);
    HONE_USER_CHECK(!is_there[v]) << "value %" << g.value(v).name << " is made twice, by " << what;
    is_there[v] = true;
  };
  std::unordered_set<std::string_view> names;
  for (size_t v = 0; v < g.values.size(); ++v) {
    const Value& value = g.values[v];
    HONE_USER_CHECK(!value.name.empty()) << "a value has no name";
    HONE_USER_CHECK(names.insert(value.name).second) << "two values are called %" << value.name;
    HONE_USER_CHECK(!value.type.shape.empty()) << "value %" << value.name << " is of rank 0";
    for (const int64_t n : value.type.shape)
      HONE_USER_CHECK(n >= 1) << "value %" << value.name << " is " << to_string(value.type);
    if (!value.constant) continue;
    HONE_USER_CHECK(value.constant->type() == value.type) << "constant %" << value.name << " is of another type";
    become(static_cast<ValueId>(v), "a constant");
  }
  const auto check_port = [&](const Port& p, const std::string& what) {
    const int64_t elements = element_count(p.type.shape);
    HONE_USER_CHECK((p.value == kNoValue) == (elements == 0))
        << what << " is " << to_string(p.type) << " and has " << (p.value == kNoValue ? "no" : "a") << " value";
    if (p.value == kNoValue) return;
    check_id(p.value, what);
    const TensorType& t = g.value(p.value).type;
    HONE_USER_CHECK(t.dtype == p.type.dtype && element_count(t.shape) == elements)
        << what << " is " << to_string(p.type) << ", its value " << to_string(t);
  };
  for (const Port& p : g.inputs) {
    const std::string what = "input '" + p.name + "'";
    check_port(p, what);
    if (p.value != kNoValue) become(p.value, what);
  }
  for (const Node& n : g.nodes) {
    *node = static_cast<int>(&n - g.nodes.data());
    const std::string what = to_string(n.workload);
    const PhysicalTypes types = physical_types(n.workload);
    HONE_USER_CHECK(types.inputs.size() == n.inputs.size() && types.outputs.size() == n.outputs.size())
        << what << " takes " << types.inputs.size() << " inputs and gives " << types.outputs.size() << " outputs, not "
        << n.inputs.size() << " and " << n.outputs.size();
    for (size_t i = 0; i < n.inputs.size(); ++i) {
      check_id(n.inputs[i], what);
      const Value& value = g.value(n.inputs[i]);
      HONE_USER_CHECK(is_there[n.inputs[i]]) << what << " reads %" << value.name << " before it is computed";
      HONE_USER_CHECK(value.type == types.inputs[i].type)
          << what << ": input " << i << ", %" << value.name << ", is " << to_string(value.type) << ", not "
          << to_string(types.inputs[i].type);
    }
    for (size_t i = 0; i < n.outputs.size(); ++i) {
      become(n.outputs[i], what);
      const Value& value = g.value(n.outputs[i]);
      HONE_USER_CHECK(value.type == types.outputs[i].type)
          << what << ": output %" << value.name << " is " << to_string(value.type) << ", not "
          << to_string(types.outputs[i].type);
    }
  }
  *node = -1;
  for (const Port& p : g.outputs) {
    const std::string what = "output '" + p.name + "'";
    check_port(p, what);
    HONE_USER_CHECK(p.value == kNoValue || is_there[p.value]) << what << " is not computed";
    if (!p.extent) continue;
    HONE_USER_CHECK(p.extent->axis < p.type.shape.size()) << what << " has no axis " << p.extent->axis;
    HONE_USER_CHECK(p.extent->count < g.outputs.size() && g.outputs[p.extent->count].type == (TensorType{i64, {1}}))
        << what << ": output " << p.extent->count << " is not a count";
  }
}

}  // namespace

std::optional<GraphFault> fault_of(const Graph& g) {
  int node = -1;
  try {
    look_for_faults(g, &node);
  } catch (const UserError& e) {
    return GraphFault{e.what(), node};
  }
  return std::nullopt;
}

void verify(const Graph& g) {
  const std::optional<GraphFault> fault = fault_of(g);
  HONE_ICHECK(!fault) << "graph " << g.name << ": " << fault->what;
}

}  // namespace hone
