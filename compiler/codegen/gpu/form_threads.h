// From loop form to the program of each thread of a GPU.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compiler/ir/module.h"

namespace hone {

/// A loop of a launch whose iterations are blocks or threads: var = 0 .. extent-1.
struct GpuAxis {
  Var var;
  int64_t extent = 1;
};

/// One launch: the program of one thread, and the axes of its blocks and threads.
struct GpuKernel {
  std::vector<GpuAxis> blocks, threads;  ///< outermost first; a loop that runs once is no axis
  std::vector<Buffer> shared;            ///< shared memory of a block
  /// Shared buffers that are only copied to (copied_from) and read behind a barrier: the copies may be asynchronous.
  std::vector<Buffer> staged;
  /// Loops, by their variable, that begin with a barrier and an If, which holds all of their copies to staged buffers:
  /// an iteration copies what is read so many iterations later, 2 to 7. Behind the barrier the copies of all but one of
  /// these may be under way.
  std::map<const VarNode*, int64_t> pipelines;
  Stmt body;  ///< with barriers; without thread loops

  int64_t block_count() const;
  int64_t thread_count() const;
  int64_t shared_bytes() const;  ///< each buffer begins at a multiple of 16
};

/// A function as launches, carried out one after the other.
struct GpuProgram {
  struct WorkspaceBuffer {
    Buffer buffer;
    int64_t offset;  ///< bytes into the module's workspace
  };
  std::vector<Buffer> params;
  std::vector<WorkspaceBuffer> workspace;
  std::vector<GpuKernel> kernels;
};

/// Throws UnprovedAccess where an access of `body`, the program of one of `kernel`'s threads at any stage, is not
/// proved to stay inside its buffer: nothing on a GPU checks it.
void require_proved(const GpuKernel& kernel, const Stmt& body);

/// The load whose element or vector `store` copies from a parameter: C[i] = P[j], or P[j] where a condition holds and
/// zeros elsewhere; null when `store` computes.
const Load* copied_from(const Store* store);

/// Takes loop form (flat indices, bound loops) apart into launches: the outermost block loops and what stands in them
/// are one launch each. Inside, the thread nests of a block become parts of one thread's program: variables of nests of
/// other shapes are computed from the thread's number, nests of fewer threads are guarded, stack buffers of the block
/// become each thread's own (privatize_buffers), and a barrier is put in front of a nest where it touches shared or
/// workspace memory or a parameter that another thread may have touched since the last one, one of the two writing.
/// Statements of a block outside of thread loops are carried out by its first thread. UserError for a program that has
/// no such form: block loops that are not outermost or do not fill each other, loops around launches, conditions around
/// thread loops that read memory, stack buffers whose elements several threads share.
GpuProgram form_threads(const Function& f);

/// The same program as a Function with block and thread loops and barriers, for the interpreter and for people.
Function as_function(const GpuProgram& program, const std::string& name);

}  // namespace hone
