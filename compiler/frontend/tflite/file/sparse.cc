#include "compiler/frontend/tflite/file/sparse.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "compiler/graph/text.h"
#include "compiler/ir/extents.h"
#include "compiler/ir/layout.h"

namespace hone::tflite {
namespace {

constexpr int8_t kDense = 0, kCompressed = 1;

// A level of the tree that the stored elements are the leaves of: all positions of an axis, or some.
struct Level {
  size_t axis = 0;     // of the tensor
  int64_t extent = 1;  // of the axis, or of its blocks, or in a block
  int64_t stride = 1;  // how far apart positions are along the axis
  bool is_dense = true;
  Extents segments, positions;  // where it is not
};

template <class Vector>
Extents widened(const Vector* values) {
  return values && values->values() ? Extents(values->values()->begin(), values->values()->end()) : Extents();
}

Extents numbers_of(file::Positions type, const void* table) {
  if (!table) return {};
  switch (type) {
    case file::Positions::Words: return widened(static_cast<const file::Words*>(table));
    case file::Positions::HalfWords: return widened(static_cast<const file::HalfWords*>(table));
    case file::Positions::Bytes: return widened(static_cast<const file::Bytes*>(table));
    default: return {};
  }
}

class Densifier {
 public:
  Densifier(const file::Sparsity& s, const TensorType& type, std::span<const char> stored, const std::string& what)
      : type_(type), stored_(stored), what_(what), bytes_(static_cast<size_t>(type.dtype.bytes())) {
    read_levels(s);
  }

  TensorData run() {
    const int64_t all = bytes_of(type_);
    // A few bytes of a file may say that a tensor is as large as any.
    constexpr int64_t kSmall = 1 << 24, kMostTimes = 1 << 10;
    HONE_USER_CHECK(all <= kSmall || all / kMostTimes <= static_cast<int64_t>(stored_.size()))
        << what_ << to_string(type_) << " is stored as " << stored_.size() << " bytes: more than " << kMostTimes
        << " times as many are refused";
    out_.assign(static_cast<size_t>(all), '\0');
    strides_.assign(type_.shape.size(), 1);
    for (size_t d = type_.shape.size(); d-- > 1;) strides_[d - 1] = strides_[d] * type_.shape[d];
    put(0, 0, 0);
    HONE_USER_CHECK(next_ * bytes_ == stored_.size())
        << what_ << "it has " << stored_.size() << " bytes for " << next_ << " places";
    return {type_, std::move(out_)};
  }

