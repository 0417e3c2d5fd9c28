// C headers of artifacts.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/ir/denormals.h"
#include "compiler/ir/module.h"
#include "compiler/target/target.h"

namespace hone {

/// A C header with the declarations and contracts of the entries; of an artifact in C with `in_c`.
std::string artifact_header(const Module& m, const Target& target, const std::string& name, const std::string& workload,
                            bool in_c = false, Denormals denormals = kUsualDenormals);

/// A function of a library, with its variants and what they compute.
struct HeaderFunction {
  std::string name;
  std::vector<std::pair<const Module*, std::string>> variants;
};

/// The header of the library `name`: a commented prototype for each function.
std::string library_header(const std::vector<HeaderFunction>& functions, const Target& target, const std::string& name,
                           bool in_c, Denormals denormals);

/// The declarations of NAME_pool and NAME_pool_free with their contracts; or why there are none (`in_c`: the artifact
/// is in C).
std::string pool_declarations(const Target& target, const std::string& name, bool in_c = false);

/// The line of a C header's comment when Module::assume_finite is set.
inline constexpr std::string_view kAssumesFinite = "Inputs are taken to be finite: what becomes of a NaN is not said.";
/// The line of a C header's comment about denormals; empty for a GPU's artifact.
std::string denormals_line(Denormals denormals, const Target& target);

/// `text` with what is no letter and no digit as _, in capitals: for macros.
std::string macro_name(std::string text);

}  // namespace hone
