#include "compiler/build/denormals.h"

#include "base/check.h"

namespace hone {

Denormals denormals_for(const std::string& flag, const Target& target) {
  if (!target.is_gpu()) return flag.empty() ? kUsualDenormals : parse_denormals(flag);
  HONE_USER_CHECK(flag != name_of(Denormals::kZero))
      << "--denormals zero is for CPUs: " << target.kind << " keeps denormals, at full speed";
  return Denormals::kKeep;
}

}  // namespace hone
