// Options for the code of a Module.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "compiler/ir/denormals.h"

namespace hone {

/// How instructions of registers of tiles are emitted (kernel/tile_instructions.h).
enum class TileCode : uint8_t {
  kInstructions,
  /// Calls of functions that model the instructions, for tests on processors without them:
  /// `void hone_model_ldtilecfg(const void*)`, `void hone_model_tileloadd(int, const void*, int64_t)` and so on, and
  /// `int64_t hone_model_permission(void)` in the place of the system call.
  kModel,
};

struct CodegenOptions {
  std::string name = "kernel";  ///< the exported entry; prepack i is exported as NAME_prepack<i>
  /// Loads and Stores (node addresses of verify()'s Unproved) that get a bounds check; a fault makes the entry return
  /// HONE_FAULT.
  std::vector<const void*> checked_accesses;
  /// Assembly with the code generator's comments, which distinguish spills from other accesses to the stack.
  bool verbose = false;
  bool with_entry = true;  ///< false: only the prepacks (and `json`): the CPU's part of a GPU's code
  std::string json;        ///< exported as the zero-terminated string NAME_json; none when empty
  /// Tensors are aligned as their elements need; else on 64 bytes.
  bool element_aligned = false;
  Denormals denormals = Denormals::kKeep;  ///< in the entry; prepacks keep them
  TileCode tile_code = TileCode::kInstructions;
};

/// Kernel arguments, by number, that may lie in one buffer: each element of the input is read only where the output's
/// is computed (arith/in_place.h proves it).
struct InPlace {
  size_t input = 0, output = 0;
  bool operator==(const InPlace&) const = default;
};

}  // namespace hone
