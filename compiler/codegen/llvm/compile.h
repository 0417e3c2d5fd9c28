// Machine code from Modules: objects, text, shared objects; and what this machine is as a target.
#pragma once

#include <dlpack/dlpack.h>

#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/denormals.h"
#include "compiler/ir/module.h"
#include "compiler/target/target.h"

namespace hone {

struct CodegenOptions {
  std::string name = "kernel";  ///< the exported entry; prepack i is exported as NAME_prepack<i>
  /// Loads and Stores (node addresses of verify()'s Unproved) that get a bounds check; a fault makes the entry return
  /// HONE_FAULT.
  std::vector<const void*> checked_accesses;
  /// Assembly with the code generator's comments, which tell spills from other accesses to the stack.
  bool verbose = false;
  bool with_entry = true;  ///< false: only the prepacks (and `json`): the CPU's part of a GPU's code
  std::string json;        ///< exported as the zero-terminated string NAME_json; none when empty
  /// Tensors are aligned as their elements need; else on 64 bytes.
  bool element_aligned = false;
  Denormals denormals = Denormals::kKeep;  ///< in the entry; prepacks keep them
};

/// A relocatable ELF object with the artifact's entries (runtime/include/hone_runtime.h). UserError for a target whose
/// kind is not llvm, that is incomplete or that LLVM does not know, and for modules with shape variables.
std::string emit_object(const Module& m, const Target& target, const CodegenOptions& options = {});
/// Optimised LLVM IR and assembly of the same.
std::string emit_llvm_text(const Module& m, const Target& target, const CodegenOptions& options = {});
std::string emit_asm_text(const Module& m, const Target& target, const CodegenOptions& options = {});

/// Kernel arguments, by number, that may lie in one buffer: each element of the input is read only where the output's
/// is computed (arith/in_place.h proves it).
struct InPlace {
  size_t input = 0, output = 0;
  bool operator==(const InPlace&) const = default;
};

/// A relocatable object with one function, which other objects of the same file call:
///   int32 SYMBOL(pointer of each kernel argument…, workspace, runtime)
/// It runs the kernels of `m`; nothing is checked. `alignment[a]`: bytes that argument a is aligned to. Arguments lie
/// apart, but for those of `in_place`, which may. Throws as emit_object() does.
std::string emit_layer_object(const Module& m, const Target& target, const std::string& symbol,
                              const std::vector<int64_t>& alignment, const std::optional<InPlace>& in_place);

struct LinkOptions {
  std::string sysroot;  ///< where the libraries that code calls are looked for; empty: where this system keeps them
  /// The artifact's name: NAME_artifact is exported as hone_this_artifact, too, by which a loader finds it without
  /// knowing NAME. Empty: it is not.
  std::string artifact;
  /// Objects with threads of their own, which call the C library's functions for them: the result stays loaded for as
  /// long as the process lives (-z nodelete).
  std::vector<std::string> threads;
  /// A shared library of their architecture, whose soname the result names as needed; its symbols do not count.
  std::string threads_library;
  /// The linker maps the file: for processes that may have neither threads nor pipes. A full disk ends them (SIGBUS).
  bool maps_file = false;
};

/// Links objects (contents, not paths) of one architecture into a shared object; in process, no linker need be
/// installed. Code that calls the mathematical library (f64's exp, log, tanh and erf) or the compiler's (f16 where the
/// processor does not know it) is linked with the one of its own architecture; other code with none. Functions of the C
/// library stay without a version: whatever the loader finds serves. UserError when a library of another architecture
/// is not there, and when the file cannot be written; InternalError with the linker's first lines when it fails.
void link_shared(const std::vector<std::string>& objects, const std::string& output_path,
                 const LinkOptions& options = {});
/// Links objects of one architecture into one relocatable object. UserError when the file cannot be written.
void merge_objects(const std::vector<std::string>& objects, const std::string& output_path);

/// This machine: its CPU as LLVM names it, features that differ from that CPU's as mattr, its caches. The same where
/// `sys`, the folder /sys, is hidden, but on ARM, where the table of CPUs says what caches such a core has.
Target host_target(int threads, const std::string& sys = "/sys");
/// What --version says of it: `LLVM 19.1.7, this machine: llvm -mtriple=… -mcpu=…`.
std::string compiler_line();
/// The code generator's version: part of each record. `llvm-19.1.7 hone-codegen-3`.
std::string codegen_version();
/// The type that an artifact's entry expects in DLTensor::dtype; a bool is an unsigned 8-bit integer.
DLDataType dlpack_type(DType t);

/// How many products of bytes (u8 by s8) the target's processor adds to a lane in the time of a multiply-add of f32: 4
/// by a dot product of its own, else 1.
int bytes_summed_at_once(const Target& target);

}  // namespace hone
