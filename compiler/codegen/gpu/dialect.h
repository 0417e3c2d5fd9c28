// The words in which CUDA and OpenCL differ.
#pragma once

#include <string_view>

namespace hone {

/// Words of a dialect. The prelude defines everything else that the generator writes: types (`f32`, `i32`, …, `f32x4`),
/// functions (`exp_f32`, …).
struct DialectWords {
  std::string_view prelude;
  std::string_view prelude_f64, prelude_f16, prelude_bf16;  ///< added to the prelude where these types occur
  /// Added where buffers are staged; empty: the dialect has no asynchronous copies.
  std::string_view prelude_copies;
  std::string_view prelude_tensor;  ///< added where warp loops occur; empty: the dialect cannot use tensor cores
  std::string_view kernel;          ///< before a kernel's name; `{}` is its number of threads
  std::string_view global;          ///< qualifier of pointers to device memory
  std::string_view restricted;
  std::string_view shared;          ///< qualifier of a block's buffers
  std::string_view shared_pointer;  ///< qualifier of pointers to them
  /// Declares the shared memory that a launch asks for; empty: kernels declare all of it.
  std::string_view block_memory;
  std::string_view barrier;
  /// A warp shuffle: the value `{}` of the thread whose number differs in the bits `{}`; empty: the dialect has none.
  std::string_view shuffle;
  std::string_view block, thread;  ///< numbers of the block and of the thread in it
  /// Begins lines for devices of a compute capability (times 100) of at least `{}`.
  std::string_view since;
};

/// Those of a kind of GPUs (target/gpu_kinds.h). InternalError for a kind without a text.
const DialectWords& words_of(std::string_view kind);

}  // namespace hone
