// CUDA and OpenCL text from Modules: one generator, two dialects.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/codegen/gpu/dialect.h"
#include "compiler/codegen/gpu/form_threads.h"
#include "compiler/ir/module.h"
#include "compiler/ir/passes.h"
#include "compiler/runtime/gpu_launch.h"

namespace hone {

/// The text of all kernels, and the launches in order. Each kernel takes the module's parameters in order (as the
/// kernels of the Module do: flat buffers of physical elements, 16-byte aligned), then the workspace where the module
/// has one.
struct GpuSource {
  std::string text;
  std::vector<GpuLaunch> launches;
  /// Lines for people: which loops could have an instruction of the threads of a warp together, and have none, and why.
  std::vector<std::string> notes = {};
};

/// The passes that prepare a kernel for gpu_program(): simplify, hoist_conditions, vectorize_loops, simplify_vectors.
std::vector<Pass<Stmt>> gpu_passes();

/// The launches of one of a Module's kernels in the form that is written down: vector loops are vector statements of up
/// to 16 bytes, and conditions stand outside of the loops that do not change them. Errors as form_threads.
GpuProgram gpu_program(const Function& kernel);
/// The launches of all kernels of `m`, in order, for an emitter of GPU code: all kernels have a workspace or none has,
/// and every access is proved. UserError as emit_gpu.
std::vector<GpuProgram> gpu_programs(const Module& m);
/// Name of a function in emitted code: launch number `launch` of kernel number `kernel`, in every dialect.
std::string gpu_kernel_name(size_t kernel, size_t launch);
/// How `kernel` is launched; `dynamic`: the launch asks for its shared memory.
GpuLaunch launch_of(const std::string& name, const GpuKernel& kernel, bool dynamic);
/// The shared memory that a CUDA kernel may declare, in bytes; a block that needs more asks for all of it at the
/// launch.
inline constexpr int64_t kMostDeclaredShared = 48 << 10;
/// The buffers that the kernel's statements store to.
std::set<const BufferNode*> stored_buffers(const GpuKernel& kernel);

/// UserError for kernels that form_threads cannot form and for modules with prepacks; UnprovedAccess for an access that
/// is not proved. `kind`: of GPUs (target/gpu_kinds.h), whose text is written.
GpuSource emit_gpu(const Module& m, std::string_view kind);

}  // namespace hone
