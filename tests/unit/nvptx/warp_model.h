// The results of a whole warp's instructions in each of its threads, by the PTX ISA's tables of fragments: ldmatrix,
// mma.sync, shfl.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace hone {

enum class WarpInstruction : int32_t {
  kRows4,
  kRows2,
  kColumns2,
  kMmaF16,
  kMmaBf16,
  kMmaTf32,
  kMmaS8,
  kMmaU8S8,
  kShuffle,  ///< a value and the bits in which the other thread's number differs
  kRoundTf32,
};

/// Operands as they follow each other: words, or a pointer.
using WarpOperands = std::array<uint32_t, 16>;

/// The results for thread `lane`, from the operands of all 32 threads.
void run_warp_instruction(WarpInstruction what, const std::array<const WarpOperands*, 32>& given, int lane,
                          uint32_t* results);

}  // namespace hone
