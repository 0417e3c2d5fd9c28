// Accesses of a piece of a block's program to memory that other threads see: barriers order these.
#pragma once

#include <optional>
#include <vector>

#include "compiler/arith/bounds.h"
#include "compiler/ir/stmt.h"

namespace hone {

/// A set of accesses, each to a whole buffer, to a range of its elements, or to one part of a double buffer: an index
/// floormod(turn, n) * part + rest with 0 <= rest < part stays in part `turn` of n.
class Touched {
 public:
  struct Access {
    Buffer buffer;
    bool writes = false;
    std::optional<Linear> turn = {};  ///< which of `parts`
    int64_t parts = 1;
    std::optional<Interval> range = {};  ///< elements, over all iterations; without turn and range: the whole buffer
  };

  void add(const Touched& other);
  void add(Access access);
  /// Whether `later` must wait for these accesses.
  bool orders(const Touched& later) const;
  bool reads(const Buffer& b) const;
  bool writes(const Buffer& b) const;
  /// Whether all accesses to `b` that write (or all that read) stay in part floormod(`var` + `ahead`, `parts`) of it.
  bool all_in_part(const Buffer& b, bool writes, const VarNode* var, int64_t ahead, int64_t parts) const;
  /// The same accesses as the next iteration of the loop over `var` sees them.
  void shift(const VarNode* var);
  /// The same accesses as seen from outside of the loop over `var`: those of any iteration.
  void forget(const VarNode* var);

 private:
  std::vector<Access> accesses_;
};

/// The accesses of `s` to shared and workspace memory and to parameters; `facts` are the ranges of the variables
/// around.
Touched touched_by(const Stmt& s, Facts facts);

}  // namespace hone