 private:
  // Dimensions are listed as the tensor has them, blocks behind; the order of the walk is another.
  void read_levels(const file::Sparsity& s) {
    const size_t rank = type_.shape.size();
    const Extents order =
        s.traversal_order() ? Extents(s.traversal_order()->begin(), s.traversal_order()->end()) : Extents();
    const Extents blocks = s.block_map() ? Extents(s.block_map()->begin(), s.block_map()->end()) : Extents();
    const size_t count = s.dimensions() ? s.dimensions()->size() : 0;
    HONE_USER_CHECK(count == rank + blocks.size() && order.size() == count && blocks.size() <= rank)
        << what_ << "it is stored sparsely, with " << count << " dimensions in an order of " << order.size() << " and "
        << blocks.size() << " blocks for " << to_string(type_);
    Extents sorted = order;
    std::sort(sorted.begin(), sorted.end());
    for (size_t i = 0; i < count; ++i)
      HONE_USER_CHECK(sorted[i] == static_cast<int64_t>(i)) << what_ << "its sparse dimensions are in no order";
    // Extents of a block, by axis.
    Extents of_block(rank, 1);
    const auto dimension = [&](size_t i) -> const file::SparseDimension& {
      return *s.dimensions()->Get(static_cast<flatbuffers::uoffset_t>(i));
    };
    for (size_t k = 0; k < blocks.size(); ++k) {
      HONE_USER_CHECK(blocks[k] >= 0 && blocks[k] < static_cast<int64_t>(rank))
          << what_ << "a block of axis " << blocks[k] << " of " << to_string(type_);
      const auto axis = static_cast<size_t>(blocks[k]);
      const int64_t size = dimension(rank + k).dense_size();
      HONE_USER_CHECK(dimension(rank + k).format() == kDense && size >= 1 && of_block[axis] == 1 &&
                      type_.shape[axis] % size == 0)
          << what_ << "blocks of " << size << " along axis " << axis << " of " << to_string(type_);
      of_block[axis] = size;
    }
    for (const int64_t number : order) {
      const auto i = static_cast<size_t>(number);
      const file::SparseDimension& d = dimension(i);
      Level level;
      level.axis = i < rank ? i : static_cast<size_t>(blocks[i - rank]);
      level.extent = i < rank ? type_.shape[i] / of_block[i] : of_block[level.axis];
      level.stride = i < rank ? of_block[i] : 1;
      level.is_dense = d.format() == kDense;
      HONE_USER_CHECK(level.is_dense || d.format() == kCompressed)
          << what_ << "a sparse dimension of a format that is not known";
      if (level.is_dense) {
        HONE_USER_CHECK(d.dense_size() == level.extent) << what_ << "a dense dimension of " << d.dense_size()
                                                        << " where " << to_string(type_) << " has " << level.extent;
      } else {
        level.segments = numbers_of(d.segments_type(), d.segments());
        level.positions = numbers_of(d.indices_type(), d.indices());
      }
      levels_.push_back(std::move(level));
    }
  }

  // Reads the entries below the `node`-th one of a level; their elements lie at `at` and behind it.
  void put(size_t depth, int64_t node, int64_t at) {
    if (depth == levels_.size()) {
      HONE_USER_CHECK((next_ + 1) * bytes_ <= stored_.size())
          << what_ << "it has " << stored_.size() << " bytes for more than " << next_ << " places";
      std::memcpy(out_.data() + static_cast<size_t>(at) * bytes_, stored_.data() + next_ * bytes_, bytes_);
      ++next_;
      return;
    }
    // A segment may be named often, without an element in it.
    HONE_USER_CHECK(++visits_ <= static_cast<int64_t>(out_.size() + 1) * static_cast<int64_t>(levels_.size()))
        << what_ << "its sparse dimensions have more places than " << to_string(type_);
    const Level& l = levels_[depth];
    const int64_t step = l.stride * strides_[l.axis];
    if (l.is_dense) {
      for (int64_t i = 0; i < l.extent; ++i) put(depth + 1, node * l.extent + i, at + i * step);
      return;
    }
    const auto n = static_cast<size_t>(node);
    HONE_USER_CHECK(n + 1 < l.segments.size()) << what_ << "a sparse dimension has too few segments";
    const int64_t begin = l.segments[n], end = l.segments[n + 1];
    HONE_USER_CHECK(begin >= 0 && begin <= end && end <= static_cast<int64_t>(l.positions.size()))
        << what_ << "a segment from " << begin << " to " << end << " of " << l.positions.size() << " places";
    for (int64_t i = begin; i < end; ++i) {
      const int64_t position = l.positions[static_cast<size_t>(i)];
      HONE_USER_CHECK(position >= 0 && position < l.extent) << what_ << "place " << position << " of " << l.extent;
      put(depth + 1, i, at + position * step);
    }
  }

  const TensorType& type_;
  const std::span<const char> stored_;
  const std::string& what_;
  const size_t bytes_;
  std::vector<Level> levels_;
  Extents strides_;
  std::string out_;
  size_t next_ = 0;     // of the stored elements
  int64_t visits_ = 0;  // of entries of levels
};

}  // namespace

TensorData densified(const file::Sparsity& sparsity, const TensorType& type, std::span<const char> stored,
                     const std::string& what) {
  return Densifier(sparsity, type, stored, what).run();
}

}  // namespace hone::tflite
