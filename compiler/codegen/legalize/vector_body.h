// Analysis of a vector loop's body: its accesses, and whether its lanes may run together.
#pragma once

#include <optional>
#include <vector>

#include "compiler/arith/linear.h"
#include "compiler/ir/visitor.h"

namespace hone {

/// The index of an access as stride * var + rest, with `rest` free of var.
struct Strided {
  int64_t stride = 0;
  Linear rest;
};
/// Nothing when the index is not of that form.
std::optional<Strided> strided_in(const Expr& index, const VarNode* var);

/// The effects of a loop body, as far as vectorizing it depends on them. Accesses must be flat.
class VectorBody final : public Visitor {
 public:
  struct Access {
    const BufferNode* buffer;
    Expr index;
    bool is_store;
  };
  std::vector<Access> accesses;
  int64_t widest_bytes = 1;
  bool has_inner_scope = false;      ///< a loop or an allocation
  bool condition_may_fault = false;  ///< a condition of an If that loads or divides by a variable

  /// The number of lanes of the widest type involved in a vector of that many bits: a power of two from 1 to 64.
  int64_t lanes(int vector_bits) const;

 protected:
  using Visitor::visit;
  void visit(const For*) override { has_inner_scope = true; }
  void visit(const Allocate*) override { has_inner_scope = true; }
  void visit(const Store* op) override;
  void visit(const If* op) override;
  void visit(const Load* op) override;
  void visit(const Binary* op) override;
  void visit(const Cast* op) override;

 private:
  void add(const Buffer& b, const std::vector<Expr>& indices, bool is_store);
  void visit_condition(const Expr& e);
  bool in_index_ = false, in_condition_ = false;
};

/// True when no lane of a vector of that many neighbouring iterations sees or overwrites another lane's store.
bool lanes_are_independent(const VectorBody& body, const VarNode* var, int64_t lanes);

}  // namespace hone
