// What code is generated for. The canonical text alone determines the search space, on every machine.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace hone {

/// `llvm -mtriple=x86_64-linux -mcpu=znver5 -threads=2 -l2=1024K`. Equal targets print equally; parse(to_string(t)) == t.
/// Fields that equal the mcpu's entry in the table of known CPUs are not printed.
struct Target {
  std::string kind = "llvm";    ///< llvm; later cuda, opencl
  std::string arch, os;         ///< x86_64 or aarch64; linux
  std::string mcpu;             ///< an LLVM CPU name
  std::string mattr;            ///< `+avx512f,-avx512bf16`: what differs from the mcpu's own features
  int threads = 1;
  int64_t l1_bytes = 32 << 10;  ///< data cache of one core
  int64_t l2_bytes = 1 << 20;   ///< of one core
  int64_t l3_bytes = 0;         ///< shared; 0 = none
  int vector_bits = 128;        ///< widest vector register
  int vector_registers = 16;

  bool operator==(const Target&) const = default;
  int f32_lanes() const { return vector_bits / 32; }
  bool is_complete() const { return !mcpu.empty(); }

  /// Reads a canonical or partial text. `llvm` alone gives an incomplete target: the measuring machine fills it in. UserError for an
  /// unknown kind (lists the known ones), flag, mcpu without -mtriple, or a number out of range.
  static Target parse(std::string_view text);
  /// This target with every field it leaves open taken from `device`. UserError when what it does say contradicts the kind.
  Target completed_by(const Target& device) const;
};

std::string to_string(const Target& target);

/// What the table of CPUs knows of an LLVM CPU name; the generic entry of `arch` when it knows nothing.
Target cpu_defaults(std::string_view arch, std::string_view mcpu);

}  // namespace hone
