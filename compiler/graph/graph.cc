#include "compiler/graph/graph.h"

#include <set>

#include "base/check.h"
#include "compiler/ir/layout.h"
#include "compiler/ops/physical.h"

namespace hone {

Uses uses_of(const Graph& g) {
  Uses u{std::vector<int>(g.values.size(), -1), std::vector<std::vector<int>>(g.values.size()),
         std::vector<bool>(g.values.size(), false)};
  for (size_t n = 0; n < g.nodes.size(); ++n) {
    for (const ValueId v : g.nodes[n].inputs) u.readers[static_cast<size_t>(v)].push_back(static_cast<int>(n));
    for (const ValueId v : g.nodes[n].outputs) u.producer[static_cast<size_t>(v)] = static_cast<int>(n);
  }
  for (const Port& p : g.outputs)
    if (p.value != kNoValue) u.is_output[static_cast<size_t>(p.value)] = true;
  return u;
}

void verify(const Graph& g) {
  std::vector<bool> is_there(g.values.size(), false);
  const auto check_id = [&](ValueId v, std::string_view what) {
    HONE_ICHECK(v >= 0 && static_cast<size_t>(v) < g.values.size()) << what << " is no value of graph " << g.name;
  };
  const auto become = [&](ValueId v, std::string_view what) {
    check_id(v, what);
    HONE_ICHECK(!is_there[static_cast<size_t>(v)]) << "value %" << g.value(v).name << " is made twice, by " << what;
    is_there[static_cast<size_t>(v)] = true;
  };
  std::set<std::string_view> names;
  for (size_t v = 0; v < g.values.size(); ++v) {
    const Value& value = g.values[v];
    HONE_ICHECK(names.insert(value.name).second) << "two values are called %" << value.name;
    HONE_ICHECK(!value.type.shape.empty()) << "value %" << value.name << " is of rank 0";
    for (const int64_t n : value.type.shape)
      HONE_ICHECK(n >= 1) << "value %" << value.name << " is " << to_string(value.type);
    if (!value.constant) continue;
    HONE_ICHECK(value.constant->type() == value.type) << "constant %" << value.name << " is of another type";
    become(static_cast<ValueId>(v), "a constant");
  }
  const auto check_port = [&](const Port& p) {
    HONE_ICHECK((p.value == kNoValue) == (element_count(p.type.shape) == 0)) << "port " << p.name;
    if (p.value == kNoValue) return;
    check_id(p.value, p.name);
    HONE_ICHECK(g.value(p.value).type.dtype == p.type.dtype &&
                element_count(g.value(p.value).type.shape) == element_count(p.type.shape))
        << "port " << p.name << " is " << to_string(p.type) << ", its value " << to_string(g.value(p.value).type);
  };
  for (const Port& p : g.inputs) {
    check_port(p);
    if (p.value != kNoValue) become(p.value, p.name);
  }
  for (const Node& n : g.nodes) {
    const std::string what = to_string(n.workload);
    const PhysicalTypes types = physical_types(n.workload);
    HONE_ICHECK(types.inputs.size() == n.inputs.size() && types.outputs.size() == n.outputs.size())
        << what << " has " << n.inputs.size() << " inputs and " << n.outputs.size() << " outputs";
    for (size_t i = 0; i < n.inputs.size(); ++i) {
      check_id(n.inputs[i], what);
      HONE_ICHECK(is_there[static_cast<size_t>(n.inputs[i])])
          << what << " reads %" << g.value(n.inputs[i]).name << " before it is computed";
      HONE_ICHECK(g.value(n.inputs[i]).type == types.inputs[i].type)
          << what << ": input " << i << ", %" << g.value(n.inputs[i]).name << ", is "
          << to_string(g.value(n.inputs[i]).type) << ", not " << to_string(types.inputs[i].type);
    }
    for (size_t i = 0; i < n.outputs.size(); ++i) {
      become(n.outputs[i], what);
      HONE_ICHECK(g.value(n.outputs[i]).type == types.outputs[i].type)
          << what << ": output %" << g.value(n.outputs[i]).name << " is " << to_string(g.value(n.outputs[i]).type)
          << ", not " << to_string(types.outputs[i].type);
    }
  }
  for (const Port& p : g.outputs) {
    check_port(p);
    HONE_ICHECK(p.value == kNoValue || is_there[static_cast<size_t>(p.value)]) << "output " << p.name << " is not made";
  }
}

}  // namespace hone
