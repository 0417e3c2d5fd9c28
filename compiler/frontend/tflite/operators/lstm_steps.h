// LSTM layers whose steps are written out: those with projections of states, and those with norms of gates.
#pragma once

#include <array>
#include <optional>

#include "compiler/frontend/tflite/node/node.h"

namespace hone::tflite {

/// Where gates are among those of a layer.
inline constexpr size_t kInputGate = 0, kForgetGate = 1, kCellGate = 2, kOutputGate = 3;

/// A gate of n cells. The input's part of its sums is computed ahead of all steps.
struct LstmGate {
  Operand recurrent;                ///< [n, m], of a state of m numbers
  std::optional<Operand> peephole;  ///< [n], of the cell
  std::optional<Operand> norm;      ///< [n]: sums become as far from their mean as their deviation, times these,
  std::optional<Operand> bias;      ///< and [n] behind that; without norms the sums have it
};

struct LstmSteps {
  std::array<std::optional<LstmGate>, 4> gates;        ///< i, f, c, o; no i: what is not kept is taken
  std::optional<Operand> projection, projection_bias;  ///< [m, n] and [m]: of cells to a state
  int8_t activation = 0;
  float cell_clip = 0, projection_clip = 0;  ///< 0: none
  bool is_reverse = false;
};

/// `sums`: [steps, batch, gates * n], of the gates that there are, in order; states [batch, m] and cells [batch, n].
/// Gives the states of all steps, [steps, batch, m], and the last cells. UserError for more steps than are written out.
std::array<Operand, 2> lstm_by_steps(Lowering& l, const LstmSteps& layer, const Operand& sums, Operand hidden,
                                     Operand cell);

}  // namespace hone::tflite
