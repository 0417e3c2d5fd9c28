// Expressions and accesses of legalized loop form as LLVM IR. Private to codegen.
#pragma once

#include <span>
#include <unordered_map>
#include <utility>

#include "compiler/arith/bounds.h"
#include "compiler/codegen/llvm/kernel/byte_tables.h"
#include "compiler/codegen/llvm/kernel/emit_math.h"
#include "compiler/codegen/llvm/kernel/hoisting_builder.h"
#include "compiler/codegen/llvm/machine/dot_units.h"
#include "compiler/ir/stmt.h"
#include "compiler/target/target.h"

namespace llvm {
class BasicBlock;
class Constant;
class IRBuilderBase;
class Type;
class Value;
}  // namespace llvm

namespace hone {

/// Where a buffer lies in the function that is being emitted.
struct BufferSlot {
  llvm::Value* base = nullptr;  ///< pointer to element 0
  int64_t elements = 0;
  bool on_stack = false;
  bool checked = false;   ///< each access is compared with `elements`; a fault leaves the function
  int64_t alignment = 0;  ///< of `base`, in bytes; 0: as the options say
};

/// Properties of the machine that decide between equivalent forms of code.
struct ExprOptions {
  DotUnits dot;
  MathUnits math_units;
  TableUnit tables;
  int index_bits = 64;          ///< of index arithmetic; 32 only where every step of it is proved to fit
  int64_t base_alignment = 64;  ///< bytes, of a buffer whose slot does not say it
  /// Code of one thread of a GPU: inactive accesses are branched around, lanes are masked one by one, and addresses
  /// hold no scaled index.
  bool simt = false;
  bool has_masked_loads = false;  ///< of vectors of 4-byte and longer elements; others are loaded lane by lane
  /// A masked store takes no longer than another one. (AVX2's takes some 20 cycles on Zen 4; NEON has none.)
  bool has_masked_stores = false;
  bool far_back = true;  ///< instructions that access memory subtract as much from an address as they add
  /// One instruction gives the larger or the smaller of two f32, and a NaN where one of them is; also of two f64.
  bool has_nan_extremes = false, has_nan_extremes_f64 = false;
  bool has_bf16_rounding = false;  ///< one instruction of NVIDIA's GPUs rounds an f32 to bf16
  bool assume_finite = false;      ///< Module::assume_finite
  /// Facts that hold where the next code stands, for divisions that need no rounding; null: none.
  const Facts* facts = nullptr;
};

/// The LLVM type of `t`; a bool is an i1 (in memory a byte).
llvm::Type* llvm_type(llvm::IRBuilderBase& b, DType t);

/// Emits at the builder's position; moves it to a new block where a run-time check needs one.
class ExprEmitter {
 public:
  /// `fault` is where a failed check goes; null where no access is checked.
  ExprEmitter(llvm::IRBuilderBase& builder, llvm::BasicBlock* fault, const ExprOptions& options)
      : b_(builder), options_(options), arith_(builder, !options.simt), fault_(fault) {}

  const ExprOptions& options() const { return options_; }
  /// The integer arithmetic of the function, for those who open its scopes.
  HoistingBuilder& arithmetic() { return arith_; }
  void bind(const VarNode* var, llvm::Value* value) { vars_[var] = value; }
  void bind(const BufferNode* buffer, BufferSlot slot) { slots_[buffer] = slot; }
  const BufferSlot& slot(const BufferNode* buffer) const;
  llvm::Value* value_of(const VarNode* var) const;
  /// The type of values of `t`; an index has as many bits as the options say.
  llvm::Type* type_of(DType t) const;
  llvm::Value* index_constant(int64_t value) const;

  llvm::Value* emit(const Expr& e);
  void emit_store(const Store* op);
  /// Number of leading statements that are plain vector stores and do not read each other's results: at
  /// most kMostTogether.
  size_t stores_together(std::span<const Stmt> stmts) const;
  /// Computes all their values, then stores them: loads and sums that they share are found to be shared.
  void emit_stores_together(std::span<const Stmt> stores);
  /// Number of leading statements that store the parts of words of 32 bits: 4 of vectors of bytes or 2 of 16 bits, to
  /// each 4th or 2nd element, from neighbouring elements on. 0 where there are none.
  size_t stores_of_words(std::span<const Stmt> stmts) const;
  /// Stores the words as one vector.
  void emit_stores_of_words(std::span<const Stmt> stores);
  void emit_prefetch(const Prefetch* op);
  /// A pointer to element `index` (scalar) of `buffer`, for instructions that read or write memory by themselves.
  llvm::Value* element_pointer(const BufferNode* buffer, const Expr& index);

 private:
  /// The lanes that are known to be active: loads of other lanes must not fault. Null members: all lanes.
  struct Active {
    llvm::Value* lanes = nullptr;  ///< <N x i1>
    llvm::Value* any = nullptr;    ///< i1: some lane is active
  };
  struct Address {
    llvm::Value* pointer;
    int64_t alignment;  ///< bytes
  };

