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

/// The words for `config`, the text of a config for `w` on `target`. `space`: its space's fingerprint; when it is not
/// this version's, the text stays as it is; empty: it is this version's.
ConfigWords config_words(const Workload& w, const Target& target, const std::string& config,
                         const std::string& space = "");

}  // namespace hone
