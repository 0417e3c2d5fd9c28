// The C code that artifacts bring (pool/pool.h, entry/entry.h, variants/variants.h, weights/weights.h, host_functions/)
// as machine code.
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace hone {

/// Relocatable ELF objects for `arch` (x86_64, aarch64) under Linux, that call nothing but libc; empty when Hone was
/// built without a compiler for it. The thread pool: hone_internal_pool_new and hone_internal_pool_free.
std::string_view pool_object(std::string_view arch);
/// The code of artifacts with several variants: hone_internal_run_variant and hone_internal_enter_variant.
std::string_view variants_object(std::string_view arch);
/// The code that maps weights from a file of their own: hone_internal_map_weights.
std::string_view weights_object(std::string_view arch);
/// The code of entry/FILE.c (entry/entry.h).
std::string_view entry_object(std::string_view file, std::string_view arch);
/// The code of a layer in C (host_functions/host_functions.h): hone_internal_NAME.
std::string_view host_function_object(std::string_view name, std::string_view arch);

/// A shared library without symbols and with the soname of the one that pool_object's functions are in: linked with, it
/// makes the loader open that one. Empty where pool_object is.
std::string_view pool_library(std::string_view arch);

/// The text of one of these files, `variants.c`, with the headers of ours that it includes, each where it is not yet in
/// `included`; without hone_runtime.h. InternalError where there is no such file.
std::string c_source(const std::string& file, std::set<std::string>* included);

}  // namespace hone
