// Configs that pack a constant as other variants of the model have it packed, so that the artifact holds it once.
#pragma once

#include <map>
#include <string>

#include "compiler/build/choose_config.h"
#include "compiler/graph/graph.h"
#include "compiler/ir/module.h"
#include "compiler/schedule/space.h"

namespace hone {

/// The function that packs constants for parameter `p`; none where kernels take them as they are.
std::optional<Function> packing_function(const Module& m, size_t p);

/// How the constants of the variants so far are packed. Constants are known by their elements, which graphs are to
/// share (share_constants()).
class SharedPackings {
 public:
  /// The node, whose kernel `m` of config `config` is, packs its constants so.
  void add(const Graph& g, const Node& node, const Module& m, const std::string& config);

  /// A config that packs the node's constants as they are packed already: of `chosen` with the other's choices of all
  /// knobs that matter for the packing, and, where these break a constraint, one more choice changed, as little as
  /// possible. `chosen` where nothing is packed yet, where it packs the same, and where the space has no such config.
  ChosenConfig follow(const Graph& g, const Node& node, const Target& target, const Space& space,
                      const ChosenConfig& chosen) const;

 private:
  struct Packing {
    std::string code;    ///< of the function that packs; empty: none
    std::string config;  ///< of the kernel
  };
  std::map<const char*, Packing> packings_;  ///< by the constant's elements
};

}  // namespace hone
