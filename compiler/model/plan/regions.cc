#include "compiler/model/plan/regions.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>

namespace hone {
namespace {

constexpr double kCall = 0.2e-6;
// Larger layers are divided well as they are, and beside them a region costs little.
constexpr double kMostSmall = 20e-6;
// Estimates are rough: a layer that is divided otherwise and gains less may lose.
constexpr double kLeastGain = 0.15;
// Longer regions gain little more.
constexpr size_t kMostCalls = 24;

// Numbers that are joined to sets.
class Sets {
 public:
  int add() {
    parents_.push_back(static_cast<int>(parents_.size()));
    return parents_.back();
  }
  int set_of(int i) {
    while (at(i) != i) i = at(i) = at(at(i));
    return i;
  }
  void join(int a, int b) { at(set_of(b)) = set_of(a); }

 private:
  int& at(int i) { return parents_[static_cast<size_t>(i)]; }
  std::vector<int> parents_;
};

class Finder {
 public:
  Finder(const Graph& g, const Storage& storage, const Layers& layers, ParallelLoops& loops, const Target& target)
      : g_(g),
        storage_(storage),
        layers_(layers),
        loops_(loops),
        threads_(static_cast<size_t>(target.threads)),
        most_bytes_(target.threads * target.l2_bytes / 2) {
    for (size_t c = 0; c < layers.calls.size(); ++c) {
      seconds_.push_back(estimated_seconds(g, node_of(layers.calls[c]), target));
      const int64_t n = layers.calls[c].is_divided ? loops.of(c).iterations : 1, each = (n - 1) / target.threads + 1;
      by_itself_.push_back(kCall + seconds_.back() * static_cast<double>(each) / static_cast<double>(n) +
                           (n > 1 ? kRegionSeconds : 0));
    }
  }

  std::vector<SharedRegion> run() {
    std::vector<SharedRegion> out;
    for (size_t begin = 0; begin < seconds_.size();) {
      auto best = best_from(begin);
      begin = best ? best->end : begin + 1;
      if (best) out.push_back(std::move(*best));
    }
    return out;
  }

 private:
  const Node& node_of(const Layer& call) const { return g_.nodes[call.node]; }

  // The region from a call on that gains most; nothing where none gains.
  std::optional<SharedRegion> best_from(size_t begin) {
    std::optional<SharedRegion> best;
    double most = 0;
    begin_ = begin;
    owners_.clear();
    sets_ = {};
    bytes_ = 0;
    roots_.clear();
    for (size_t c = begin; c < std::min(seconds_.size(), begin + kMostCalls) && seconds_[c] <= kMostSmall; ++c) {
      add(c);
      if (bytes_ > most_bytes_) break;
      if (c == begin) continue;
      double gain = 0;
      auto region = divided(c + 1, &gain);
      if (region && gain > most) most = gain, best = std::move(region);
    }
    return best;
  }

  // Joins the iterations of a call with the iterations that they depend on.
  void add(size_t call) {
    const ParallelLoop& loop = loops_.of(call);
    const Kernel& kernel = layers_.kernels[layers_.calls[call].kernel];
    const Node& n = node_of(layers_.calls[call]);
    const auto arguments = kernel_arguments(kernel.module);
    for (const auto* values : {&n.inputs, &n.outputs})
      for (const ValueId v : *values)
        if (const ValueId root = storage_.root(v); !g_.is_constant(root) && roots_.insert(root).second)
          bytes_ += bytes_of(g_.value(root).type);
    for (const TouchedElements& touched : loop.touched) {
      const int iteration = sets_.add();
      for (size_t a = 0; a < arguments.size(); ++a) {
        const size_t p = arguments[a].param;
        const ValueId v = p < n.inputs.size() ? n.inputs[p] : n.outputs[p - n.inputs.size()];
        const ValueId root = storage_.root(v);
        if (g_.is_constant(root)) continue;
        const int64_t bytes = g_.value(root).type.dtype.bytes(), from = storage_.offset(v) / bytes;
        if (p < n.inputs.size()) {
          const auto owners = owners_.find(root);
          if (owners == owners_.end()) continue;
          for (const ElementRun& r : touched.read[a])
            join(iteration, owners->second, from + r.begin, from + r.end, false);
        } else {
          auto& owners = owners_[root];
          owners.resize(static_cast<size_t>(bytes_of(g_.value(root).type) / bytes), -1);
          for (const ElementRun& r : touched.written[a]) join(iteration, owners, from + r.begin, from + r.end, true);
        }
      }
    }
  }

