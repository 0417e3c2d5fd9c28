// CUDA and OpenCL text from Modules: one generator, two dialects.
#pragma once

#include <set>
#include <string>
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
};

/// What makes a kernel ready for gpu_program(): simplify, hoist_conditions, vectorize_loops, simplify_vectors.
std::vector<Pass<Stmt>> gpu_passes();

/// The launches of one of a Module's kernels, as they are written down: vector loops are vector statements of up to 16
/// bytes, conditions stand outside of the loops that do not change them. Errors as form_threads.
GpuProgram gpu_program(const Function& kernel);

/// Those of all kernels of `m`, in order, as an emitter of GPU code takes them: all or none have workspace, and every
/// access is proved. UserError as emit_gpu.
std::vector<GpuProgram> gpu_programs(const Module& m);
/// Name of a function in emitted code: launch number `launch` of kernel number `kernel`, in every dialect.
std::string gpu_kernel_name(size_t kernel, size_t launch);
/// How `kernel` is launched; `dynamic`: its shared memory is asked for then.
GpuLaunch launch_of(const std::string& name, const GpuKernel& kernel, bool dynamic);
/// What a kernel of CUDA may declare as shared memory, in bytes; a block that needs more has all of it asked for at the
/// launch.
inline constexpr int64_t kMostDeclaredShared = 48 << 10;
/// Buffers that the kernel's statements store to.
std::set<const BufferNode*> stored_buffers(const GpuKernel& kernel);

/// UserError where form_threads has no form for a kernel and for modules with prepacks; UnprovedAccess where an access
/// is not proved.
GpuSource emit_gpu(const Module& m, GpuDialect dialect);

}  // namespace hone
