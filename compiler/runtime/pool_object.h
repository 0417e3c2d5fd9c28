// The thread pool (pool/pool.h) as machine code for artifacts.
#pragma once

#include <string_view>

namespace hone {

/// A relocatable ELF object with hone_internal_pool_new and hone_internal_pool_free for `arch` (x86_64, aarch64) under
/// Linux, that calls nothing but libc; empty where Hone was built without a compiler for it.
std::string_view pool_object(std::string_view arch);

/// A shared library without symbols and with the soname of the one that pool_object's functions are in: linked with, it
/// makes the loader open that one. Empty where pool_object is.
std::string_view pool_library(std::string_view arch);

}  // namespace hone
