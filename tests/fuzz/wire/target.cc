#include "tests/fuzz/wire/target.h"

#include <array>

namespace hone::fuzz {

std::span<const Target> targets() {
  static const std::array all = {kAgentStream, kSessionStream, kOutside, kToAgent, kToSession, kFrames};
  return all;
}

const Target* find_target(std::string_view name) {
  for (const Target& target : targets())
    if (target.name == name) return &target;
  return nullptr;
}

}  // namespace hone::fuzz
