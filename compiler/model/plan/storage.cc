#include "compiler/model/plan/storage.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "compiler/ir/extents.h"
#include "compiler/ir/layout.h"
#include "compiler/model/plan/layers.h"

namespace hone {
namespace {

// Elements from x's first to those of a slice, where these follow each other in memory; -1: they do not. All axes
// in front of the cut one have one element in the slice, and those behind it all of theirs.
int64_t first_of_slice(const Workload& w) {
  const auto& shape = w.attributes.get<Extents>("shape");
  const auto &begin = w.attributes.get<Extents>("begin"), &step = w.attributes.get<Extents>("step"),
             &size = w.attributes.get<Extents>("size");
  int64_t first = 0, stride = 1;
  bool is_cut = false;
  for (size_t d = shape.size(); d-- > 0;) {
    if (size[d] > 1 && (step[d] != 1 || is_cut)) return -1;
    is_cut |= size[d] != shape[d];
    first += begin[d] * stride;
    stride *= shape[d];
  }
  return first;
}

// Whether a concatenation's inputs do in its output.
bool follow_each_other(const Graph& g, const Node& n) {
  const auto& shape = g.value(n.outputs[0]).type.shape;
  const auto axis = static_cast<ptrdiff_t>(n.workload.attributes.number("axis"));
  return std::all_of(shape.begin(), shape.begin() + axis, [](int64_t extent) { return extent == 1; });
}

}  // namespace

Storage::Storage(const Graph& g, const Growth* growth, int64_t alignment)
    : alignment_(alignment), parts_(g.values.size()), is_free_(g.nodes.size(), false), why_copied_(g.nodes.size()) {
  for (size_t v = 0; v < parts_.size(); ++v) parts_[v].root = static_cast<ValueId>(v);
  // Values whose slot is fixed: the caller's tensors, and constants.
  std::vector<bool> is_fixed(g.values.size(), false);
  for (size_t v = 0; v < g.values.size(); ++v) is_fixed[v] = g.values[v].constant.has_value();
  for (const auto* ports : {&g.inputs, &g.outputs})
    for (const Port& p : *ports)
      if (p.value != kNoValue) is_fixed[static_cast<size_t>(p.value)] = true;
  for (size_t i = 0; i < g.nodes.size(); ++i) {
    const Node& n = g.nodes[i];
    if (is_view(n)) {
      lie_in(n.outputs[0], n.inputs[0], 0);
      // A view of a computed value lies in an output's tensor, and then so does the value.
      if (is_fixed[static_cast<size_t>(n.outputs[0])]) is_fixed[static_cast<size_t>(root(n.inputs[0]))] = true;
      is_free_[i] = true;
    } else if (is<ops::Slice>(n) && !g.is_constant(root(n.inputs[0]))) {
      const int64_t first = first_of_slice(n.workload);
      if (first < 0) {
        why_copied_[i] = "its elements do not follow each other in its input";
        continue;
      }
      const int64_t offset = first * g.value(n.outputs[0]).type.dtype.bytes();
      if ((slot_of(n.inputs[0]).offset + offset) % alignment_ != 0) {
        why_copied_[i] = "the device's buffers do not begin where it does";
        continue;
      }
      lie_in(n.outputs[0], n.inputs[0], offset);
      is_free_[i] = true;
    }
  }
  // Views may stand behind a concatenation: whether its inputs are fixed is known only now. The longest ones come
  // first: of lists that grow, all others are parts of the last.
  std::vector<size_t> joints;
  for (size_t i = 0; i < g.nodes.size(); ++i)
    if (cache_made_by(g, growth, g.nodes[i]))
      is_free_[i] = true;
    else if (is<ops::Concat>(g.nodes[i]))
      joints.push_back(i);
  const auto bytes = [&](size_t i) { return bytes_of(g.value(g.nodes[i].outputs[0]).type); };
  std::stable_sort(joints.begin(), joints.end(), [&](size_t a, size_t b) { return bytes(a) > bytes(b); });
  for (const size_t i : joints) {
    if (!is_part(g, g.nodes[i], is_fixed)) why_copied_[i] = join(g, g.nodes[i], is_fixed);
    is_free_[i] = why_copied_[i].empty();
  }
}

Storage::Part Storage::slot_of(ValueId v) const {
  Part p{v, 0};
  for (;;) {
    const Part& in = parts_[static_cast<size_t>(p.root)];
    if (in.root == p.root) return p;
    p = {in.root, p.offset + in.offset};
  }
}

// Whether the inputs lie one behind the other in one buffer already; the output is then a part of it, too.
bool Storage::is_part(const Graph& g, const Node& n, const std::vector<bool>& is_fixed) {
  const ValueId out = n.outputs[0];
  const Part first = slot_of(n.inputs[0]);
  if (is_fixed[static_cast<size_t>(out)] || root(out) != out || first.root == out) return false;
  if (!follow_each_other(g, n)) return false;
  int64_t end = first.offset;
  for (const ValueId v : n.inputs) {
    const Part p = slot_of(v);
    if (p.root != first.root || p.offset != end) return false;
    end += bytes_of(g.value(v).type);
  }
  lie_in(out, first.root, first.offset);
  return true;
}

// The inputs become parts of the output, where each is a whole buffer of the arena by itself. Empty, or why not.
std::string Storage::join(const Graph& g, const Node& n, const std::vector<bool>& is_fixed) {
  if (!follow_each_other(g, n)) return "its inputs do not follow each other in the output";
  const ValueId own = root(n.outputs[0]);
  std::set<ValueId> roots;
  for (const ValueId v : n.inputs) {
    const Part p = slot_of(v);
    const std::string name = "%" + g.value(v).name;
    if (g.is_constant(p.root)) return name + " is a constant";
    if (is_fixed[static_cast<size_t>(p.root)]) return name + " lies in a tensor of the caller";
    if (p.root == own || !roots.insert(p.root).second) return name + " would have to lie in two places";
    if (p.offset != 0 || bytes_of(g.value(p.root).type) != bytes_of(g.value(v).type))
      return fmt::format("{} is a part of %{}", name, g.value(p.root).name);
  }
  int64_t offset = 0;
  for (const ValueId v : n.inputs) {
    if ((slot_of(n.outputs[0]).offset + offset) % alignment_ != 0)
      return "the device's buffers do not begin where its inputs would";
    offset += bytes_of(g.value(v).type);
  }
  offset = 0;
  for (const ValueId v : n.inputs) {
    lie_in(root(v), n.outputs[0], offset);
    offset += bytes_of(g.value(v).type);
  }
  return "";
}

}  // namespace hone
