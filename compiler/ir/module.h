// Functions and Modules: built, sent over the wire, stored and emitted.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/layout.h"
#include "compiler/ir/stmt.h"

namespace hone {

/// A kernel or a prepack: statements over parameter buffers.
struct Function {
  std::string name;
  std::vector<Buffer> params;  ///< scope kParam
  /// Shape variables, passed as integers before the tensors; empty while workloads are static.
  std::vector<Var> shape_vars;
  Stmt body;
};

enum class ParamRole : uint8_t { kInput, kConstant, kOutput };
std::string_view name_of(ParamRole role);

/// A parameter as the caller sees it.
struct Param {
  std::string name;
  ParamRole role = ParamRole::kInput;
  DType dtype = f32;
  std::vector<int64_t> shape;  ///< logical
  Layout layout;               ///< logical -> the kernels' form
};

/// Packs one constant parameter into a form that no Layout describes (a layout alone needs no prepack). Takes the
/// logical tensor, then one packed tensor or several, of any number types; runs once and untimed. The kernels take the
/// packed tensors in place of the logical one.
struct Prepack {
  int param = 0;
  Function function;
};

/// How the workers divide the iterations of parallel loops. Results do not depend on it.
enum class Partition : uint8_t {
  kStatic,   ///< one contiguous range for each
  kDynamic,  ///< small ranges, each claimed by the worker that is free first
};
std::string_view name_of(Partition partition);

/// Kernels in launch order, each taking the same arguments (kernel_arguments) as flat buffers.
struct Module {
  std::vector<Function> kernels;
  std::vector<Prepack> prepacks;
  std::vector<Param> params;
  int64_t workspace_bytes = 0;  ///< workspace of all workers together; the caller passes that much, 64-byte aligned
  int workers = 1;              ///< the kernel runs on at most this many threads
  int vector_bits = 0;          ///< vector width the code generator should prefer; 0 = the target's widest
  Partition partition = Partition::kStatic;
  /// Results for NaNs are undefined: code generators may let a maximum or a minimum drop one when that is cheaper. Not
  /// part of the content hash or of the wire format: it is set when an artifact is made.
  bool assume_finite = false;
};

/// The prepack of parameter `param`; null when it has none.
const Prepack* prepack_of(const Module& m, size_t param);

/// One tensor that the kernels take.
struct KernelArgument {
  size_t param = 0;  ///< index into Module::params
  DType dtype;
  std::vector<int64_t> shape;  ///< physical, or as its prepack makes it

  int64_t bytes() const { return element_count(shape) * dtype.bytes(); }
};
/// The arguments that kernels take for parameter `param`: the tensor in its layout, or the results of its prepack.
std::vector<KernelArgument> kernel_arguments(const Module& m, size_t param);
/// The arguments of every kernel, in order: those of each parameter in turn.
std::vector<KernelArgument> kernel_arguments(const Module& m);

}  // namespace hone
