// C99 from Modules, with GCC's vectors: for any compiler and any processor. The parts of a file of emitted C.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/codegen/c/helpers.h"
#include "compiler/ir/denormals.h"
#include "compiler/ir/module.h"

namespace hone {

/// Functions in C, in the order in which they were added, and the types and helpers that they use.
class CFile {
 public:
  /// `vector_bits`: of the widest vectors that the text asks for; a Module may ask for narrower ones.
  explicit CFile(int vector_bits) : vector_bits_(vector_bits) {}

  /// `int32_t NAME(args, n, workspace, rt)`, an entry of hone_runtime.h that runs the kernels of `m`; with
  /// `element_aligned` it takes tensors that are aligned as their elements are, else on 64 bytes. Where denormals are
  /// zeros, runtime/denormals.c stands before it.
  void add_entry(const Module& m, const std::string& name, bool element_aligned,
                 Denormals denormals = Denormals::kKeep);
  /// An entry of a prepack of `m`.
  void add_prepack(const Module& m, size_t i, const std::string& name);
  /// `static int32_t SYMBOL(void* a0, …, char* workspace, const HoneRuntime* rt)`: the kernels of `m`, unchecked.
  /// Arguments `apart` lie in memory of their own.
  void add_layer(const Module& m, const std::string& symbol, const std::vector<bool>& apart);
  /// Text as it is.
  void add(const std::string& text) { functions_ += text; }

  /// The whole file. `first`: its first lines, a comment and includes.
  std::string text(const std::string& first) const;

 private:
  // Adds hone_data() and hone_knows(), which check an entry's arguments, unless they are there.
  void need_tensor_checks();
  std::string kernel(const Module& m, const Function& f, const std::string& name, const std::vector<bool>& apart);
  void add_checked(const std::string& name, const std::vector<Buffer>& params, const std::vector<std::string>& kernels,
                   bool element_aligned, bool needs_workspace, bool is_static = false);

  const int vector_bits_;
  Helpers helpers_;
  std::string functions_;
  bool has_tensor_check_ = false;
};

/// The parameters of an entry, HoneEntry.
inline constexpr std::string_view kEntryArguments =
    "const DLTensor* const* args, int32_t n, void* workspace, const HoneRuntime* rt";

/// The entry NAME over NAME_inside, with denormals as zeros meanwhile: by runtime/denormals.c, whose text is there.
std::string zeroing_entry(const std::string& name, bool is_static);

/// A name of ours as a C identifier: dots become underscores.
std::string c_symbol(const std::string& name);
/// A string literal.
std::string c_string(const std::string& text);
/// `{2, 32, 1}`, a DLDataType.
std::string c_dtype(DType t);

}  // namespace hone
