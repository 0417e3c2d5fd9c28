#include "compiler/build/denormals.h"

#include "base/check.h"

namespace hone {

Denormals denormals_for(std::optional<Denormals> asked, const Target& target) {
  if (!target.is_gpu()) return asked.value_or(kUsualDenormals);
  HONE_USER_CHECK(asked != Denormals::kZero)
      << "--denormals zero is for CPUs: " << target.kind << " keeps denormals, at full speed";
  return Denormals::kKeep;
}

}  // namespace hone
