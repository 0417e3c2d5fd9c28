// The results of a whole warp's instructions in each of its threads, by the PTX ISA's tables of fragments: ldmatrix,
// mma.sync, shfl; and those of one thread that CPUs do not have: conversions, dp4a.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace hone {

enum class WarpInstruction : int32_t {
  kRows4,
  kRows2,
  kColumns4,
  kColumns2,
  kMmaF16,
  kMmaBf16,
  kMmaTf32,
  kMmaS8,
  kMmaU8S8,
  kHalfMmaF16,      ///< m16n8k8
  kQuarterMmaS8,    ///< m8n8k16
  kQuarterMmaU8S8,  ///< m8n8k16
  kShuffle,         ///< a value and the bits in which the other thread's number differs
  kRoundTf32,       ///< the first instruction of one thread
  kRoundBf16,
  kDot4,
};

/// Whether each thread gets its result from its own operands.
constexpr bool is_of_one_thread(WarpInstruction what) { return what >= WarpInstruction::kRoundTf32; }

/// Operands as they follow each other: words, or a pointer.
using WarpOperands = std::array<uint32_t, 16>;

/// The results for thread `lane`, from the operands of all 32 threads.
void run_warp_instruction(WarpInstruction what, const std::array<const WarpOperands*, 32>& given, int lane,
                          uint32_t* results);

}  // namespace hone
