#include "compiler/graph/growth.h"

#include <algorithm>

#include "base/check.h"

namespace hone {
namespace {

std::string described(const Node& n) {
  return (n.origin.empty() ? "" : "'" + n.origin + "', ") + to_string(n.workload);
}

// Whether all of `a` stands at the begin of each row of `b`, whose rows are one element longer or as long.
bool is_begin_of(const TensorData& a, const TensorData& b) {
  const std::vector<int64_t>&from = a.type().shape, &to = b.type().shape;
  if (a.type().dtype != b.type().dtype || from.size() != to.size() ||
      !std::equal(from.begin(), from.end() - 1, to.begin()) || from.back() > to.back())
    return false;
  const int64_t bytes = a.type().dtype.bytes(), row = from.back() * bytes, longer = to.back() * bytes;
  for (int64_t r = 0; r < a.elements() / from.back(); ++r) {
    const auto begin = a.bytes().begin() + r * row;
    if (!std::equal(begin, begin + row, b.bytes().begin() + r * longer)) return false;
  }
  return true;
}

class GrowthCheck {
 public:
  GrowthCheck(const Graph& g, const Graph& shorter, const Growth& growth)
      : g_(g), shorter_(shorter), growth_(growth), now_(g.values.size(), kNoValue), is_rows_(g.values.size(), false) {}

  void run() {
    require_same(g_.nodes.size() == shorter_.nodes.size());
    stand(g_.inputs, shorter_.inputs);
    for (const Cache& c : growth_.caches) is_rows_[index(g_.inputs[c.input].value)] = true;
    is_count(count_of(g_, growth_));
    for (size_t i = 0; i < g_.nodes.size(); ++i) look_at(g_.nodes[i], shorter_.nodes[i]);
    for (size_t o = 0; o < g_.outputs.size(); ++o) {
      const Port& p = g_.outputs[o];
      const bool is_cache =
          std::any_of(growth_.caches.begin(), growth_.caches.end(), [&](const Cache& c) { return c.output == o; });
      HONE_USER_CHECK(is_cache || p.type == shorter_.outputs[o].type)
          << "output '" << p.name << "' grows with " << growth_.symbol << " and is not a cache";
      HONE_USER_CHECK(is_cache || p.value == kNoValue || !is_rows_[index(p.value)])
          << "output '" << p.name << "' is a part of a cache";
      HONE_USER_CHECK(p.value == kNoValue || is_same(p.value, shorter_.outputs[o].value))
          << "output '" << p.name << "' is another one for each number of " << growth_.symbol;
    }
  }

 private:
  static size_t index(ValueId v) { return static_cast<size_t>(v); }
  void require_same(bool is_same) const {
    HONE_USER_CHECK(is_same) << "the model is another one for another number of " << growth_.symbol
                             << ", and no cache of it can grow in place";
  }
  void is_count(ValueId v) { count_.push_back(v); }
  bool reads_count(const Node& n) const {
    return std::any_of(n.inputs.begin(), n.inputs.end(),
                       [&](ValueId v) { return std::find(count_.begin(), count_.end(), v) != count_.end(); });
  }

  void stand(const std::vector<Port>& ports, const std::vector<Port>& shorter) {
    require_same(ports.size() == shorter.size());
    for (size_t i = 0; i < ports.size(); ++i) {
      const bool is_cache =
          std::any_of(growth_.caches.begin(), growth_.caches.end(), [&](const Cache& c) { return c.input == i; });
      HONE_USER_CHECK(is_cache || ports[i].type == shorter[i].type)
          << "input '" << ports[i].name << "' grows with " << growth_.symbol
          << " and is not a cache: no output is this input with a row behind it";
      if (ports[i].value != kNoValue) now_[index(ports[i].value)] = shorter[i].value;
    }
  }

  // Whether the two are the same, or stand for the same.
  bool is_same(ValueId v, ValueId other) {
    if (!g_.is_constant(v)) return now_[index(v)] == other;
    const Value& b = shorter_.value(other);
    return b.constant && b.type == g_.value(v).type && is_begin_of(*b.constant, *g_.value(v).constant);
  }

  void look_at(const Node& n, const Node& other) {
    const auto fail = [&](std::string_view why) {
      throw UserError("node " + described(n) + " " + std::string(why) + " " + growth_.symbol);
    };
    require_same(n.workload.operator_name() == other.workload.operator_name() &&
                 n.inputs.size() == other.inputs.size() && n.outputs.size() == other.outputs.size());
    const bool is_view = is<ops::Reshape>(n), is_reader = is<ops::CachedAttention>(n),
               is_row = is<ops::Gather>(n) && count_.front() == n.inputs[1];
    bool reads_rows = false;
    for (size_t i = 0; i < n.inputs.size(); ++i) {
      const ValueId a = n.inputs[i], b = other.inputs[i];
      const bool grows = g_.value(a).type != shorter_.value(b).type;
      reads_rows = reads_rows || is_rows_[index(a)];
      // Constants may grow when the values of existing rows stay; a table has a row for each number of rows.
      const bool is_longer = grows && g_.is_constant(a) && shorter_.value(b).constant &&
                             ((is_reader && is_begin_of(*shorter_.value(b).constant, *g_.value(a).constant)) || is_row);
      if (!is_longer && !is_same(a, b)) fail("reads numbers that differ with the number of");
    }
    const bool makes_cache = cache_made_by(g_, &growth_, n).has_value();
    if (to_string(n.workload) != to_string(other.workload) && !(is_view || is_reader || is_row || makes_cache))
      fail("reads what grows with");
    if (reads_rows && !(is_view || is_reader || makes_cache)) fail("reads a cache, of which only attention knows");
    for (size_t o = 0; o < n.outputs.size(); ++o) {
      now_[index(n.outputs[o])] = other.outputs[o];
      is_rows_[index(n.outputs[o])] = makes_cache || (is_view && reads_rows);
    }
  }

  const Graph &g_, &shorter_;
  const Growth& growth_;
  std::vector<ValueId> now_;    ///< the value that stands for each in the shorter graph
  std::vector<bool> is_rows_;   ///< caches and views of them
  std::vector<ValueId> count_;  ///< the number of rows
};

}  // namespace

ValueId count_of(const Graph& g, const Growth&) { return g.inputs.back().value; }

size_t caller_inputs(const Graph& g, const Growth* growth) { return g.inputs.size() - (growth ? 1 : 0); }

std::optional<size_t> cache_that_is(const Graph& g, const Growth& growth, ValueId v) {
  for (size_t c = 0; c < growth.caches.size(); ++c)
    if (g.outputs[growth.caches[c].output].value == v) return c;
  return std::nullopt;
}

std::optional<size_t> cache_made_by(const Graph& g, const Growth* growth, const Node& n) {
  if (!growth || !is<ops::Concat>(n) || n.inputs.size() != 2) return std::nullopt;
  const auto c = cache_that_is(g, *growth, n.outputs[0]);
  if (!c || g.inputs[growth->caches[*c].input].value != n.inputs[0]) return std::nullopt;
  return c;
}

void check_growth(const Graph& g, const Graph& shorter, const Growth& growth) { GrowthCheck(g, shorter, growth).run(); }

}  // namespace hone
