// Loops that do nothing but multiply, one a unit of the CPU.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace hone::bench {

struct Unit {
  std::string name;
  double operations;                 ///< of one turn of the loop, a multiply-add counts two; 1: the turn's time is told
  std::function<void(int64_t)> run;  ///< so many turns
};

inline constexpr const char* kTilesFromL1 = "AMX bf16, 2 x 2 tiles, operands in L1";

/// The units that this CPU has and this process may use, the FMA of f32 first. Asks the kernel for AMX's tiles and
/// leaves them configured on the calling thread. Empty on CPUs without AVX-512.
std::vector<Unit> units_here();

}  // namespace hone::bench
