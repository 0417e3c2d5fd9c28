// The processor that code is generated for. The canonical text alone determines the search space, on every machine.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace hone {

/// Abilities of targets: templates ask for them instead of reading the target's text.
enum class Feature : uint8_t {
  kWarpShuffle,   ///< threads of a warp read each other's registers
  kDoubleBuffer,  ///< double buffers in shared memory: one part is filled while the other is read
  kAsyncCopy,     ///< asynchronous copies to shared memory
  kMmaF16,        ///< tensor cores for f16 with sums in f32
  kMmaInt8,       ///< for 8-bit integers with sums in s32
  kMmaBf16,
  kMmaTf32,
  kDotBf16,    ///< of CPUs: two products of bf16 are added to each lane of f32 at once
  kSumsOfF16,  ///< of CPUs: products and sums of f16, in twice the lanes of f32
  kTilesBf16,  ///< of CPUs: registers of tiles, and products of bf16 with sums in f32 (matrix_units.h)
  kTilesF16,   ///< likewise of f16
  kTilesInt8,  ///< of 8-bit integers with sums in s32
  kMmlaBf16,   ///< of CPUs: products of 2 x 2 blocks of bf16 in vector registers
  kMmlaInt8,   ///< of 8-bit integers
  kVnniInt8,   ///< of CPUs: four products of bytes are added to each lane of s32 at once, in vectors of 512 bits
};

/// `llvm -mtriple=x86_64-linux -mcpu=znver5 -threads=2 -l2=1024K`, `cuda -arch=sm_90 -sms=132`, `opencl -sms=8
/// -shared=32K -max-threads=256`. Equal targets print equally; parse(to_string(t)) == t. Fields that equal the entry in
/// the table of known CPUs or GPUs are not printed.
struct Target {
  std::string kind = "llvm";  ///< llvm, cuda, opencl

  // Fields of CPUs (kind llvm).
  std::string arch, os;         ///< x86_64 or aarch64; linux
  std::string mcpu;             ///< an LLVM CPU name
  std::string mattr;            ///< `+avx512f,-avx512bf16`: what differs from the mcpu's own features
  int threads = 1;              ///< 0: not said, of a target that is not complete
  int64_t l1_bytes = 32 << 10;  ///< data cache of one core
  int64_t l2_bytes = 1 << 20;   ///< of one core
  int64_t l3_bytes = 0;         ///< shared; 0 = none
  int vector_bits = 128;        ///< widest vector register
  int vector_registers = 16;

  // The members below are for GPUs. `arch` is sm_XX for cuda and empty for opencl.
  int sms = 0;  ///< multiprocessors, compute units
  /// Shared (OpenCL: local) memory that a block may have: declared and, for CUDA, requested at the launch.
  int64_t shared_bytes = 48 << 10;
  int max_threads = 1024;        ///< of a block
  int warp = 32;                 ///< threads that run in step
  int registers_per_sm = 65536;  ///< of 32 bits

  bool operator==(const Target&) const = default;
  bool is_gpu() const { return kind != "llvm"; }
  bool has(Feature feature) const;
  /// 80 for sm_80; 0 where `arch` is not of that form.
  int compute_capability() const;
  /// Lanes of `bits` bits in the widest vector.
  int lanes(int64_t bits) const { return static_cast<int>(vector_bits / bits); }
  bool is_complete() const { return is_gpu() ? sms > 0 : !mcpu.empty(); }

  /// Reads a canonical or partial text. `llvm`, `cuda` or `opencl` alone gives an incomplete target: the measuring
  /// device fills it in. UserError for an unknown kind (lists the known ones), flag, mcpu without -mtriple, or a number
  /// out of range.
  static Target parse(std::string_view text);
  /// This target with every field it leaves open taken from `device`. UserError when what it does say contradicts the
  /// kind.
  Target completed_by(const Target& device) const;
};

std::string to_string(const Target& target);

/// The default target of an LLVM CPU name, from the table of CPUs; the generic entry of `arch` for an unknown name.
Target cpu_defaults(std::string_view arch, std::string_view mcpu);

}  // namespace hone
