#include "compiler/build/config_words.h"

#include "base/check.h"
#include "compiler/build/build.h"
#include "compiler/schedule/config_name.h"

namespace hone {

ConfigWords config_words(const Workload& w, const Target& target, const std::string& config, const std::string& space) {
  ConfigWords out{"", config};
  if (config.empty()) return out;  // a function of the host has none
  try {
    const Space own = make_space(w, target);
    if (!space.empty() && own.fingerprint().hex() != space) return out;
    const Config parsed = own.parse(config);
    out = {config_name(own, parsed), own.describe(parsed)};
  } catch (const UserError&) {  // no template has it, or not with these knobs
  }
  return out;
}

}  // namespace hone
