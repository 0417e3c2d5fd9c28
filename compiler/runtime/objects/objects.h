// The C code of artifacts, compiled for their CPUs: the data that cmake/EmbedFiles.cmake writes.
#pragma once

#include <span>
#include <string_view>

namespace hone::c_objects {

struct Asset {
  /// pool-ARCH.o, variants-ARCH.o, weights-ARCH.o and those of entry and host_functions, objects; libpthread-ARCH.so, a
  /// library of that soname without symbols; and what they are made of, but the pool: variants.c, variants.h, …; and
  /// denormals.c, denormals.h, which are text alone
  std::string_view name;
  std::string_view bytes;
};
std::span<const Asset> assets();

}  // namespace hone::c_objects
