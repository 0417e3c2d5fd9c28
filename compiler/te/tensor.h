// Compute definitions: the computation, element by element, before any decision on how it runs.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/expr.h"

namespace hone {

enum class ReduceKind : uint8_t { kNone, kSum, kMax, kMin };

/// One axis of a compute definition.
struct Axis {
  Var var;
  int64_t extent = 1;
  operator Expr() const { return var; }  // NOLINT(google-explicit-constructor): an axis stands for its index
};

/// An expression reduced over axes; made by sum(), max_over() and min_over(), and taken by compute().
struct Reduction {
  ReduceKind kind = ReduceKind::kNone;
  Expr value;
  std::vector<Axis> axes;
};

struct TensorNode final : RefCounted {
  std::string name;
  Buffer buffer;  ///< the buffer that its elements are read from; equal by identity
  std::vector<int64_t> shape;
  /// The shape that the caller sees: the same elements in the same order; empty when that is `shape`.
  std::vector<int64_t> caller_shape;
  std::vector<Axis> axes;  ///< one a dimension; empty for a placeholder
  std::vector<Axis> reduce_axes;
  ReduceKind reduce = ReduceKind::kNone;
  Expr body;  ///< null for a placeholder; the reduced expression when there is a reduction
  std::vector<Ref<const TensorNode>> inputs;  ///< tensors that the body reads, in order of first read
  /// A scan's axis, along which each element is made from the one before, which the body reads of `buffer` itself.
  std::optional<size_t> scan_axis;
  /// The body compares elements with others that were made of them: both are to be the same bits, so that what computes
  /// them is not inlined into it.
  bool compares_bits = false;
  /// Extents as they were written, with named sizes (sizes.h): of the dimensions, then of `reduce_axes`. Empty: they
  /// are numbers.
  std::vector<Expr> written_extents;
  /// The sizes have no numbers yet: extents stand for nothing until bind_sizes().
  bool is_open = false;
  /// Inlined into the stages that read it, unless its schedule computes it somewhere (Schedule::inline_rest).
  bool is_inlined = false;
  bool is_placeholder() const { return !body; }
};

/// A tensor: a placeholder (given by the caller) or computed. `t(i, j)` is its element.
class Tensor {
 public:
  Tensor() = default;
  explicit Tensor(Ref<const TensorNode> node) : node_(std::move(node)) {}
  const TensorNode* operator->() const { return node_.get(); }
  const Ref<const TensorNode>& node() const { return node_; }
  template <class... Index>
  Expr operator()(Index&&... i) const {
    return at({Expr(std::forward<Index>(i))...});
  }
  /// UserError unless there is one index a dimension.
  Expr at(std::vector<Expr> indices) const;

 private:
  Ref<const TensorNode> node_;
};

/// A tensor that the caller gives.
Tensor placeholder(const std::string& name, const std::vector<int64_t>& shape, DType dtype);
/// An axis to reduce over.
Axis reduce_axis(const std::string& name, int64_t extent);
Reduction sum(Expr value, std::vector<Axis> axes);
Reduction max_over(Expr value, std::vector<Axis> axes);
Reduction min_over(Expr value, std::vector<Axis> axes);

/// A tensor of `shape` whose element at indices i is body(i). `reads` are the tensors that the body reads. `names` name
/// the axes.
Tensor compute(const std::string& name, const std::vector<int64_t>& shape, const std::vector<std::string>& names,
               const std::vector<Tensor>& reads, const std::function<Expr(const std::vector<Expr>&)>& body);
/// The same, of a stage that is inlined unless its schedule computes it somewhere.
Tensor compute_inlined(const std::string& name, const std::vector<int64_t>& shape,
                       const std::vector<std::string>& names, const std::vector<Tensor>& reads,
                       const std::function<Expr(const std::vector<Expr>&)>& body);
/// The same with a reduction.
Tensor compute_reduce(const std::string& name, const std::vector<int64_t>& shape, const std::vector<std::string>& names,
                      const std::vector<Tensor>& reads, const std::function<Reduction(const std::vector<Expr>&)>& body);

/// A node with the same members, for who changes some of them before anybody else sees it.
TensorNode* copied_node(const TensorNode& t);
/// The same stage, which compares_bits.
Tensor comparing_bits(const Tensor& t);

/// A scan: the element at index t of `axis` is `next` of the one at t - 1 and of the indices, and of `first` where t is
/// 0; `first` is given 0 for that index. Elements are of the type that `first` has; UserError where `next` has another.
Tensor scan(const std::string& name, const std::vector<int64_t>& shape, const std::vector<std::string>& names,
            size_t axis, const std::vector<Tensor>& reads, const std::function<Expr(const std::vector<Expr>&)>& first,
            const std::function<Expr(const Expr& previous, const std::vector<Expr>&)>& next);
/// The element before, as the body of a scan has it: `axis` is 0 ? `first` : load. Null: `e` is no such node.
const Select* previous_of(const TensorNode& scan, const Expr& e);

/// The initial value of a reduction: 0 for sums, the lowest value for max, the highest for min.
Expr reduce_identity(ReduceKind kind, DType t);
/// old (+) value.
Expr reduce_combine(ReduceKind kind, Expr old, Expr value);

}  // namespace hone
