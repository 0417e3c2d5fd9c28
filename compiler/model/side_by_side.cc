#include "compiler/model/side_by_side.h"

#include <algorithm>
#include <numeric>

#include "compiler/ir/visitor.h"
#include "compiler/ops/workload.h"

namespace hone {
namespace {

// Estimates, for whole vectors of 512 bits at 4 GHz, half of the peak: what matters is which layers are small.
constexpr double kFlopsPerSecond = 100e9, kBytesPerSecond = 60e9, kCall = 0.2e-6;
// Starting a region on several threads and waiting for the last one.
constexpr double kRegion = 0.7e-6;
// Larger layers are divided well, and their neighbours read what the same core wrote.
constexpr double kMostSmall = 10e-6;
// Estimates are rough: what gains less may lose.
constexpr double kLeastGain = 0.15;

double seconds_of(const Graph& g, const Node& n) {
  double bytes = 0;
  for (const auto* values : {&n.inputs, &n.outputs})
    for (const ValueId v : *values) bytes += static_cast<double>(bytes_of(g.value(v).type));
  return kCall + std::max(flops(n.workload) / kFlopsPerSecond, bytes / kBytesPerSecond);
}

// How many threads of `threads` a kernel has work for.
int64_t threads_of(const Module& m, int64_t threads) {
  class Loops final : public Visitor {
   public:
    int64_t most = 1;

   protected:
    using Visitor::visit;
    void visit(const For* op) override {
      if (op->loop == LoopKind::kParallel) most = std::max(most, as_const_int(op->extent).value_or(INT64_MAX));
      Visitor::visit(op);
    }
  } loops;
  for (const Function& kernel : m.kernels) loops(kernel.body);
  return std::min(loops.most, threads);
}

class Finder {
 public:
  Finder(const Graph& g, const Storage& storage, const Layers& layers, int threads)
      : threads_(static_cast<size_t>(threads)), before_(layers.calls.size()) {
    for (const Layer& call : layers.calls) {
      const double seconds = seconds_of(g, g.nodes[static_cast<size_t>(call.node)]);
      const auto divided = threads_of(layers.kernels[call.kernel].module, threads);
      seconds_.push_back(seconds);
      divided_.push_back(divided > 1 ? seconds / static_cast<double>(divided) + kRegion : seconds);
    }
    // Nodes that need no code hand on what their inputs depend on.
    std::vector<std::vector<size_t>> made_by(g.values.size());
    size_t call = 0;
    for (size_t n = 0; n < g.nodes.size(); ++n) {
      std::vector<size_t> of;
      for (const ValueId v : g.nodes[n].inputs) {
        const auto& from = made_by[static_cast<size_t>(v)];
        of.insert(of.end(), from.begin(), from.end());
      }
      if (!storage.is_free(n)) {
        before_[call] = std::move(of);
        of = {call++};
      }
      for (const ValueId v : g.nodes[n].outputs) made_by[static_cast<size_t>(v)] = of;
    }
  }

  std::vector<SideBySide> run() const {
    std::vector<SideBySide> out;
    for (size_t begin = 0; begin < seconds_.size();) {
      size_t end = begin;
      while (end < seconds_.size() && seconds_[end] <= kMostSmall) ++end;
      if (end - begin > 1) add_best(begin, end, &out);
      begin = end + 1;
    }
    return out;
  }

 private:
  // Of calls begin .. end - 1, all small: the longest stretches that gain.
  void add_best(size_t begin, size_t end, std::vector<SideBySide>* out) const {
    while (begin + 1 < end) {
      std::optional<SideBySide> best;
      double most = 0;
      for (size_t stop = begin + 2; stop <= end; ++stop) {
        SideBySide lanes = divided(begin, stop);
        const double gain = gain_of(begin, stop, lanes);
        if (gain > most) most = gain, best = std::move(lanes);
      }
      if (!best) {
        ++begin;
        continue;
      }
      begin = 0;
      for (const auto& lane : best->lanes) begin = std::max(begin, lane.back() + 1);
      out->push_back(std::move(*best));
    }
  }

  // Calls that depend on each other, perhaps through others, in one lane; the longest such group goes to the lane with
  // the least to do, and so on.
  SideBySide divided(size_t begin, size_t end) const {
    std::vector<size_t> group(end - begin);
    std::iota(group.begin(), group.end(), size_t{0});
    for (size_t c = begin; c < end; ++c)
      for (const size_t p : before_[c]) {
        if (p < begin || group[p - begin] == group[c - begin]) continue;
        const size_t from = group[p - begin];
        std::replace(group.begin(), group.end(), from, group[c - begin]);
      }
    std::vector<double> of_group(end - begin, 0);
    for (size_t c = begin; c < end; ++c) of_group[group[c - begin]] += seconds_[c];
    std::vector<size_t> order(of_group.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return of_group[a] > of_group[b]; });
    std::vector<double> of_lane(threads_, 0);
    std::vector<size_t> lane_of(of_group.size());
    for (const size_t g : order) {
      const auto least = std::min_element(of_lane.begin(), of_lane.end());
      *least += of_group[g];
      lane_of[g] = static_cast<size_t>(least - of_lane.begin());
    }
    SideBySide out{begin, std::vector<std::vector<size_t>>(threads_)};
    for (size_t c = begin; c < end; ++c) out.lanes[lane_of[group[c - begin]]].push_back(c);
    std::erase_if(out.lanes, [](const auto& lane) { return lane.empty(); });
    return out;
  }

  // Seconds; 0 where there is no clear gain.
  double gain_of(size_t begin, size_t end, const SideBySide& of) const {
    if (of.lanes.size() < 2) return 0;
    double longest = 0, one_by_one = 0;
    for (const auto& lane : of.lanes) {
      double sum = 0;
      for (const size_t c : lane) sum += seconds_[c];
      longest = std::max(longest, sum);
    }
    for (size_t c = begin; c < end; ++c) one_by_one += divided_[c];
    const double together = longest + kRegion;
    return together < (1 - kLeastGain) * one_by_one ? one_by_one - together : 0;
  }

  const size_t threads_;
  std::vector<double> seconds_;              ///< by call: estimated, on one thread
  std::vector<double> divided_;              ///< by call: on all that it has work for
  std::vector<std::vector<size_t>> before_;  ///< by call: those whose results it reads
};

}  // namespace

std::vector<SideBySide> side_by_side(const Graph& g, const Storage& storage, const Layers& layers, int threads) {
  if (threads < 2) return {};
  return Finder(g, storage, layers, threads).run();
}

}  // namespace hone