  llvm::Value* emit_binary(const Binary* op);
  llvm::Value* emit_masked(const Binary* op);
  llvm::Value* emit_extreme(const Binary* op, llvm::Value* a, llvm::Value* b);
  llvm::Value* emit_integer_division(const Binary* op, llvm::Value* a, llvm::Value* b);
  llvm::Value* divide_by_constant(llvm::Value* a, llvm::Value* b, bool divides, bool is_signed);
  llvm::Value* emit_compare(const Binary* op);
  llvm::Value* emit_ramp_compare(const Binary* op);
  llvm::Value* emit_select(const Select* op);
  llvm::Value* emit_saturated(const Cast* op);
  llvm::Value* emit_cast(const Cast* op);
  llvm::Value* emit_conversion(llvm::Value* v, DType from, DType to);
  llvm::Value* round_to_bf16(llvm::Value* v, int lanes);
  llvm::Value* emit_bf16_cast(llvm::Value* v, DType from, DType to);
  llvm::Value* emit_call(const Call* op);
  /// sum + dot4(…) or dot2(…); a null sum is 0. In emit_dot.cc.
  llvm::Value* emit_dot(const Call* op, llvm::Value* sum);
  llvm::Value* emit_dot4(llvm::Value* a, llvm::Value* b, llvm::Value* sum, int lanes);
  llvm::Value* dp4a(llvm::Value* a, llvm::Value* b, llvm::Value* sum, int lanes);
  llvm::Value* emit_dot2(llvm::Value* a, llvm::Value* b, llvm::Value* sum, int lanes);
  llvm::Value* neighbours(const Call* op, size_t first);
  llvm::Value* mantissas(const Call* op, size_t first);
  llvm::Value* mantissa(const Cast* op);
  llvm::Value* behind_the_point(llvm::Value* word, int shift, int bits, uint64_t halves);
  llvm::Value* words(const Call* op, size_t first);
  llvm::Value* emit_load(const Load* op);
  llvm::Value* emit_fused(const Binary* op);
  llvm::Value* emit_inverse(const Binary* op, const Expr& factor);
  llvm::Value* emit_one_plus_erf(const Binary* op);
  llvm::Value* emit_linear(const Linear& form);
  bool is_nonnegative(const Expr& e) const { return options_.facts && options_.facts->bounds(e).lo >= 0; }
  /// A term of a linear form: value * factor.
  struct Term {
    llvm::Value* value;
    int64_t factor;
  };
  /// The terms of `form`, times `scale`, outermost first.
  std::vector<Term> emit_terms(const Linear& form, int64_t scale);
  /// The sum of terms; null for none.
  llvm::Value* sum_of(std::span<const Term> terms);
  /// The buffer's start plus the terms of `form` in elements, without its constant.
  llvm::Value* walked(llvm::Value* base, const Linear& form, int64_t element_bytes);

  /// The address of element `index` (scalar).
  Address address(const BufferSlot& slot, const Expr& index, int64_t element_bytes);
  llvm::Value* lane_addresses(const BufferSlot& slot, const Expr& index, int64_t element_bytes);
  /// `pointer`, or the buffer's start where no lane is active.
  llvm::Value* guarded(llvm::Value* pointer, const BufferSlot& slot);
  void check(const BufferSlot& slot, const Expr& index);
  /// The load where `wanted` (null: always) holds, else 0.
  llvm::Value* load_if(llvm::Value* wanted, llvm::Type* type, const Address& at);
  /// The lanes that are active in `active_`, one by one; the others are 0.
  llvm::Value* load_lanes(const BufferSlot& slot, const Load* op);
  /// Whole vectors, shuffled; lanes that are not in `mask` (null: all are) are anything.
  llvm::Value* load_strided(const BufferSlot& slot, const Load* op, int64_t stride, llvm::Value* mask);
  llvm::Value* strided_mask(llvm::Value* mask, int64_t stride, int64_t begin, int64_t lanes);
  /// Whether the elements at `index` are a column of a tile in the frame, which load_column reads.
  static bool is_column(const BufferSlot& slot, const Ramp* index, int64_t columns);
  llvm::Value* load_column(const BufferSlot& slot, const Load* op, int64_t columns);
  /// Bytes of a table of 256, looked up in registers; null where the load is none.
  llvm::Value* load_entries(const BufferSlot& slot, const Load* op);
  /// Rows that are interleaved in the lanes, each read as a vector; null when the lanes do not lie so.
  llvm::Value* load_interleaved(const BufferSlot& slot, const Load* op);
  llvm::Value* load_interleaved_pairs(const BufferSlot& slot, const Expr& base, const std::vector<int64_t>& offsets,
                                      int64_t rows);
  /// A contiguous vector, in the active lanes.
  void store_masked(const BufferSlot& slot, llvm::Value* value, const Address& at, llvm::Align align);
  void store_lanes(const BufferSlot& slot, const Expr& index, llvm::Value* value, llvm::Value* mask,
                   int64_t element_bytes);
  Active narrowed(llvm::Value* condition);
  llvm::Value* wanted_at_all();
  llvm::Value* any_of(llvm::Value* lanes);
  llvm::Value* iota(int lanes, int bits);
  /// True when index .. index+lanes-1 is a constant range inside the buffer.
  static bool constant_in_range(const BufferSlot& slot, const Ramp* index);
  llvm::Value* to_memory(llvm::Value* v, DType t);
  llvm::Value* from_memory(llvm::Value* v, DType t);

  llvm::IRBuilderBase& b_;
  const ExprOptions options_;
  HoistingBuilder arith_;
  llvm::BasicBlock* fault_;
  Active active_;
  std::unordered_map<const VarNode*, llvm::Value*> vars_;
  std::unordered_map<const BufferNode*, BufferSlot> slots_;
};

}  // namespace hone
