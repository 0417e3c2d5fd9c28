// Tables of 256 bytes: which instructions of a processor look bytes up in registers. Private to codegen/llvm.
#pragma once

#include <cstdint>

#include "compiler/target/target.h"

namespace llvm {
class IRBuilderBase;
class Value;
}  // namespace llvm

namespace hone {

enum class TableLookup : uint8_t {
  kNone,    ///< byte by byte, in memory
  kVbmi,    ///< vpermi2b: 128 entries at a time
  kPshufb,  ///< pshufb: 16 entries at a time
  kTbl,     ///< NEON's tbl and tbx: 64 entries at a time
};

struct TableUnit {
  TableLookup kind = TableLookup::kNone;
  int bytes = 0;  ///< that one instruction looks up
};

/// The unit of a CPU for vectors of at most `vector_bits`.
TableUnit table_unit(const Target& target, int vector_bits);

/// table[indices], with `indices` a vector of 8-bit integers (from 0 to 255) and `table` the address of 256 bytes.
/// `unit` is not kNone. Lanes whose index is poison are poison.
llvm::Value* emit_table_lookup(llvm::IRBuilderBase& b, const TableUnit& unit, llvm::Value* table, llvm::Value* indices);

}  // namespace hone
