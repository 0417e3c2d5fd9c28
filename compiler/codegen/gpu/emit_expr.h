// Expressions as text of CUDA or OpenCL.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "compiler/arith/bounds.h"
#include "compiler/codegen/gpu/dialect.h"
#include "compiler/codegen/gpu/form_threads.h"
#include "compiler/codegen/gpu/select_instructions.h"
#include "compiler/codegen/text/names.h"

namespace hone {

/// Identifiers for a kernel's text; the kernel's arguments have their names already.
Names names_of(const GpuProgram& program, const GpuKernel& kernel);

/// Whether all of the kernel's index arithmetic, every step of it, is proved to stay within 32 bits.
bool index_fits_i32(const GpuKernel& kernel);

/// The features of a program that decide which functions its text begins with.
struct GpuNeeds {
  bool f64 = false, f16 = false, bf16 = false, dot4 = false, tensor = false, staged = false;
};

/// The functions that expressions may call, without a dialect's own.
std::string helper_functions(const GpuNeeds& needs);

class ExprWriter {
 public:
  /// `selected` must outlive it.
  ExprWriter(const DialectWords& words, Names names, const Selection& selected, bool narrow, bool assume_finite)
      : words_(words), names_(std::move(names)), selected_(selected), narrow_(narrow), assume_finite_(assume_finite) {}

  bool assume_finite() const { return assume_finite_; }
  std::string index_type() const { return narrow_ ? "i32" : "i64"; }
  std::string name_of(const VarNode* v) { return names_.give(v, v->name); }
  std::string name_of(const BufferNode* b) { return names_.give(b, b->name); }
  /// Facts about variables where the next text will stand; the caller maintains it.
  Facts& facts() { return facts_; }
  const Facts& facts() const { return facts_; }

  /// Lane `lane` of `e` as text; a 16-bit float as its value, an f32.
  std::string text(const Expr& e, int lane = 0);
  /// The same in the form in which it is stored to elements of type `t`.
  std::string stored(const Expr& e, DType t, int lane = 0);

  /// Declares each vector of memory that `e` loads as a whole (Selection::vector_loads); text() then reads lanes from
  /// there. Returns the declarations; drop_vectors() ends their scope.
  std::vector<std::string> take_vectors(const Expr& e);
  void drop_vectors() { vectors_.clear(); }
  /// How lane `lane` of a vector of elements of this type is accessed: `x`, `e[5]`.
  static std::string lane_name(DType t, int lane);
  /// The lvalue of `buffer`'s elements at `index`, a ramp of neighbours, as one vector: `*(f32x4*)(a + …)`.
  std::string vector_at(const Buffer& buffer, const Expr& index);

 private:
  std::string binary(const Binary* op, int lane);
  std::string extreme(const Binary* op, const std::string& a, const std::string& b) const;
  std::string call(const Call* op, int lane);
  std::string dot4(const Call* op, const std::string& sum, int lane);
  std::string dot_word(const Call* op, size_t first, int lane);
  /// The qualifier of pointers to it.
  std::string_view pointer_to(const Buffer& buffer) const {
    return buffer->scope == BufferScope::kShared ? words_.shared_pointer : words_.global;
  }
  std::string element_of(const Load* op, int lane);
  static std::string rounded(const std::string& value, DType t);
  bool may_wrap(const Binary* op) const;
  std::string type_of(DType t) const {
    return t.scalar() == kIndex ? index_type() : t.is_bool() ? "bool" : t.is_narrow_float() ? "f32" : memory_type(t);
  }

  const DialectWords& words_;
  Names names_;
  const Selection& selected_;
  const bool narrow_, assume_finite_;
  Facts facts_;
  std::unordered_map<const ExprNode*, std::string> vectors_;
};

}  // namespace hone
