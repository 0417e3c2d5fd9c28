// Partitioned Boolean quadratic problems: each node takes one of its options, each with a cost, and each edge has a
// cost for each pair of its ends' options. The solution is the assignment of the least sum. Source: Scholz and
// Eckstein, Register Allocation for Irregular Architectures, LCTES 2002; Hames and Scholz, Nearly Optimal Register
// Allocation with PBQP, JMLC 2006.
#pragma once

#include <cstddef>
#include <limits>
#include <map>
#include <utility>
#include <vector>

namespace hone {

class Pbqp {
 public:
  /// The cost of a forbidden option or pair.
  static constexpr double kInfinite = std::numeric_limits<double>::infinity();

  /// A node with the costs of its options, at least one, none negative infinite; nodes are numbered from 0.
  int add_node(std::vector<double> costs);
  /// `costs[i * options of b + j]`: of option i of `a` beside option j of `b`. Added to earlier costs between the two.
  /// InternalError where a is b, or the sizes do not fit.
  void add_edge(int a, int b, const std::vector<double>& costs);

  struct Solution {
    std::vector<int> options;  ///< by node
    double cost = 0;           ///< infinite where none was found that is allowed
    bool is_optimal = false;   ///< proved, but for rounding: no option was chosen by the heuristic
  };
  /// Nodes with at most two neighbours are reduced, which keeps the optimum (trees and series-parallel graphs have no
  /// others); where there are none, a node of the most neighbours takes the option that looks best. The answer is never
  /// worse than the first option of all nodes; of equally good options the first is taken. Always the same answer.
  Solution solve() const;

  double cost_of(const std::vector<int>& options) const;

 private:
  std::vector<std::vector<double>> nodes_;
  std::map<std::pair<int, int>, std::vector<double>> edges_;  ///< the smaller node first
};

}  // namespace hone
