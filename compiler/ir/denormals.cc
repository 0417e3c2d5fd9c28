#include "compiler/ir/denormals.h"

#include <limits>

#include "base/check.h"

namespace hone {

std::string_view name_of(Denormals d) { return d == Denormals::kKeep ? "keep" : "zero"; }

Denormals parse_denormals(std::string_view text) {
  for (const Denormals d : {Denormals::kKeep, Denormals::kZero})
    if (text == name_of(d)) return d;
  throw UserError("denormals '" + std::string(text) + "': keep or zero");
}

bool may_vanish(DType t) { return t.is_float() && t.scalar() != f16; }

double smallest_normal(DType t) {
  return t.scalar() == f16   ? 0x1p-14
         : t.scalar() == f64 ? std::numeric_limits<double>::min()
                             : double{std::numeric_limits<float>::min()};
}

}  // namespace hone
