// The table of known CPUs. Private to compiler/target.
#pragma once

#include <string_view>

namespace hone {

struct CpuEntry {
  std::string_view name, arch;
  int vector_bits, vector_registers;
  int l1_kib, l2_kib, l3_kib;
};

/// Null when the table does not know it.
const CpuEntry* find_cpu(std::string_view arch, std::string_view mcpu);

}  // namespace hone