  void join(int iteration, std::vector<int>& owners, int64_t begin, int64_t end, bool takes) {
    int last = -1;
    for (int64_t e = begin; e < std::min(end, static_cast<int64_t>(owners.size())); ++e) {
      int& owner = owners[static_cast<size_t>(e)];
      if (owner >= 0 && owner != last) sets_.join(owner, iteration), last = owner;
      if (takes) owner = iteration;
    }
  }

  // Shares of all sets; nothing where a thread would have none. `*gain`: seconds, 0 where it is not clear.
  std::optional<SharedRegion> divided(size_t end, double* gain) {
    // Sets in the order of their first iterations.
    std::map<int, size_t> number_of;
    std::vector<double> weights;
    std::vector<size_t> set_of;  // by iteration
    for (size_t c = begin_, iteration = 0; c < end; ++c) {
      const ParallelLoop& loop = loops_.of(c);
      const double each = seconds_[c] / static_cast<double>(loop.touched.size());
      for (size_t i = 0; i < loop.touched.size(); ++i, ++iteration) {
        const auto [it, is_new] = number_of.emplace(sets_.set_of(static_cast<int>(iteration)), weights.size());
        if (is_new) weights.push_back(0);
        weights[it->second] += each;
        set_of.push_back(it->second);
      }
    }
    if (weights.size() < threads_) return std::nullopt;
    const std::vector<size_t> in_order = in_order_of(weights), by_weight = by_weight_of(weights);
    // Neighbours belong to neighbours: the division in order wins unless it is less even.
    const std::vector<size_t>& thread_of =
        longest(weights, in_order) <= 1.02 * longest(weights, by_weight) ? in_order : by_weight;
    SharedRegion out{begin_, end, std::vector<std::vector<Share>>(threads_)};
    std::vector<double> seconds(threads_, 0);
    bool is_divided_as_before = true;
    double one_by_one = 0, behind = 0;
    for (size_t c = begin_, iteration = 0; c < end; ++c) {
      const ParallelLoop& loop = loops_.of(c);
      const size_t count = loop.touched.size(), fair = (count - 1) / threads_ + 1;
      std::vector<size_t> counts(threads_, 0);
      for (size_t i = 0; i < count; ++i, ++iteration) {
        const size_t t = thread_of[set_of[iteration]];
        if (counts[t]++ == 0) out.threads[t].push_back({c, {}}), seconds[t] += kCall;
        seconds[t] += seconds_[c] / static_cast<double>(count);
        if (!loop.is_divided) continue;
        auto& ranges = out.threads[t].back().iterations;
        const auto iteration = static_cast<int64_t>(i);
        if (!ranges.empty() && ranges.back().end == iteration)
          ++ranges.back().end;
        else
          ranges.push_back({iteration, iteration + 1});
      }
      if (!layers_.calls[c].is_divided) {
        // The calling thread's core has the data from before the region, and reads the region's results.
        for (size_t t = 1; t < threads_; ++t) {
          const double part = static_cast<double>(counts[t]) / static_cast<double>(count) / kBytesBetweenCores;
          seconds[t] += part * bytes_before(node_of(layers_.calls[c]).inputs);
          behind += part * bytes_behind(node_of(layers_.calls[c]).outputs, end);
        }
      }
      is_divided_as_before &=
          loop.is_divided && layers_.calls[c].is_divided && *std::max_element(counts.begin(), counts.end()) <= fair;
      for (size_t t = 0; t < threads_; ++t)
        if (counts[t] == count && count > 1) out.threads[t].back().iterations.clear();
      one_by_one += by_itself_[c];
    }
    std::erase_if(out.threads, [](const auto& shares) { return shares.empty(); });
    if (out.threads.size() < 2) return std::nullopt;
    const double together = *std::max_element(seconds.begin(), seconds.end()) + kRegionSeconds + behind;
    *gain = one_by_one - together;
    if (!is_divided_as_before && *gain < kLeastGain * one_by_one) *gain = 0;
    return out;
  }

