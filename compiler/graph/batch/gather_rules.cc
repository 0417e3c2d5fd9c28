// Rules of operators that choose elements by indices.
#include "compiler/graph/batch/rules.h"
#include "compiler/ops/operator.h"

namespace hone {
namespace {

// data[.., axis, ..] by indices that stand where the axis was.
void gather(BatchedNode& n) {
  auto along = static_cast<size_t>(n.attributes().number("axis"));
  Stacked data = n.in[0];
  const Stacked& indices = n.in[1];
  HONE_USER_CHECK(!data.axis || !indices.axis) << "both its data and its indices differ between images";
  if (indices.axis) return n.give(n.call({}, {data, indices}), n.one(), along + *indices.axis);
  Extents made = n.one();
  if (*data.axis == along) {
    made = with(made, along, 1);
    data = n.stack.apart(data, along++);
  }
  n.give(n.call({{"axis", std::to_string(along)}}, {data, indices}), made,
         *data.axis < along ? *data.axis : *data.axis + indices.one.size() - 1);
}

// Each index chooses along one axis, in its own position along all others.
void gather_elements(BatchedNode& n) {
  const auto along = static_cast<size_t>(n.attributes().number("axis"));
  const size_t axis = n.in[0].axis ? *n.in[0].axis : *n.in[1].axis;
  const bool is_apart = axis == along || n.in[0].one[axis] != n.in[1].one[axis];
  std::vector<Stacked> inputs;
  for (const Stacked& x : n.in) inputs.push_back(is_apart ? n.stack.apart(x, axis) : n.stack.at(x, axis));
  n.give(n.call({{"axis", std::to_string(is_apart && along >= axis ? along + 1 : along)}}, inputs), inputs[1].one,
         axis);
}

// Rows of indices choose in the first axes of data; the others stand behind the indices' own.
void gather_nd(BatchedNode& n) {
  Stacked data = n.in[0], indices = n.in[1];
  const auto depth = static_cast<size_t>(indices.one.back());
  HONE_USER_CHECK(!data.axis || (!indices.axis && depth < data.one.size()))
      << "it chooses among the elements of all images";
  if (indices.axis) indices = indices.one.size() > 1 ? n.stack.at(indices, 0) : n.stack.apart(indices, 0);
  if (data.axis) data = n.stack.at(data, depth);
  Extents made(indices.one.begin(), indices.one.end() - 1);
  const size_t axis = data.axis ? made.size() : 0;
  made.insert(made.end(), data.one.begin() + static_cast<std::ptrdiff_t>(depth), data.one.end());
  n.give(n.call({}, {data, indices}), made, axis);
}

void lookup(BatchedNode& n) {
  n.require_shared(1, "table");
  n.give(n.call({}, {n.in[0], n.in[1]}), n.one(), *n.in[0].axis);
}

}  // namespace

void add_gather_rules(BatchRules& t) {
  t["gather"] = &gather;
  t["gather_elements"] = &gather_elements;
  t["gather_nd"] = &gather_nd;
  t["lookup"] = &lookup;
}

}  // namespace hone
