// Values of several runs in one: where in a tensor the runs lie, and how they come to lie elsewhere.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/graph/builder.h"
#include "compiler/ir/extents.h"

namespace hone {

/// A value of a run, as the graph of all runs has it. Runs lie behind each other along `axis`: element i of run r is
/// element r * one[axis] + i there. So a batch that is an axis of its own is `one[axis] == 1`, and one that was joined
/// with the rows of a matrix ([batch * rows, k]) is nothing else.
struct Stacked {
  ValueId id = kNoValue;
  Extents one;                 ///< the shape that a run has
  std::optional<size_t> axis;  ///< none: the same value for all runs
};

/// Moves and reshapes stacked runs. New nodes go into the builder's graph.
class Stack {
 public:
  Stack(GraphBuilder& builder, int64_t runs) : b(builder), runs_(runs) {}

  int64_t runs() const { return runs_; }
  /// The shape of all runs, which lie along `axis`.
  Extents all(Extents one, std::optional<size_t> axis) const;

  /// The elements of each run, in their order, in another shape of as many. `axis`: where runs shall lie; anywhere
  /// without it.
  Stacked seen(const Stacked& x, const Extents& to, std::optional<size_t> axis = std::nullopt,
               const std::string& name = "");
  /// With its runs along `axis`: the same elements where no more than ones lie between the two, else they are moved.
  /// Values shared by all runs are repeated.
  Stacked at(const Stacked& x, size_t axis);
  /// The same with the runs in an axis of their own in front of `axis`, where each run has one element.
  Stacked apart(const Stacked& x, size_t axis);

  GraphBuilder& b;

 private:
  Stacked repeated(const Stacked& x, size_t axis);

  int64_t runs_;
};

/// `extents` with `value` in front of number `axis`.
Extents with(Extents extents, size_t axis, int64_t value);

}  // namespace hone
