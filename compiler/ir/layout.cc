#include "compiler/ir/layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstring>

#include "base/check.h"

namespace hone {

int64_t element_count(const std::vector<int64_t>& shape) {
  constexpr int64_t kLimit = int64_t{1} << 48;
  int64_t n = 1;
  for (int64_t extent : shape) {
    HONE_USER_CHECK(extent >= 0 && (extent == 0 || n <= kLimit / extent))
        << "tensor [" << fmt::format("{}", fmt::join(shape, ",")) << "] has more than 2^48 elements";
    n *= extent;
  }
  return n;
}

Layout Layout::identity(const std::vector<int64_t>& shape) {
  Layout layout;
  for (size_t i = 0; i < shape.size(); ++i) layout.dims.push_back({static_cast<int>(i), 1, shape[i]});
  return layout;
}

Layout Layout::parse(std::string_view name, std::string_view letters, const std::vector<int64_t>& shape) {
  HONE_ICHECK(letters.size() == shape.size()) << "one letter an axis";
  Layout layout;
  size_t i = 0;
  std::vector<int64_t> inner(shape.size(), 1);  // product of the blocks of an axis
  while (i < name.size()) {
    int64_t block = 0;
    while (i < name.size() && std::isdigit(static_cast<unsigned char>(name[i])) && block < (1 << 20))
      block = block * 10 + (name[i++] - '0');
    const char c = i < name.size() ? name[i++] : '?';
    const size_t axis = letters.find(static_cast<char>(std::toupper(static_cast<unsigned char>(c))));
    const bool outer = std::isupper(static_cast<unsigned char>(c));
    HONE_USER_CHECK(axis != std::string_view::npos && (outer ? block == 0 : block > 0))
        << "layout '" << name << "' is malformed at '" << c << "'; it is made of the axes " << letters
        << " and inner blocks such as 16"
        << static_cast<char>(std::tolower(static_cast<unsigned char>(letters.back())));
    if (!outer) inner[axis] *= block;
    layout.dims.push_back({static_cast<int>(axis), outer ? 0 : 1, outer ? 0 : block});
  }
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    int64_t stride = 1;
    int outer_count = 0;
    for (auto dim = layout.dims.rbegin(); dim != layout.dims.rend(); ++dim) {
      if (dim->axis != static_cast<int>(axis)) continue;
      const bool outer = dim->stride == 0;
      outer_count += outer;
      dim->stride = stride;
      if (outer) dim->extent = (shape[axis] + inner[axis] - 1) / inner[axis];
      HONE_USER_CHECK(!outer || stride == inner[axis])
          << "layout '" << name << "': axis " << letters[axis] << " must stand before its blocks";
      stride *= dim->extent;
    }
    HONE_USER_CHECK(outer_count == 1) << "layout '" << name << "' must name each of " << letters << " once";
  }
  return layout;
}

std::string Layout::name(std::string_view letters) const {
  std::string out;
  for (size_t i = 0; i < dims.size(); ++i) {
    const bool outer = std::none_of(dims.begin(), dims.end(), [&](const LayoutDim& d) {
      return d.axis == dims[i].axis && d.stride > dims[i].stride;
    });
    const bool first = outer && std::none_of(dims.begin(), dims.begin() + i, [&](const LayoutDim& d) {
                         return d.axis == dims[i].axis && d.stride == dims[i].stride;
                       });
    const char letter = letters[dims[i].axis];
    if (first)
      out += letter;
    else
      out += fmt::format("{}{}", dims[i].extent, static_cast<char>(std::tolower(static_cast<unsigned char>(letter))));
  }
  return out;
}

std::vector<int64_t> Layout::physical_shape() const {
  std::vector<int64_t> shape;
  for (const LayoutDim& d : dims) shape.push_back(d.extent);
  return shape;
}

int64_t Layout::physical_size() const { return element_count(physical_shape()); }

void Layout::validate(const std::vector<int64_t>& shape) const {
  HONE_USER_CHECK(dims.size() <= 32) << "layout has more than 32 dimensions";
  for (const LayoutDim& d : dims)
    HONE_USER_CHECK(d.axis >= 0 && d.axis < static_cast<int>(shape.size()) && d.extent >= 1 && d.stride >= 1)
        << "layout dimension (axis " << d.axis << ", stride " << d.stride << ", extent " << d.extent
        << ") is out of range";
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    std::vector<LayoutDim> of_axis;
    for (const LayoutDim& d : dims)
      if (d.axis == static_cast<int>(axis)) of_axis.push_back(d);
    std::stable_sort(of_axis.begin(), of_axis.end(), [](const auto& a, const auto& b) {
      return a.stride != b.stride ? a.stride < b.stride : a.extent < b.extent;
    });
    int64_t next = 1;
    for (const LayoutDim& d : of_axis) {
      HONE_USER_CHECK(d.stride == next) << "layout dimensions do not split axis " << axis << ": stride " << d.stride
                                        << " after " << next;
      HONE_USER_CHECK(d.extent <= (int64_t{1} << 40) / next) << "layout of axis " << axis << " is too large";
      next *= d.extent;
    }
    HONE_USER_CHECK(!of_axis.empty() && next >= shape[axis])
        << "layout covers " << next << " of axis " << axis << "'s " << shape[axis];
  }
  physical_size();
}

namespace {

// One loop of the copy: its extent, and a step's increment of each side and of each logical coordinate.
struct Walk {
  const std::vector<int64_t>& shape;
  const Layout& layout;
  std::vector<int64_t> logical_stride;
  std::vector<int64_t> coordinate;

