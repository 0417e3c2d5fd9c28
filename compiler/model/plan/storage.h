// The slots of a graph's values in memory: views, slices and parts of a concatenation share their source's or result's
// memory, and need no code.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/graph/growth.h"

namespace hone {

/// Bytes: where buffers of GPUs may begin. No OpenCL device asks for more.
inline constexpr int64_t kGpuAlignment = 512;

/// Each value lies in the buffer of one value, its root, perhaps itself, from some byte on. A value is never written
/// once it is computed, so that any number of values may share memory.
class Storage {
 public:
  /// `growth`: caches, which are concatenations that cost nothing: their rows are there. Null: there are none.
  /// `alignment`: bytes; nothing is a part that begins elsewhere than at a multiple of it. 1: as elements lie.
  explicit Storage(const Graph& g, const Growth* growth = nullptr, int64_t alignment = 1);

  ValueId root(ValueId v) const { return slot_of(v).root; }
  /// Bytes from the root's begin.
  int64_t offset(ValueId v) const { return slot_of(v).offset; }
  /// Whether the node's output is there once its inputs are.
  bool is_free(size_t node) const { return is_free_[node]; }
  /// The reason why a slice or concat that is not free is a copy. Empty for other nodes.
  const std::string& why_copied(size_t node) const { return why_copied_[node]; }

 private:
  struct Part {
    ValueId root = kNoValue;
    int64_t offset = 0;
  };
  Part slot_of(ValueId v) const;
  void lie_in(ValueId v, ValueId whole, int64_t offset) { parts_[static_cast<size_t>(v)] = {whole, offset}; }
  bool is_part(const Graph& g, const Node& n, const std::vector<bool>& is_fixed);
  std::string join(const Graph& g, const Node& n, const std::vector<bool>& is_fixed);

  const int64_t alignment_;
  std::vector<Part> parts_;  ///< the value that each lies in, which may lie in another; a root lies in itself
  std::vector<bool> is_free_;
  std::vector<std::string> why_copied_;
};

}  // namespace hone
