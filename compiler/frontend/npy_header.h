// The beginning of a .npy file.
#pragma once

#include <string_view>

#include "compiler/ops/infer.h"

namespace hone {

/// The most bytes of a file that npy_header() needs: numpy's own are rarely longer than 128.
inline constexpr int64_t kMostNpyHeader = 4096;

struct NpyHeader {
  TensorType type;
  size_t bytes = 0;  ///< where the elements begin
};

/// Reads the head of a file of version 1: "\x93NUMPY", its version, the length of a dict and the dict, `{'descr':
/// '<f4', 'fortran_order': False, 'shape': (1, 3), }`. UserError, one line, for anything else: elements that are no
/// numbers of a little-endian machine, columns first, more than 32 axes, more than 2^48 elements.
NpyHeader npy_header(std::string_view file);

}  // namespace hone
