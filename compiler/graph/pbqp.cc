#include "compiler/graph/pbqp.h"

#include <algorithm>
#include <set>

#include "base/check.h"

namespace hone {
namespace {

using Costs = std::vector<double>;

int first_least(const Costs& c) { return static_cast<int>(std::min_element(c.begin(), c.end()) - c.begin()); }

// Takes nodes out, one after the other, until none is left; then gives them their options, the last one first.
class Reducer {
 public:
  explicit Reducer(std::vector<Costs> nodes) : costs_(std::move(nodes)), edges_(costs_.size()) {
    for (size_t n = 0; n < costs_.size(); ++n) by_degree_.emplace(0, n);
  }

  // `m` has the options of `a` as rows.
  void add_edge(size_t a, size_t b, const Costs& m) {
    const size_t rows = costs_[a].size(), columns = costs_[b].size();
    Costs& own = edge(a, b);
    Costs& other = edge(b, a);
    for (size_t i = 0; i < rows; ++i)
      for (size_t j = 0; j < columns; ++j) {
        own[i * columns + j] += m[i * columns + j];
        other[j * rows + i] += m[i * columns + j];
      }
  }

  std::vector<int> options() {
    while (!by_degree_.empty()) {
      const auto [degree, fewest] = *by_degree_.begin();
      if (degree <= 2)
        reduce(fewest);
      else
        guess(by_degree_.rbegin()->second);
    }
    std::vector<int> out(costs_.size(), 0);
    for (auto t = taken_.rbegin(); t != taken_.rend(); ++t) {
      Costs sum = costs_[t->node];
      for (const auto& [other, m] : t->edges) add_column(sum, m, static_cast<size_t>(out[other]), costs_[other].size());
      out[t->node] = first_least(sum);
    }
    return out;
  }
  bool guessed() const { return guessed_; }

 private:
  using Edges = std::map<size_t, Costs>;  // by the other node; rows are the options of the one that has them
  struct Taken {
    size_t node;
    Edges edges;  // to those that were left when it was taken out
  };

  Costs& edge(size_t a, size_t b) {
    const auto [it, is_new] = edges_[a].try_emplace(b);
    if (is_new) {
      it->second.assign(costs_[a].size() * costs_[b].size(), 0);
      by_degree_.erase({edges_[a].size() - 1, a});
      by_degree_.emplace(edges_[a].size(), a);
    }
    return it->second;
  }

  static void add_column(Costs& sum, const Costs& m, size_t column, size_t columns) {
    for (size_t i = 0; i < sum.size(); ++i) sum[i] += m[i * columns + column];
  }

  Taken& take(size_t n) {
    by_degree_.erase({edges_[n].size(), n});
    for (const auto& [other, m] : edges_[n]) {
      by_degree_.erase({edges_[other].size(), other});
      edges_[other].erase(n);
      by_degree_.emplace(edges_[other].size(), other);
    }
    return taken_.emplace_back(Taken{n, std::move(edges_[n])});
  }

  // R0, RI and RII: the cost of the best option of `n` becomes a cost of its neighbours, or of an edge between the two.
  void reduce(size_t n) {
    const Edges around = take(n).edges;
    if (around.empty()) return;
    const auto& [a, to_a] = *around.begin();
    const auto& [b, to_b] = *around.rbegin();
    const size_t rows = costs_[a].size(), columns = costs_[b].size();
    Costs best(around.size() == 1 ? rows : rows * columns);
    for (size_t k = 0; k < best.size(); ++k) {
      Costs sum = costs_[n];
      add_column(sum, to_a, around.size() == 1 ? k : k / columns, rows);
      if (around.size() == 2) add_column(sum, to_b, k % columns, columns);
      best[k] = sum[static_cast<size_t>(first_least(sum))];
    }
    if (around.size() == 2) return add_edge(a, b, best);
    for (size_t k = 0; k < rows; ++k) costs_[a][k] += best[k];
  }

  // RN: the option that is best when each neighbour takes its best option, whatever the neighbour's others want.
  void guess(size_t n) {
    guessed_ = true;
    const Edges around = take(n).edges;
    Costs sum = costs_[n];
    for (const auto& [other, m] : around)
      for (size_t i = 0, columns = costs_[other].size(); i < sum.size(); ++i) {
        Costs with = costs_[other];
        for (size_t j = 0; j < columns; ++j) with[j] += m[i * columns + j];
        sum[i] += with[static_cast<size_t>(first_least(with))];
      }
    const auto chosen = static_cast<size_t>(first_least(sum));
    for (const auto& [other, m] : around)
      for (size_t j = 0, columns = costs_[other].size(); j < columns; ++j) costs_[other][j] += m[chosen * columns + j];
    // Its neighbours have paid for the edges and are chosen first: they must not move it away again.
    for (size_t i = 0; i < sum.size(); ++i)
      if (i != chosen) costs_[n][i] = Pbqp::kInfinite;
  }

  std::vector<Costs> costs_;
  std::vector<Edges> edges_;
  std::set<std::pair<size_t, size_t>> by_degree_;  // those that are left
  std::vector<Taken> taken_;
  bool guessed_ = false;
};

}  // namespace

int Pbqp::add_node(std::vector<double> costs) {
  HONE_ICHECK(!costs.empty()) << "a node without options";
  nodes_.push_back(std::move(costs));
  return static_cast<int>(nodes_.size()) - 1;
}

void Pbqp::add_edge(int a, int b, const std::vector<double>& costs) {
  const size_t rows = nodes_.at(static_cast<size_t>(a)).size(), columns = nodes_.at(static_cast<size_t>(b)).size();
  HONE_ICHECK(a != b && costs.size() == rows * columns)
      << "an edge of " << costs.size() << " costs between nodes " << a << " and " << b;
  Costs& sum = edges_[std::minmax(a, b)];
  sum.resize(costs.size(), 0);
  for (size_t i = 0; i < rows; ++i)
    for (size_t j = 0; j < columns; ++j) sum[a < b ? i * columns + j : j * rows + i] += costs[i * columns + j];
}

double Pbqp::cost_of(const std::vector<int>& options) const {
  const auto option = [&](size_t n) { return static_cast<size_t>(options[n]); };
  double sum = 0;
  for (size_t n = 0; n < nodes_.size(); ++n) sum += nodes_[n][option(n)];
  for (const auto& [ends, costs] : edges_) {
    const auto a = static_cast<size_t>(ends.first), b = static_cast<size_t>(ends.second);
    sum += costs[option(a) * nodes_[b].size() + option(b)];
  }
  return sum;
}

Pbqp::Solution Pbqp::solve() const {
  Reducer reducer(nodes_);
  for (const auto& [ends, costs] : edges_)
    reducer.add_edge(static_cast<size_t>(ends.first), static_cast<size_t>(ends.second), costs);
  Solution found;
  found.options = reducer.options();
  found.cost = cost_of(found.options);
  found.is_optimal = !reducer.guessed();
  const std::vector<int> firsts(nodes_.size(), 0);
  if (const double cost = cost_of(firsts); !(found.cost < cost)) found = {firsts, cost, found.is_optimal};
  return found;
}

}  // namespace hone
