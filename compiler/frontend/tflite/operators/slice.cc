// Parts of tensors.
#include <algorithm>
#include <numeric>

#include "compiler/frontend/tflite/node/node.h"
#include "compiler/ir/layout.h"

namespace hone::tflite {
namespace {

void slice(NodeContext& c) {
  const Operand& x = c.in(0);
  const Extents begin = c.constant_numbers(1, "begin");
  Extents size = c.constant_numbers(2, "size");
  HONE_USER_CHECK(begin.size() == x.rank() && size.size() == x.rank())
      << begin.size() << " places and " << size.size() << " extents of " << to_string(x.type);
  for (size_t d = 0; d < x.rank(); ++d) {
    const int64_t extent = x.type.shape[d];
    HONE_USER_CHECK(begin[d] >= 0 && begin[d] <= extent) << "place " << begin[d] << " of axis " << d;
    if (size[d] == -1) size[d] = extent - begin[d];
    HONE_USER_CHECK(size[d] >= 0 && size[d] <= extent - begin[d])
        << size[d] << " elements from " << begin[d] << " on, of axis " << d << " of " << to_string(x.type);
  }
  c.outputs[0] = c.l.cut(x, begin, Extents(x.rank(), 1), size);
}

// As numpy's x[begin:end:step, ...]: bits of the masks say of an entry that it has no begin or end, stands for all axes
// that are left, is a new axis, or takes one element whose axis goes.
void strided_slice(NodeContext& c) {
  constexpr int64_t kMostDistance = int64_t{1} << 48;  // more than any extent
  using Options = file::StridedSliceOptions;
  const Operand& x = c.in(0);
  const Extents begins = c.constant_numbers(1, "begin"), ends = c.constant_numbers(2, "end"),
                steps = c.constant_numbers(3, "strides");
  const size_t entries = begins.size();
  HONE_USER_CHECK(ends.size() == entries && steps.size() == entries)
      << "it has " << entries << " begins, " << ends.size() << " ends and " << steps.size() << " strides";
  const bool counts_from_begins = c.option(&Options::offset);
  const auto has = [&](int32_t (Options::*mask)() const, size_t i) {
    return ((static_cast<uint32_t>(c.option(mask)) >> i) & 1u) != 0;
  };
  size_t taken = 0, ellipses = 0;  // axes of x that entries are for
  for (size_t i = 0; i < entries; ++i) {
    const bool is_ellipsis = has(&Options::ellipsis_mask, i);
    ellipses += is_ellipsis;
    taken += !is_ellipsis && !has(&Options::new_axis_mask, i);
  }
  HONE_USER_CHECK(taken <= x.rank() && ellipses <= 1) << entries << " entries for " << to_string(x.type);
  Extents begin(x.rank(), 0), step(x.rank(), 1), size = x.type.shape, shape;
  size_t d = 0;
  for (size_t i = 0; i < entries; ++i) {
    if (has(&Options::ellipsis_mask, i)) {
      for (size_t left = x.rank() - taken; left > 0; --left) shape.push_back(x.type.shape[d++]);
      continue;
    }
    if (has(&Options::new_axis_mask, i)) {
      shape.push_back(1);
      continue;
    }
    const int64_t extent = x.type.shape[d], s = steps[i];
    HONE_USER_CHECK(s != 0 && s > -(int64_t{1} << 32) && s < int64_t{1} << 32) << "a stride of " << s;
    if (has(&Options::shrink_axis_mask, i)) {
      const int64_t at = begins[i] < 0 ? begins[i] + extent : begins[i];
      HONE_USER_CHECK(at >= 0 && at < extent)
          << "place " << begins[i] << " of axis " << d << " of " << to_string(x.type);
      begin[d] = at;
      size[d++] = 1;
      continue;
    }
    const auto position = [&](int64_t at) {
      if (at < 0) at += extent;  // no overflow: at is negative
      return s > 0 ? std::clamp<int64_t>(at, 0, extent) : std::clamp<int64_t>(at, -1, extent - 1);
    };
    const int64_t from = has(&Options::begin_mask, i) ? (s > 0 ? 0 : extent - 1) : position(begins[i]),
                  end = counts_from_begins ? from + std::clamp(ends[i], -kMostDistance, kMostDistance) : ends[i],
                  to = has(&Options::end_mask, i) ? (s > 0 ? extent : -1) : position(end);
    const int64_t distance = s > 0 ? to - from : from - to, stride = s > 0 ? s : -s;
    begin[d] = from;
    size[d] = distance <= 0 ? 0 : (distance - 1) / stride + 1;
    // A step beyond the extent is never taken.
    step[d] = size[d] <= 1 ? 1 : s;
    shape.push_back(size[d++]);
  }
  while (d < x.rank()) shape.push_back(x.type.shape[d++]);
  c.outputs[0] = c.l.reshape(c.l.cut(x, begin, step, size), shape);
}

// Parts of these extents along an axis, an output each.
void split_into(NodeContext& c, const Operand& x, size_t d, const Extents& sizes) {
  c.require_outputs(sizes.size());
  int64_t at = 0;
  for (size_t p = 0; p < sizes.size(); ++p) {
    Extents begin(x.rank(), 0), size = x.type.shape;
    begin[d] = at;
    size[d] = sizes[p];
    at += sizes[p];
    c.outputs[p] = c.l.cut(x, begin, Extents(x.rank(), 1), size);
  }
}

void split(NodeContext& c) {
  const Operand& x = c.in(1);
  const auto d = static_cast<size_t>(axis_of(c.constant_number(0, "axis"), x.rank()));
  const auto parts = static_cast<int64_t>(c.outputs.size());
  HONE_USER_CHECK(parts > 0 && x.type.shape[d] % parts == 0)
      << parts << " parts of axis " << d << " of " << to_string(x.type);
  split_into(c, x, d, Extents(c.outputs.size(), x.type.shape[d] / parts));
}

void split_v(NodeContext& c) {
  const Operand& x = c.in(0);
  Extents sizes = c.constant_numbers(1, "parts", c.outputs.size());
  const auto d = static_cast<size_t>(axis_of(c.constant_number(2, "axis"), x.rank()));
  const int64_t extent = x.type.shape[d];
  int64_t known = 0;
  for (const int64_t n : sizes) {
    HONE_USER_CHECK(n >= -1 && n <= extent) << "parts [" << join(sizes, ", ") << "] of " << to_string(x.type);
    known += std::max<int64_t>(0, n);
  }
  const auto open = std::find(sizes.begin(), sizes.end(), -1);
  if (open != sizes.end() && known <= extent) *open = extent - known, known = extent;
  HONE_USER_CHECK(known == extent && std::find(sizes.begin(), sizes.end(), -1) == sizes.end())
      << "parts [" << join(sizes, ", ") << "] of " << to_string(x.type);
  split_into(c, x, d, sizes);
}

void unpack(NodeContext& c) {
  const Operand& x = c.in(0);
  const auto d = static_cast<size_t>(axis_of(c.option(&file::UnpackOptions::axis), x.rank()));
  HONE_USER_CHECK(x.type.shape[d] == static_cast<int64_t>(c.outputs.size()))
      << c.outputs.size() << " parts of axis " << d << " of " << to_string(x.type);
  split_into(c, x, d, Extents(c.outputs.size(), 1));
  Extents shape = x.type.shape;
  shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(d));
  for (Operand& part : c.outputs) part = c.l.reshape(part, shape);
}

void reverse(NodeContext& c) {
  const Operand& x = c.in(0);
  Extents begin(x.rank(), 0), step(x.rank(), 1);
  for (const int64_t axis : c.constant_numbers(1, "axes")) {
    const auto d = static_cast<size_t>(axis_of(axis, x.rank()));
    begin[d] = std::max<int64_t>(0, x.type.shape[d] - 1);
    step[d] = -1;
  }
  c.outputs[0] = c.l.cut(x, begin, step, x.type.shape);
}

}  // namespace

void add_slice_operators(ConverterTable& t) {
  t.own[45] = {&strided_slice, Numbers::kMoved};
  t.own[49] = {&split, Numbers::kMoved};
  t.own[65] = {&slice, Numbers::kMoved};
  t.own[88] = {&unpack, Numbers::kMoved};
  t.own[102] = {&split_v, Numbers::kMoved};
  t.own[105] = {&reverse, Numbers::kMoved};
}

}  // namespace hone::tflite
