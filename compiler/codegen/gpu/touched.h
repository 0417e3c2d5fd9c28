// Memory that a piece of a block's program touches and that other threads see: what barriers are for.
#pragma once

#include <optional>
#include <vector>

#include "compiler/arith/bounds.h"
#include "compiler/ir/stmt.h"

namespace hone {

/// Sets of accesses, each to a buffer or to one of its halves: an index floormod(turn, n) * part + rest with 0 <= rest
/// < part touches part `turn` of n only.
class Touched {
 public:
  struct Access {
    Buffer buffer;
    bool writes = false;
    std::optional<Linear> turn = {};  ///< of `parts`; nothing: all of the buffer
    int64_t parts = 1;
  };

  void add(const Touched& other);
  void add(Access access);
  /// Whether what comes after must wait for this.
  bool orders(const Touched& later) const;
  bool reads(const Buffer& b) const;
  bool writes(const Buffer& b) const;
  /// Seen from the next iteration of the loop over `var`, these are the last one's.
  void shift(const VarNode* var);
  /// Seen from outside of the loop over `var`, any iteration's.
  void forget(const VarNode* var);

 private:
  std::vector<Access> accesses_;
};

/// What `s` touches of shared and workspace memory and parameters; `facts` are the ranges of variables around.
Touched touched_by(const Stmt& s, Facts facts);

/// Whether the value of `e` depends on memory.
bool reads_memory(const Expr& e);

}  // namespace hone
