// A config that is stored as numbers, as people read it.
#pragma once

#include <string>

#include "compiler/ops/workload.h"
#include "compiler/target/target.h"

namespace hone {

struct ConfigWords {
  std::string name;  ///< config_name() (compiler/schedule/config_name.h); empty where the space is not this version's
  std::string all;   ///< Space::describe(), or the text as it was
};

/// What `config`, the text of one for `w` on `target`, says. `space`, a fingerprint: of another version's space nothing
/// is known; empty: it is this one's.
ConfigWords config_words(const Workload& w, const Target& target, const std::string& config,
                         const std::string& space = "");

}  // namespace hone
