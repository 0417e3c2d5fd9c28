// Memory for the small nodes of the IR, which a search makes and drops by the million: freed blocks wait, by size, for
// the next node of that size on the same thread.
#pragma once

#include <cstddef>

namespace hone {

/// Base of classes whose objects come from the pool when made with `new`. A block may be freed on another thread than
/// it came from. With a sanitizer it is plain `new`, so that use after free and leaks are seen.
struct Pooled {
  static void* operator new(size_t bytes);
  static void operator delete(void* block, size_t bytes) noexcept;
};

}  // namespace hone
