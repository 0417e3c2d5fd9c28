// A vector whose first elements need no memory of their own.
#pragma once

#include <absl/container/inlined_vector.h>

#include <cstddef>

namespace hone {

template <class T, size_t N>
using SmallVector = absl::InlinedVector<T, N>;

}  // namespace hone