  Walk(const std::vector<int64_t>& s, const Layout& l)
      : shape(s), layout(l), logical_stride(s.size()), coordinate(s.size(), 0) {
    int64_t stride = 1;
    for (size_t i = s.size(); i-- > 0; stride *= s[i]) logical_stride[i] = stride;
  }

  // Calls run(physical offset, logical offset, logical step, how many are inside, how many in all) for each innermost
  // run.
  template <class F>
  void for_each_run(const F& run, size_t dim, int64_t physical, int64_t logical, bool inside) {
    const LayoutDim& d = layout.dims[dim];
    const int64_t step = logical_stride[d.axis] * d.stride;
    if (dim + 1 == layout.dims.size()) {
      int64_t valid =
          inside ? std::min<int64_t>(d.extent, (shape[d.axis] - coordinate[d.axis] + d.stride - 1) / d.stride) : 0;
      run(physical * d.extent, logical, step, std::max<int64_t>(valid, 0), d.extent);
      return;
    }
    const int64_t before = coordinate[d.axis];
    for (int64_t i = 0; i < d.extent; ++i) {
      for_each_run(run, dim + 1, physical * d.extent + i, logical + i * step,
                   inside && coordinate[d.axis] < shape[d.axis]);
      coordinate[d.axis] += d.stride;
    }
    coordinate[d.axis] = before;
  }
};

template <class T>
void pack_as(const void* logical, void* physical, const std::vector<int64_t>& shape, const Layout& layout) {
  const T* from = static_cast<const T*>(logical);
  T* to = static_cast<T*>(physical);
  if (layout.dims.empty()) {
    *to = *from;
    return;
  }
  Walk(shape, layout)
      .for_each_run(
          [&](int64_t p, int64_t l, int64_t step, int64_t valid, int64_t all) {
            for (int64_t i = 0; i < valid; ++i) to[p + i] = from[l + i * step];
            for (int64_t i = valid; i < all; ++i) to[p + i] = T{0};
          },
          0, 0, 0, true);
}

template <class T>
void unpack_as(const void* physical, void* logical, const std::vector<int64_t>& shape, const Layout& layout) {
  const T* from = static_cast<const T*>(physical);
  T* to = static_cast<T*>(logical);
  if (layout.dims.empty()) {
    *to = *from;
    return;
  }
  Walk(shape, layout)
      .for_each_run(
          [&](int64_t p, int64_t l, int64_t step, int64_t valid, int64_t) {
            for (int64_t i = 0; i < valid; ++i) to[l + i * step] = from[p + i];
          },
          0, 0, 0, true);
}

}  // namespace

std::vector<int64_t> physical_indices(std::span<const int64_t> logical, const std::vector<int64_t>& shape,
                                      const Layout& layout) {
  // added[axis][i]: the flat offset that coordinate i of an axis adds.
  std::vector<std::vector<int64_t>> added(shape.size());
  for (size_t axis = 0; axis < shape.size(); ++axis) added[axis].assign(static_cast<size_t>(shape[axis]), 0);
  int64_t stride = 1;
  for (auto d = layout.dims.rbegin(); d != layout.dims.rend(); stride *= d++->extent) {
    std::vector<int64_t>& of_axis = added[static_cast<size_t>(d->axis)];
    for (size_t i = 0; i < of_axis.size(); ++i) of_axis[i] += static_cast<int64_t>(i) / d->stride % d->extent * stride;
  }
  std::vector<int64_t> out;
  out.reserve(logical.size());
  // Indices follow each other more often than not: a step is counted on from the last, without divisions.
  std::vector<int64_t> at(shape.size(), 0);
  int64_t last = 0;
  for (const int64_t index : logical) {
    int64_t rest = index - last;
    if (rest < 0) {
      std::fill(at.begin(), at.end(), 0);
      rest = index;
    }
    last = index;
    for (size_t axis = shape.size(); axis-- > 0 && rest > 0;) {
      rest += at[axis];
      at[axis] = rest < shape[axis] ? rest : rest % shape[axis];
      rest = rest < shape[axis] ? 0 : rest / shape[axis];
    }
    int64_t position = 0;
    for (size_t axis = 0; axis < shape.size(); ++axis) position += added[axis][static_cast<size_t>(at[axis])];
    out.push_back(position);
  }
  return out;
}

void pack(const void* logical, void* physical, const std::vector<int64_t>& shape, const Layout& layout,
          int64_t element_bytes) {
  switch (element_bytes) {
    case 1: return pack_as<uint8_t>(logical, physical, shape, layout);
    case 2: return pack_as<uint16_t>(logical, physical, shape, layout);
    case 4: return pack_as<uint32_t>(logical, physical, shape, layout);
    case 8: return pack_as<uint64_t>(logical, physical, shape, layout);
  }
  HONE_ICHECK(false) << "element of " << element_bytes << " bytes";
}

void unpack(const void* physical, void* logical, const std::vector<int64_t>& shape, const Layout& layout,
            int64_t element_bytes) {
  switch (element_bytes) {
    case 1: return unpack_as<uint8_t>(physical, logical, shape, layout);
    case 2: return unpack_as<uint16_t>(physical, logical, shape, layout);
    case 4: return unpack_as<uint32_t>(physical, logical, shape, layout);
    case 8: return unpack_as<uint64_t>(physical, logical, shape, layout);
  }
  HONE_ICHECK(false) << "element of " << element_bytes << " bytes";
}

}  // namespace hone
