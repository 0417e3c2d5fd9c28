#include "compiler/model/plan/grain.h"

#include <algorithm>
#include <map>

#include "compiler/graph/pbqp.h"

namespace hone {
namespace {

// Larger layers are divided whatever lies around them, and are not looked at element by element.
constexpr double kMostUndivided = 200e-6;

// Bytes written by other threads that the thread with the most of them reads, by how both layers run.
struct Traffic {
  double alone_to_divided = 0, divided_to_alone = 0, divided_to_divided = 0;
};

class Grain {
 public:
  Grain(const Graph& g, const Storage& storage, const Layers& layers, ParallelLoops& loops, const Target& target)
      : g_(g), storage_(storage), layers_(layers), loops_(loops), target_(target), threads_(target.threads) {}

  std::vector<bool> run() {
    const size_t calls = layers_.calls.size();
    for (size_t c = 0; c < calls; ++c) {
      const double seconds = estimated_seconds(g_, node_of(c), target_);
      const int64_t n = loops_.of(c).iterations, each = (n - 1) / threads_ + 1;
      const double regions = static_cast<double>(std::max<int64_t>(1, loops_.of(c).regions));
      is_small_.push_back(seconds <= kMostUndivided);
      const double divided = seconds * static_cast<double>(each) / static_cast<double>(n) + regions * kRegionSeconds;
      const double alone = seconds <= regions * kMostUndivided || n == 1 ? seconds : Pbqp::kInfinite;
      problem_.add_node({n > 1 ? divided : Pbqp::kInfinite, alone});  // option 0: divided
      read(c);
      write(c);
    }
    const std::vector<int> options = problem_.solve().options;
    std::vector<bool> out;
    for (size_t c = 0; c < calls; ++c) out.push_back(loops_.of(c).iterations > 1 && options[c] == 0);
    return out;
  }

 private:
  // The elements of a root that a call wrote.
  struct Written {
    size_t call;
    int64_t begin = 0, end = 0;   // elements of the root
    std::vector<int16_t> thread;  // of each, when it is divided; empty: not known, taken to be its reader's
  };

  const Node& node_of(size_t call) const { return g_.nodes[layers_.calls[call].node]; }
  int64_t element_bytes(ValueId root) const { return g_.value(root).type.dtype.bytes(); }

  // The thread of an iteration, as the runtime divides them.
  int16_t thread_of(int64_t iteration, int64_t iterations) const {
    const int64_t each = iterations / threads_, more = iterations % threads_;
    const int64_t thread = iteration < more * (each + 1) ? iteration / (each + 1) : (iteration - more) / each;
    return static_cast<int16_t>(thread);
  }
  bool is_known(size_t call) const { return is_small_[call] && loops_.of(call).is_divided; }

  template <class F>
  void for_each_argument(size_t call, const F& f) {
    const Node& n = node_of(call);
    const auto arguments = kernel_arguments(layers_.kernels[layers_.calls[call].kernel].module);
    for (size_t a = 0; a < arguments.size(); ++a) {
      const size_t p = arguments[a].param;
      const bool is_input = p < n.inputs.size();
      const ValueId v = is_input ? n.inputs[p] : n.outputs[p - n.inputs.size()];
      if (const ValueId root = storage_.root(v); !g_.is_constant(root)) f(a, is_input, v, root);
    }
  }

  void write(size_t call) {
    for_each_argument(call, [&](size_t a, bool is_input, ValueId v, ValueId root) {
      if (is_input) return;
      const int64_t bytes = element_bytes(root);
      Written w{call, storage_.offset(v) / bytes, 0, {}};
      w.end = w.begin + bytes_of(g_.value(v).type) / bytes;
      if (is_known(call)) {
        const ParallelLoop& loop = loops_.of(call);
        w.thread.assign(static_cast<size_t>(w.end - w.begin), 0);
        for (size_t i = 0; i < loop.touched.size(); ++i)
          for (const ElementRun& r : loop.touched[i].written[a])
            std::fill(w.thread.begin() + r.begin, w.thread.begin() + std::min<int64_t>(r.end, std::ssize(w.thread)),
                      thread_of(static_cast<int64_t>(i), loop.iterations));
      }
      written_[root].push_back(std::move(w));
    });
  }

