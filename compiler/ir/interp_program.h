// The form that the interpreter runs: a function compiled into two flat tables (expressions, statements) whose
// variables and buffers are slots.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/ir/module.h"

namespace hone::interp {

/// Which of the three evaluators computes a value of a type: integers and bools, floats of up to 32 bits, f64.
enum class Kind : uint8_t { kInt, kF32, kF64 };

/// An integer type's wrapping: values of up to 32 bits are kept exact in an int64, u64 as its bit pattern.
struct Wrap {
  uint8_t shift = 0;  // 64 - bits
  bool is_signed = true;
  int64_t operator()(int64_t v) const {
    const uint64_t up = static_cast<uint64_t>(v) << shift;
    return is_signed ? static_cast<int64_t>(up) >> shift : static_cast<int64_t>(up >> shift);
  }
  bool is_u64() const { return !is_signed && shift == 0; }
};

/// An expression; operands are indices into Program::exprs.
struct ENode {
  ExprKind kind;
  BinaryOp op;
  Intrinsic function;
  Kind operand_kind;  // type of the operands of a comparison or cast
  Wrap wrap;          // wrapping of the result
  Wrap operand_wrap;
  uint16_t (*narrow)(float) = nullptr;  // 16-bit floats: number to bits; and back
  float (*widen)(uint16_t) = nullptr;
  bool to_bool = false;
  // Operands; Var: a = slot; Load: a = buffer slot, b = first index, c = how many; dot4, dot2: b = first argument.
  int32_t a = -1, b = -1, c = -1;
  int64_t int_value = 0;
  double float_value = 0;
};

/// A statement; expressions are indices into `exprs`, lists begin at `first` in `lists`.
struct SNode {
  StmtKind kind;
  LoopKind loop = LoopKind::kSerial;
  bool has_barrier = false;        // it is a barrier or contains one
  int32_t slot = -1;               // variable or buffer
  int32_t a = -1, b = -1, c = -1;  // For: min, extent; Store: value, mask, lanes; If: condition
  int32_t first = 0, count = 0;    // Store: indices; others: child statements
};

/// A parameter, workspace or stack buffer.
struct BufferSlot {
  Buffer buffer;
  bool tracked = false;          ///< not a parameter: undefined until written
  std::vector<int32_t> extents;  ///< expressions of its shape
};

/// Slots: variables (shape variables first) are numbered up to `var_count`, buffers (parameters first) are positions in
/// `buffers`.
struct Program {
  std::vector<ENode> exprs;
  std::vector<SNode> stmts;
  std::vector<int32_t> lists;
  int32_t var_count = 0;
  std::vector<BufferSlot> buffers;
  int32_t body = -1;     ///< statement; -1: the function does nothing
  bool for_gpu = false;  ///< it has block or thread loops
};

/// UserError for nodes that the interpreter does not support and for variables and buffers used out of their scope.
Program compile(const Function& f);

}  // namespace hone::interp
