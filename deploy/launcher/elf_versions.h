// Which versions of its symbols a shared library defines, read from the file without loading it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hone::launcher {

/// Major, minor and patch: compares as versions do.
using Version = std::array<unsigned, 3>;

/// The newest version `prefix`N.N or `prefix`N.N.N (GLIBC_2.36, GLIBCXX_3.4.30) that the library at `path` defines.
/// Nothing where there is no such file, where it is not a 64-bit little-endian ELF file for `machine` (EM_X86_64, …),
/// where it is cut off or otherwise broken, and where no version has that prefix.
std::optional<Version> newest_version(const std::string& path, uint16_t machine, std::string_view prefix);

}  // namespace hone::launcher
