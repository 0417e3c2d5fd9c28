// Operators that move elements: shapes, axes, slices, indices.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "compiler/frontend/lowering/operators/tile.h"
#include "compiler/frontend/onnx/node/window_node.h"
#include "compiler/ir/layout.h"

namespace hone::onnx {
namespace {

// Whole numbers, at most `most`, as an attribute before `since`, else as input `input`; none where neither is there.
std::optional<Extents> numbers_of(const NodeContext& c, int64_t since, size_t input, std::string_view name,
                                  size_t most) {
  if (c.opset < since) return c.numbers(name);
  if (!c.has(input)) return std::nullopt;
  return c.constant_numbers(input, name, most);
}

std::optional<Extents> axes_of(const NodeContext& c, int64_t since, size_t input) {
  return numbers_of(c, since, input, "axes", kMostAxes);
}

void reshape(NodeContext& c) {
  const Operand& x = c.in(0);
  Extents to = c.constant_numbers(1, "shape");
  const bool keeps_zeros = c.number("allowzero", 0) != 0;
  int64_t known = 1, unknown = -1;
  for (size_t d = 0; d < to.size(); ++d) {
    if (to[d] == 0 && !keeps_zeros) {
      HONE_USER_CHECK(d < x.rank()) << "shape [" << join(to, ", ") << "] of " << to_string(x.type);
      to[d] = x.type.shape[d];
    }
    HONE_USER_CHECK(to[d] >= -1 && (to[d] != -1 || unknown < 0)) << "shape [" << join(to, ", ") << "]";
    if (to[d] == -1)
      unknown = static_cast<int64_t>(d);
    else
      known = element_count({known, to[d]});
  }
  if (unknown >= 0) {
    const int64_t all = element_count(x.type.shape);
    HONE_USER_CHECK(known > 0 && all % known == 0) << to_string(x.type) << " has no shape [" << join(to, ", ") << "]";
    to[static_cast<size_t>(unknown)] = all / known;
  }
  c.outputs[0] = c.l.reshape(x, to);
}

void flatten(NodeContext& c) {
  const Operand& x = c.in(0);
  const auto r = static_cast<int64_t>(x.rank());
  int64_t axis = c.number("axis", 1);
  HONE_USER_CHECK(axis >= -r && axis <= r) << "axis " << axis << " of " << to_string(x.type);
  if (axis < 0) axis += r;
  const auto at = x.type.shape.begin() + axis;
  c.outputs[0] = c.l.reshape(x, {element_count({x.type.shape.begin(), at}), element_count({at, x.type.shape.end()})});
}

void squeeze(NodeContext& c) {
  const Operand& x = c.in(0);
  const auto axes = axes_of(c, 13, 1);
  std::vector<bool> goes(x.rank(), false);
  for (size_t d = 0; d < x.rank() && !axes; ++d) goes[d] = x.type.shape[d] == 1;
  for (const int64_t a : axes.value_or(Extents{})) goes[static_cast<size_t>(axis_of(a, x.rank()))] = true;
  Extents shape;
  for (size_t d = 0; d < x.rank(); ++d) {
    HONE_USER_CHECK(!goes[d] || x.type.shape[d] == 1) << "axis " << d << " of " << to_string(x.type);
    if (!goes[d]) shape.push_back(x.type.shape[d]);
  }
  c.outputs[0] = c.l.reshape(x, shape);
}

void unsqueeze(NodeContext& c) {
  const Operand& x = c.in(0);
  const auto axes = axes_of(c, 13, 1);
  HONE_USER_CHECK(axes) << "it has no axes";
  const size_t rank = x.rank() + axes->size();
  HONE_USER_CHECK(rank <= kMostAxes) << "a tensor of " << rank << " axes; " << kMostAxes << " are the most";
  std::vector<bool> is_new(rank, false);
  for (const int64_t a : *axes) is_new[static_cast<size_t>(axis_of(a, rank))] = true;
  HONE_USER_CHECK(std::count(is_new.begin(), is_new.end(), true) == static_cast<std::ptrdiff_t>(axes->size()))
      << "axes [" << join(*axes, ", ") << "] name an axis twice";
  Extents shape;
  auto old = x.type.shape.begin();
  for (size_t d = 0; d < rank; ++d) shape.push_back(is_new[d] ? 1 : *old++);
  c.outputs[0] = c.l.reshape(x, shape);
}

void transpose(NodeContext& c) {
  const Operand& x = c.in(0);
  Extents perm(x.rank());
  for (size_t d = 0; d < perm.size(); ++d) perm[d] = static_cast<int64_t>(perm.size() - 1 - d);
  perm = c.numbers("perm").value_or(perm);
  Extents sorted = perm;
  std::sort(sorted.begin(), sorted.end());
  bool is_order = sorted.size() == x.rank();
  for (size_t d = 0; d < sorted.size(); ++d) is_order = is_order && sorted[d] == static_cast<int64_t>(d);
  HONE_USER_CHECK(is_order) << "perm [" << join(perm, ", ") << "] of " << to_string(x.type);
  c.outputs[0] = c.l.transpose(x, perm);
}

void concat(NodeContext& c) {
  std::vector<Operand> parts;
  for (size_t i = 0; i < c.inputs.size(); ++i) parts.push_back(c.in(i));
  HONE_USER_CHECK(!parts.empty()) << "it has no inputs";
  const int64_t axis = axis_of(c.number("axis", c.opset < 4 ? 1 : 0), parts[0].rank());
  c.outputs[0] = c.l.concat(parts, axis);
}

void slice(NodeContext& c) {
  const Operand& x = c.in(0);
  const bool by_inputs = c.opset >= 10;
  const Extents starts = by_inputs ? c.constant_numbers(1, "start") : c.numbers("starts").value_or(Extents{}),
                ends = by_inputs ? c.constant_numbers(2, "end") : c.numbers("ends").value_or(Extents{});
  Extents axes(starts.size());
  std::iota(axes.begin(), axes.end(), 0);
  if (const auto given = axes_of(c, 10, 3)) axes = *given;
  const Extents steps = by_inputs && c.has(4) ? c.constant_numbers(4, "steps") : Extents(starts.size(), 1);
  HONE_USER_CHECK(starts.size() == ends.size() && axes.size() == starts.size() && steps.size() == starts.size())
      << "it has " << starts.size() << " starts, " << ends.size() << " ends, " << axes.size() << " axes";
  Extents begin(x.rank(), 0), step(x.rank(), 1), size = x.type.shape;
  for (size_t i = 0; i < starts.size(); ++i) {
    const auto d = static_cast<size_t>(axis_of(axes[i], x.rank()));
    const int64_t extent = x.type.shape[d], s = steps[i];
    HONE_USER_CHECK(s != 0 && s > INT64_MIN) << "a step of " << s;
    const auto position = [&](int64_t at) {
      if (at < 0) at += extent;  // no overflow: at is negative
      return s > 0 ? std::clamp<int64_t>(at, 0, extent) : std::clamp<int64_t>(at, -1, extent - 1);
    };
    const int64_t from = position(starts[i]), to = position(ends[i]);
    const int64_t distance = s > 0 ? to - from : from - to, stride = s > 0 ? s : -s;
    begin[d] = from;
    step[d] = s;
    size[d] = distance <= 0 ? 0 : (distance - 1) / stride + 1;
    // A step beyond the extent is never taken.
    if (size[d] <= 1) step[d] = 1;
  }
  c.outputs[0] = c.l.slice(x, begin, step, size);
}

void split(NodeContext& c) {
  const Operand& x = c.in(0);
  const int64_t axis = axis_of(c.number("axis", 0), x.rank());
  const auto d = static_cast<size_t>(axis);
  const int64_t extent = x.type.shape[d], parts = c.node.output_size();
  Extents sizes;
  if (const auto given = numbers_of(c, 13, 1, "split", static_cast<size_t>(parts))) {
    sizes = *given;
  } else {
    const int64_t each = (extent + parts - 1) / parts;
    for (int64_t p = 0; p < parts; ++p) sizes.push_back(std::min(each, extent - std::min(extent, p * each)));
  }
  HONE_USER_CHECK(static_cast<int64_t>(sizes.size()) == parts &&
                  std::all_of(sizes.begin(), sizes.end(), [&](int64_t n) { return n >= 0 && n <= extent; }) &&
                  std::accumulate(sizes.begin(), sizes.end(), int64_t{0}) == extent)
      << "parts [" << join(sizes, ", ") << "] of " << to_string(x.type);
  int64_t at = 0;
  for (size_t p = 0; p < sizes.size(); ++p) {
    Extents begin(x.rank(), 0), size = x.type.shape;
    begin[d] = at;
    size[d] = sizes[p];
    at += sizes[p];
    if (!c.node.output(static_cast<int>(p)).empty()) c.outputs[p] = c.l.slice(x, begin, Extents(x.rank(), 1), size);
  }
}

void gather(NodeContext& c) {
  const Operand &x = c.in(0), &indices = c.in(1);
  const int64_t axis = axis_of(c.number("axis", 0), x.rank());
  const auto d = static_cast<size_t>(axis);
  Extents shape(x.type.shape.begin(), x.type.shape.begin() + axis);
  shape.insert(shape.end(), indices.type.shape.begin(), indices.type.shape.end());
  shape.insert(shape.end(), x.type.shape.begin() + axis + 1, x.type.shape.end());
  if (element_count(shape) == 0) return void(c.outputs[0] = {kNoValue, {x.type.dtype, shape}});
  // One known index is a slice.
  if (const auto data = c.l.data_of(indices); data && data->elements() == 1 && data->type().dtype.is_integer()) {
    int64_t at = data->numbers()[0];
    const int64_t extent = x.type.shape[d];
    HONE_USER_CHECK(at >= -extent && at < extent)
        << "index " << at << " of axis " << axis << " of " << to_string(x.type);
    Extents begin(x.rank(), 0), size = x.type.shape;
    begin[d] = at < 0 ? at + extent : at;
    size[d] = 1;
    return void(c.outputs[0] = c.l.reshape(c.l.slice(x, begin, Extents(x.rank(), 1), size), shape));
  }
  c.outputs[0] = c.l.add("gather", {{"axis", std::to_string(axis)}}, {c.l.value(x), c.l.value(indices)}, shape);
}

void gather_elements(NodeContext& c) {
  const Operand& x = c.in(0);
  c.outputs[0] = c.l.add("gather_elements", {{"axis", std::to_string(axis_of(c.number("axis", 0), x.rank()))}},
                         {c.l.value(x), c.l.value(c.in(1))});
}

void gather_nd(NodeContext& c) {
  const Operand& x = c.in(0);
  Operand indices = c.in(1);
  // The positions of the batch become the first indices.
  const int64_t batch = c.number("batch_dims", 0);
  HONE_USER_CHECK(batch >= 0 && batch < static_cast<int64_t>(std::min(x.rank(), indices.rank())))
      << "batch_dims=" << batch << " of " << to_string(x.type);
  for (int64_t d = batch; d-- > 0;) {
    const int64_t extent = x.type.shape[static_cast<size_t>(d)];
    HONE_USER_CHECK(indices.type.shape[static_cast<size_t>(d)] == extent && c.l.may_make(element_count({extent, 8})))
        << to_string(indices.type) << " of " << to_string(x.type);
    Extents positions(static_cast<size_t>(extent)), along(indices.rank(), 1), shape = indices.type.shape;
    std::iota(positions.begin(), positions.end(), 0);
    along[static_cast<size_t>(d)] = extent;
    shape.back() = 1;
    const Operand position =
        c.l.broadcast(c.l.reshape(c.l.cast(c.l.numbers(positions), indices.type.dtype), along), shape);
    indices = c.l.concat({position, indices}, static_cast<int64_t>(indices.rank()) - 1);
  }
  HONE_USER_CHECK(indices.rank() >= 1 && static_cast<size_t>(indices.type.shape.back()) <= x.rank())
      << "indices " << to_string(indices.type) << " of " << to_string(x.type);
  Extents shape(indices.type.shape.begin(), indices.type.shape.end() - 1);
  shape.insert(shape.end(), x.type.shape.begin() + indices.type.shape.back(), x.type.shape.end());
  c.outputs[0] = c.l.add("gather_nd", {}, {c.l.value(x), c.l.value(indices)}, shape);
}

void expand(NodeContext& c) {
  const Operand& x = c.in(0);
  c.outputs[0] = c.l.broadcast(x, broadcast_shape({x.type.shape, c.constant_numbers(1, "shape")}));
}

void repeat(NodeContext& c) { c.outputs[0] = tile(c.l, c.in(0), c.constant_numbers(1, "repeats")); }

void pad(NodeContext& c) {
  Operand x = c.in(0);
  const Extents pads = pads_of(c);
  double value = c.opset >= 11 ? 0 : c.real("value", 0);
  if (c.opset >= 11 && c.has(2)) {
    const TensorData data = c.constant(2, "value");
    HONE_USER_CHECK(data.elements() == 1) << "its value is " << to_string(data.type());
    value = data.values()[0];
  }
  HONE_USER_CHECK(x.type.dtype.is_float() || std::abs(value) < 0x1p53) << "it pads with " << value;
  // Negative pads cut.
  Extents begin(x.rank(), 0), size = x.type.shape, before(x.rank()), after(x.rank()), shape;
  for (size_t d = 0; d < x.rank(); ++d) {
    const int64_t first = pads[d], last = pads[d + x.rank()];
    for (const int64_t n : {first, last})
      HONE_USER_CHECK(n > -(int64_t{1} << 32) && n < int64_t{1} << 32) << "a pad of " << n;
    begin[d] = std::max<int64_t>(0, -first);
    size[d] = std::max<int64_t>(0, size[d] - begin[d] - std::max<int64_t>(0, -last));
    before[d] = std::max<int64_t>(0, first);
    after[d] = std::max<int64_t>(0, last);
    shape.push_back(size[d] + before[d] + after[d]);
  }
  x = c.l.slice(x, begin, Extents(x.rank(), 1), size);
  if (shape == size) return void(c.outputs[0] = x);
  if (x.is_empty()) {
    HONE_USER_CHECK(c.text("mode", "constant") == "constant") << "it repeats elements of a tensor that has none";
    return void(c.outputs[0] = c.l.filled(value, {x.type.dtype, shape}));
  }
  std::string number = number_text(value, x.type.dtype);
  if (x.type.dtype.is_integer() || x.type.dtype.is_bool())
    number = fmt::format("{}", static_cast<int64_t>(value));
  else if (number.ends_with(".0"))
    number.resize(number.size() - 2);
  AttributeTexts given{{"before", join(before)}, {"after", join(after)}, {"mode", c.text("mode", "constant")}};
  if (given[2].second == "constant") given.emplace_back("value", number);
  c.outputs[0] = c.l.add("pad", given, {c.l.value(x)}, shape);
}

void depth_to_space(NodeContext& c) {
  const Operand& x = c.in(0);
  const int64_t k = c.number("blocksize", 1);
  HONE_USER_CHECK(x.rank() == 4 && k >= 1 && k < 65536 && x.type.shape[1] % (k * k) == 0)
      << "blocks of " << k << " in " << to_string(x.type);
  const Extents& s = x.type.shape;
  const int64_t depth = s[1] / (k * k);
  const bool dcr = c.text("mode", "DCR") == "DCR";
  const Operand apart =
      c.l.reshape(x, dcr ? Extents{s[0], k, k, depth, s[2], s[3]} : Extents{s[0], depth, k, k, s[2], s[3]});
  const Operand moved = c.l.transpose(apart, dcr ? Extents{0, 3, 4, 1, 5, 2} : Extents{0, 1, 4, 2, 5, 3});
  c.outputs[0] = c.l.reshape(moved, {s[0], depth, s[2] * k, s[3] * k});
}

void space_to_depth(NodeContext& c) {
  const Operand& x = c.in(0);
  const int64_t k = c.number("blocksize", 1);
  HONE_USER_CHECK(x.rank() == 4 && k >= 1 && k < 65536 && x.type.shape[2] % k == 0 && x.type.shape[3] % k == 0)
      << "blocks of " << k << " in " << to_string(x.type);
  const Extents& s = x.type.shape;
  const Operand apart = c.l.reshape(x, {s[0], s[1], s[2] / k, k, s[3] / k, k});
  c.outputs[0] = c.l.reshape(c.l.transpose(apart, {0, 3, 5, 1, 2, 4}), {s[0], s[1] * k * k, s[2] / k, s[3] / k});
}

}  // namespace

void add_movement_operators(ConverterTable& t) {
  t[":Reshape"] = &reshape;
  t[":Flatten"] = &flatten;
  t[":Squeeze"] = &squeeze;
  t[":Unsqueeze"] = &unsqueeze;
  t[":Transpose"] = &transpose;
  t[":Concat"] = &concat;
  t[":Slice"] = &slice;
  t[":Split"] = &split;
  t[":Gather"] = &gather;
  t[":GatherElements"] = &gather_elements;
  t[":GatherND"] = &gather_nd;
  t[":Expand"] = &expand;
  t[":Tile"] = &repeat;
  t[":Pad"] = &pad;
  t[":DepthToSpace"] = &depth_to_space;
  t[":SpaceToDepth"] = &space_to_depth;
}

}  // namespace hone::onnx
