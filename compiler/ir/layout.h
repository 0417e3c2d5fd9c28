// Layouts: how a logical tensor lies in memory. Bijective split + permute + pad maps.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hone {

/// One physical dimension: its index i adds i * stride to the logical index along `axis`.
struct LayoutDim {
  int axis = 0;
  int64_t stride = 1;
  int64_t extent = 1;
  bool operator==(const LayoutDim&) const = default;
};

/// Physical dimensions, outermost first. For each logical axis its dimensions split the axis: sorted by stride, each
/// stride is the next smaller one times that one's extent, the smallest is 1, and together they cover at least the
/// logical extent; elements beyond it are padding (zeros in inputs, ignored in outputs). NCHW16c of (1,20,4,4): (0,1,1)
/// (1,16,2) (2,1,4) (3,1,4) (1,1,16).
struct Layout {
  std::vector<LayoutDim> dims;

  bool operator==(const Layout&) const = default;
  /// Row-major over `shape`.
  static Layout identity(const std::vector<int64_t>& shape);
  /// From a name over the axis letters: upper case = the axis (outermost part), number + lower case = an inner block.
  /// `letters` gives the logical order. Layout::parse("NCHW16c", "NCHW", {1,20,4,4}). UserError when the name is
  /// malformed.
  static Layout parse(std::string_view name, std::string_view letters, const std::vector<int64_t>& shape);
  /// The name that parse() takes.
  std::string name(std::string_view letters) const;
  std::vector<int64_t> physical_shape() const;
  int64_t physical_size() const;
  /// UserError unless the dims split `shape` as described above.
  void validate(const std::vector<int64_t>& shape) const;
};

/// Elements of `shape`; UserError when the product overflows 2^48.
int64_t element_count(const std::vector<int64_t>& shape);

/// The physical index of each of these logical indices, all of which are inside `shape`.
std::vector<int64_t> physical_indices(std::span<const int64_t> logical, const std::vector<int64_t>& shape,
                                      const Layout& layout);

/// Copies a row-major logical tensor into `layout` (padding zeroed) and back. `element_bytes` is 1, 2, 4 or 8.
void pack(const void* logical, void* physical, const std::vector<int64_t>& shape, const Layout& layout,
          int64_t element_bytes);
void unpack(const void* physical, void* logical, const std::vector<int64_t>& shape, const Layout& layout,
            int64_t element_bytes);

}  // namespace hone
