// Which elementwise stages of a definition are computed into a buffer, and which where they are read.
#pragma once

#include <set>
#include <string>

#include "compiler/ops/definition.h"
#include "compiler/schedule/schedule.h"

namespace hone {

/// The stages that are kept in addition to those that are too long to be inlined.
enum class Keep : uint8_t {
  kNothing = 0,
  kExpensive = 1,  ///< stages that call functions or divide and would be computed for more elements than they have
  kRepeated = 2,   ///< all stages that would be computed for more elements than they have
};

/// The names of the stages without a reduction, outputs left out, that `keep` gives a buffer of their own.
std::set<std::string> kept_stages(const Definition& d, Keep keep);

/// Inlines all stages of `d` but reductions, outputs and `kept`.
void inline_others(Schedule& s, const Definition& d, const std::set<std::string>& kept);

}  // namespace hone
