#include "compiler/cli/denormals.h"

#include "base/exit_code.h"

namespace hone {

StatusOr<Denormals> denormals_for(const std::string& flag, const Target& target) {
  if (!target.is_gpu()) return flag.empty() ? kUsualDenormals : parse_denormals(flag);
  if (flag == name_of(Denormals::kZero))
    return usage_error("--denormals zero is for CPUs: " + target.kind + " keeps denormals, at full speed");
  return Denormals::kKeep;
}

}  // namespace hone
