// hone_compile, hone_compile_operator, hone_tune and hone_tophub with arguments at random.
#pragma once

#include <random>
#include <string>

#include "tests/fuzz/library/files.h"

namespace hone::fuzz {

/// Makes one call. The fault in its behaviour; empty: none.
std::string call_compiler(const Files& files, std::mt19937_64& rng);

}  // namespace hone::fuzz