  double bytes_of_values(const std::vector<ValueId>& values) const {
    double bytes = 0;
    for (const ValueId v : values)
      if (!g_.is_constant(storage_.root(v))) bytes += static_cast<double>(bytes_of(g_.value(v).type));
    return bytes;
  }
  // Bytes of the values that no call of the region writes.
  double bytes_before(std::vector<ValueId> values) const {
    std::erase_if(values, [&](ValueId v) { return owners_.contains(storage_.root(v)); });
    return bytes_of_values(values);
  }
  // Bytes of the values that no call of the region before `end` reads.
  double bytes_behind(std::vector<ValueId> values, size_t end) const {
    std::erase_if(values, [&](ValueId v) {
      for (size_t c = begin_; c < end; ++c)
        for (const ValueId input : node_of(layers_.calls[c]).inputs)
          if (storage_.root(input) == storage_.root(v)) return true;
      return false;
    });
    return bytes_of_values(values);
  }

  // By set: the thread, as even as the order of the sets allows.
  std::vector<size_t> in_order_of(const std::vector<double>& weights) const {
    const double all = std::accumulate(weights.begin(), weights.end(), 0.0);
    std::vector<size_t> out;
    double before = 0;
    for (const double w : weights) {
      const double middle = (before + w / 2) / all * static_cast<double>(threads_);
      out.push_back(std::min(static_cast<size_t>(middle), threads_ - 1));
      before += w;
    }
    return out;
  }

  // The heaviest to the thread that has least, and so on.
  std::vector<size_t> by_weight_of(const std::vector<double>& weights) const {
    std::vector<size_t> order(weights.size()), out(weights.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return weights[a] > weights[b]; });
    std::vector<double> of_thread(threads_, 0);
    for (const size_t s : order) {
      const auto least = std::min_element(of_thread.begin(), of_thread.end());
      *least += weights[s];
      out[s] = static_cast<size_t>(least - of_thread.begin());
    }
    return out;
  }

  double longest(const std::vector<double>& weights, const std::vector<size_t>& thread_of) const {
    std::vector<double> of_thread(threads_, 0);
    for (size_t s = 0; s < weights.size(); ++s) of_thread[thread_of[s]] += weights[s];
    return *std::max_element(of_thread.begin(), of_thread.end());
  }

  const Graph& g_;
  const Storage& storage_;
  const Layers& layers_;
  ParallelLoops& loops_;
  const size_t threads_;
  /// All that a region touches is in memory at one time: what the caches do not hold would be written over sooner by
  /// layers one after the other.
  const int64_t most_bytes_;
  std::vector<double> seconds_;    ///< by call: estimated, on one thread
  std::vector<double> by_itself_;  ///< by call: on all that it has work for, in a region of its own

  // The region that is looked at: iterations are numbered through its calls.
  size_t begin_ = 0;
  std::set<ValueId> roots_;  ///< values that it touches, and their bytes
  int64_t bytes_ = 0;
  Sets sets_;  ///< of iterations
  std::map<ValueId, std::vector<int>>
      owners_;  ///< by root: the iteration that wrote an element, -1: none of the region
};

}  // namespace

std::vector<SharedRegion> find_regions(const Graph& g, const Storage& storage, const Layers& layers,
                                       ParallelLoops& loops, const Target& target) {
  if (target.threads < 2) return {};
  return Finder(g, storage, layers, loops, target).run();
}

}  // namespace hone
