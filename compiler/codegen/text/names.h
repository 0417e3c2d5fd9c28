// Names in texts of C, CUDA and OpenCL.
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>

#include "compiler/ir/dtype.h"

namespace hone {

/// Identifiers of buffers and variables: as in the IR, made unique and legal.
class Names {
 public:
  Names();
  /// Gives `node`, a VarNode or a BufferNode, an identifier like `name` if it has none yet.
  const std::string& give(const void* node, const std::string& name);
  /// An identifier that nothing else has, like `name`.
  std::string fresh(const std::string& name);

 private:
  std::unordered_map<const void*, std::string> given_;
  std::unordered_set<std::string> taken_;
};

/// `f32`, `u8`, …; a bool in memory is a `u8`, a float of 16 bits a `u16`.
std::string memory_type(DType t);

}  // namespace hone