  void read(size_t call) {
    std::map<size_t, Traffic> from;
    for_each_argument(call, [&](size_t a, bool is_input, ValueId v, ValueId root) {
      if (!is_input) return;
      const int64_t bytes = element_bytes(root), begin = storage_.offset(v) / bytes,
                    end = begin + bytes_of(g_.value(v).type) / bytes;
      for (const Written& w : written_[root])
        if (w.begin < end && begin < w.end) add_traffic(call, a, w, begin, end, bytes, &from[w.call]);
    });
    for (const auto& [writer, t] : from) {
      // A reader of only its own thread's data needs no region of its own.
      const double joined = t.divided_to_divided == 0 && writer + 1 == call ? -kRegionSeconds : 0;
      problem_.add_edge(static_cast<int>(writer), static_cast<int>(call),
                        {t.divided_to_divided / kBytesBetweenCores + joined, t.divided_to_alone / kBytesBetweenCores,
                         t.alone_to_divided / kBytesBetweenCores, 0});
    }
  }

  // Adds the traffic of one argument of a call, the elements begin .. end - 1 of a root.
  void add_traffic(size_t call, size_t argument, const Written& w, int64_t begin, int64_t end, int64_t bytes,
                   Traffic* to) {
    const auto threads = static_cast<double>(threads_);
    const auto both = static_cast<double>((std::min(end, w.end) - std::max(begin, w.begin)) * bytes);
    to->divided_to_alone += both * (threads - 1) / threads;
    if (!is_known(call)) {
      to->alone_to_divided += both / threads;
      return;
    }
    const ParallelLoop& loop = loops_.of(call);
    std::vector<int64_t> all(static_cast<size_t>(threads_), 0), others = all;
    std::vector<int16_t> seen(static_cast<size_t>(w.end - w.begin), -1);  // threads come in order
    for (size_t i = 0; i < loop.touched.size(); ++i) {
      const int16_t thread = thread_of(static_cast<int64_t>(i), loop.iterations);
      int64_t seen_first = 0, from_others = 0;
      for (const ElementRun& r : loop.touched[i].read[argument]) {
        const auto last = static_cast<size_t>(std::max<int64_t>(std::min({begin + r.end, w.end, end}) - w.begin, 0));
        for (auto at = static_cast<size_t>(std::max<int64_t>(begin + r.begin - w.begin, 0)); at < last; ++at) {
          if (seen[at] == thread) continue;
          seen[at] = thread;
          ++seen_first;
          if (!w.thread.empty() && w.thread[at] != thread) ++from_others;
        }
      }
      all[static_cast<size_t>(thread)] += seen_first;
      others[static_cast<size_t>(thread)] += from_others;
    }
    to->alone_to_divided += static_cast<double>(*std::max_element(all.begin() + 1, all.end()) * bytes);
    to->divided_to_divided += static_cast<double>(*std::max_element(others.begin(), others.end()) * bytes);
  }

  const Graph& g_;
  const Storage& storage_;
  const Layers& layers_;
  ParallelLoops& loops_;
  const Target& target_;
  const int64_t threads_;
  Pbqp problem_;  ///< a node for each call; its options: divided, alone
  std::vector<bool> is_small_;
  std::map<ValueId, std::vector<Written>> written_;  ///< by root
};

}  // namespace

std::vector<bool> worth_threads(const Graph& g, const Storage& storage, const Layers& layers, ParallelLoops& loops,
                                const Target& target) {
  if (target.threads < 2) return std::vector<bool>(layers.calls.size(), true);
  return Grain(g, storage, layers, loops, target).run();
}

}  // namespace hone
