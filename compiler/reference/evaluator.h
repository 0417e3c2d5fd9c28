// Evaluates elements of compute definitions with their error bounds: as statements of the IR, because a workload has
// too many elements to interpret.
#pragma once

#include <unordered_map>
#include <vector>

#include "compiler/ir/denormals.h"
#include "compiler/ir/mutator.h"
#include "compiler/reference/approximate.h"
#include "compiler/te/tensor.h"

namespace hone {

/// Buffers, row-major and flat, that hold a tensor's elements.
struct FlatTensor {
  Tensor tensor;
  /// A placeholder: its elements, in its own type. A stage that was computed before: the exact values (f64 or s64) and
  /// the bounds (f64), null where the bounds are 0.
  Buffer values, tolerance, typical;
};

/// Emits the code that computes elements, one statement list at a time. A value computed before in the same list, or in
/// one around it, is not computed again.
class Evaluator {
 public:
  /// `known` are the placeholders and the stages computed before; a stage that is not among them is computed where its
  /// elements are wanted, reductions as loops. `factor_error`: see Definition. `denormals`: see reference_module().
  Evaluator(const std::vector<FlatTensor>& known, double factor_error, Denormals denormals = Denormals::kKeep)
      : known_(known), factor_error_(factor_error), denormals_(denormals) {}

  /// The element of `t` at `at`. Its value may be used behind the statements emitted so far.
  Approximate element(const TensorNode* t, const std::vector<Expr>& at);
  /// The same, computed anew even where its values are known: this is how a stage becomes known. A scan is known
  /// before: what it reads of itself is there.
  Approximate computed(const TensorNode* t, const std::vector<Expr>& at);
  void emit(Stmt s) { lists_.back().push_back(std::move(s)); }
  /// Everything emitted, inside the stack buffers that it uses.
  Stmt finish();

 private:
  // Values of a body's expressions by node: shared nodes are computed once.
  using Memo = std::unordered_map<const ExprNode*, Approximate>;
  struct Frame {
    VarMap axes;
    Memo memo;
  };
  struct Element {
    const TensorNode* tensor;
    std::vector<Expr> at;
    Approximate value;
  };

  const FlatTensor* find_known(const BufferNode* buffer) const;
  const TensorNode* input_of(const TensorNode* t, const Load* l) const;
  Approximate loaded(const FlatTensor& from, const std::vector<Expr>& at);
  // Further sums that are kept beside a sum of floats: see TermSums.
  struct SumSlots {
    Buffer sizes, squares, repeats, last;
  };

  Approximate reduced(const TensorNode* t, Frame frame);
  Approximate term(const TensorNode* t, Frame& frame, double* term_error);
  SumSlots start_sums(const TensorNode* t);
  void add_term(const SumSlots& sums, const Expr& value);
  Approximate value_of(const TensorNode* t, const Expr& e, Frame& frame);
  Approximate compute(const TensorNode* t, const Expr& e, Frame& frame);
  Approximate chosen(const TensorNode* t, const Select* s, Frame& frame);

  Buffer slot(DType t);
  Buffer slot_of(const Expr& value);
  Expr kept(const Expr& e);
  Approximate kept(const Approximate& v) { return {kept(v.exact), kept(v.tolerance), kept(v.typical)}; }
  template <class F>
  Stmt nested(const F& emit_body);

  const std::vector<FlatTensor>& known_;
  const double factor_error_;
  const Denormals denormals_;
  std::vector<std::vector<Stmt>> lists_{1};  ///< the statement lists being emitted, outermost first
  std::vector<Element> elements_;            ///< elements that those lists have computed
  std::vector<Buffer> slots_;
};

/// The flat index of an element of a tensor of `shape`.
Expr flat_index(const std::vector<int64_t>& shape, const std::vector<Expr>& at);

}  // namespace hone
