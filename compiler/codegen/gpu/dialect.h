// What CUDA and OpenCL call the same things.
#pragma once

#include <cstdint>
#include <string_view>

namespace hone {

enum class GpuDialect : uint8_t { kCuda, kOpencl };

/// Words of a dialect. The prelude defines everything else that the generator writes: types (`f32`, `i32`, …, `f32x4`),
/// functions (`exp_f32`, …).
struct DialectWords {
  std::string_view prelude;
  std::string_view prelude_f64, prelude_f16, prelude_bf16;  ///< besides, where these types occur
  /// Where buffers are staged; empty: the dialect has no words for copies beside other work.
  std::string_view prelude_copies;
  std::string_view prelude_tensor;  ///< where tensor nests occur; empty: the dialect has no words for matrix units
  std::string_view kernel;          ///< before a kernel's name; `{}` is its number of threads
  std::string_view global;          ///< qualifier of pointers to device memory
  std::string_view restricted;
  std::string_view shared;          ///< qualifier of a block's buffers
  std::string_view shared_pointer;  ///< qualifier of pointers to them
  std::string_view barrier;
  /// A warp's: what the thread has in `{}` whose number differs in the bits of `{}`; empty: the dialect has none.
  std::string_view shuffle;
  std::string_view block, thread;  ///< numbers of the block and of the thread in it
};

const DialectWords& words_of(GpuDialect dialect);

}  // namespace hone
