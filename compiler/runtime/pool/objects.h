// The thread pool compiled for the CPUs that artifacts are for: what cmake/EmbedFiles.cmake writes.
#pragma once

#include <span>
#include <string_view>

namespace hone::pool {

struct Asset {
  std::string_view name;  ///< pool-ARCH.o, the object; libpthread-ARCH.so, a library of that soname without symbols
  std::string_view bytes;
};
std::span<const Asset> assets();

}  // namespace hone::pool
