#include "compiler/graph/passes/layouts/decide_layouts.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/check.h"
#include "base/time_text.h"
#include "compiler/graph/pbqp.h"
#include "compiler/ir/layout.h"
#include "compiler/ops/infer.h"
#include "compiler/ops/windows/conv_shape.h"

namespace hone {
namespace {

// Another form than the rule's must win by more than two measurements of one kernel differ.
constexpr double kMargin = 0.05;

// Rate of unmeasured conversions, in bytes read and written a second: the slowest of twelve on one thread of a Zen 5,
// 64 channels of 512x512 (4.4 ms); those that fit L2 had 100 to 180 GB/s. Rather too slow than too fast: a wrong
// conversion costs time, a missing one leaves the layouts of the rule.
constexpr double kConversionRate = 30e9;

// In which form a value lies in memory.
enum ValueForm : size_t { kOnlyPlanes, kOnlyBlocks, kBoth };

bool contains(const std::vector<ValueId>& values, ValueId v) {
  return std::find(values.begin(), values.end(), v) != values.end();
}

// A problem with a node for each node of the graph, whose options are its forms, and one for each value that may lie in
// blocks: it costs a conversion, once for all its readers, where they want both forms.
class LayoutDecision {
 public:
  LayoutDecision(const Graph& g, const PassContext& context, const IdVector<std::optional<BlockedNode>>& by_rule)
      : g_(g),
        c_(context),
        by_rule_(by_rule),
        uses_(uses_of(g)),
        blocks_(blocks_of_values(g, context.lanes)),
        options_(g.nodes.size()) {}

  DecidedLayouts run() {
    const auto nodes = static_cast<int>(g_.nodes.size());
    for (int n = 0; n < nodes; ++n) add_node(n);
    for (int n = 0; n < nodes; ++n) add_needs(n);
    for (size_t v = 0; v < g_.values.size(); ++v) add_value(static_cast<ValueId>(v));
    const Pbqp::Solution found = problem_.solve();
    HONE_ICHECK(found.cost < Pbqp::kInfinite) << "the rule's own layouts are not allowed";
    DecidedLayouts out;
    for (int n = 0; n < nodes; ++n) {
      const auto taken = static_cast<size_t>(found.options[static_cast<size_t>(n)]);
      const Option& option = options_[n][taken];
      out.forms.push_back(option.form);
      out.why.push_back(taken == 0 ? "" : why(n, option));
      out.is_rule &= taken == 0;
    }
    return out;
  }

 private:
  struct Option {
    LayoutForm form;
    std::optional<double> seconds;  ///< as measured
  };

  const Node& node(int n) const { return g_.nodes[n]; }
  const Workload& rule(int n) const { return by_rule_[n]->workload; }
  // Convolutions and poolings: each has a kernel for each layout. Others do the same to as many elements in any order.
  bool is_window(int n) const { return node(n).workload.attributes.has("layout"); }

  std::optional<double> seconds(const Workload& w) const { return c_.measured ? c_.measured(w) : std::nullopt; }
  Workload in_planes(int n) const { return planar_product_of(g_, node(n), c_).value_or(node(n).workload); }

  // Only measured options are compared with the rule's.
  void add_node(int n) {
    if (!by_rule_[n]) {
      options_[n] = {{LayoutForm::kPlanes, std::nullopt}};
      problem_.add_node({0});
      return;
    }
    const auto own = seconds(rule(n));
    std::vector<Option> options{{LayoutForm::kRule, own}};
    const auto offer = [&](LayoutForm form, const Workload& w) {
      const auto measured = own ? seconds(w) : std::nullopt;
      if (measured) options.push_back({form, measured});
      return measured.has_value();
    };
    if (!is_window(n)) {
      if (!leaders(n).empty() && !offer(LayoutForm::kPlanes, in_planes(n)))
        options = {{LayoutForm::kRule, std::nullopt}, {LayoutForm::kPlanes, std::nullopt}};
    } else {
      if (by_rule_[n]->from_planes) offer(LayoutForm::kFromPlanes, *by_rule_[n]->from_planes);
      if (!offer(LayoutForm::kPlanes, in_planes(n)) && may_win_in_planes(n)) tell(n);
    }
    std::vector<double> costs;
    for (const Option& o : options)
      costs.push_back(o.seconds.value_or(0) * (o.form == LayoutForm::kRule ? 1 : 1 + kMargin));
    options_[n] = std::move(options);
    problem_.add_node(std::move(costs));
  }

  // Nodes that compute in blocks, by rule, the inputs that a node reads in blocks.
  std::vector<int> leaders(int n) const {
    std::vector<int> out;
    for (const ValueId v : by_rule_[n]->reads)
      if (is_computed_in_blocks(v)) out.push_back(uses_.producer[v]);
    return out;
  }
  bool is_computed_in_blocks(ValueId v) const {
    const int p = uses_.producer[v];
    return p >= 0 && by_rule_[p] && by_rule_[p]->writes;
  }

  bool writes_blocks(int n, const Option& o) const { return o.form != LayoutForm::kPlanes && by_rule_[n]->writes; }
  bool reads_blocks(int n, const Option& o, ValueId v) const {
    if (o.form == LayoutForm::kPlanes || !contains(by_rule_[n]->reads, v)) return false;
    return o.form == LayoutForm::kRule || v != node(n).inputs[0];
  }

  // Channels of padding are there, and known to be finite, only behind nodes that compute in blocks; and nodes that are
  // not measured take the layout of the first image that they meet.
  void add_needs(int n) {
    if (!by_rule_[n]) return;
    bool follows = !is_window(n) && !options_[n][0].seconds;
    for (const int leader : leaders(n)) {
      std::vector<double> costs;
      for (const Option& l : options_[leader])
        for (const Option& o : options_[n]) {
          const bool is_blocked = writes_blocks(leader, l);
          const bool misses = !is_blocked && by_rule_[n]->is_padded && reads_blocks(n, o, node(leader).outputs[0]);
          const bool leaves = follows && is_blocked != (o.form != LayoutForm::kPlanes);
          costs.push_back(misses || leaves ? Pbqp::kInfinite : 0);
        }
      problem_.add_edge(leader, n, costs);
      follows = false;
    }
  }

  void add_value(ValueId v) {
    const int producer = uses_.producer[v];
    const std::vector<int>& all = uses_.readers[v];
    const std::set<int> readers(all.begin(), all.end());
    const bool is_output = uses_.is_output[v];
    if (g_.is_constant(v) || !may_lie_in_blocks(v)) return;
    // By rule, and so first:
    const bool is_blocked = is_computed_in_blocks(v);
    bool is_read_otherwise = is_output && is_blocked;
    for (const int r : readers) is_read_otherwise |= reads_blocks(r, options_[r][0], v) != is_blocked;
    std::vector<ValueForm> forms{is_read_otherwise ? kBoth : is_blocked ? kOnlyBlocks : kOnlyPlanes};
    for (const ValueForm f : {kOnlyPlanes, kOnlyBlocks, kBoth})
      if (f != forms[0]) forms.push_back(f);

    std::vector<double> own;
    for (const ValueForm f : forms)
      own.push_back((is_output || producer < 0) && f == kOnlyBlocks ? Pbqp::kInfinite
                    : producer < 0 && f == kBoth                    ? conversion(v, true)
                                                                    : 0);
    const int id = problem_.add_node(own);
    // A reader cannot take a form that the value does not have; forms that it has are free.
    const auto add_edge = [&](int n, const auto& cost) {
      std::vector<double> costs;
      for (const Option& o : options_[n])
        for (const ValueForm f : forms) costs.push_back(cost(o, f));
      problem_.add_edge(n, id, costs);
    };
    if (producer >= 0)
      add_edge(producer, [&](const Option& o, ValueForm f) {
        if (f == kBoth) return conversion(v, !writes_blocks(producer, o));
        return f == (writes_blocks(producer, o) ? kOnlyBlocks : kOnlyPlanes) ? 0 : Pbqp::kInfinite;
      });
    for (const int r : readers)
      add_edge(r, [&](const Option& o, ValueForm f) {
        const ValueForm missing = reads_blocks(r, o, v) ? kOnlyPlanes : kOnlyBlocks;
        return f == missing ? Pbqp::kInfinite : 0;
      });
  }
  bool may_lie_in_blocks(ValueId v) const {
    const std::vector<int>& readers = uses_.readers[v];
    return is_computed_in_blocks(v) || std::any_of(readers.begin(), readers.end(), [&](int r) {
             return by_rule_[r] && contains(by_rule_[r]->reads, v);
           });
  }

  std::optional<Workload> own_conversion(ValueId v, bool to_blocks) const {
    return layout_conversion(g_.value(v).type, blocks_[v], c_, to_blocks);
  }
  double conversion(ValueId v, bool to_blocks) const {
    const TensorType& image = g_.value(v).type;
    const auto w = own_conversion(v, to_blocks);
    if (!w) return 0;
    const auto moved = static_cast<double>(element_count(inferred(*w).outputs[0].shape)),
               own = static_cast<double>(element_count(image.shape));
    const double each = 2 * static_cast<double>(image.dtype.bytes()) / kConversionRate;
    // Channels of padding are left behind: of one image that is a view, several are moved once more.
    const double cut = !to_blocks && moved > own && image.shape[0] > 1 ? own * each : 0;
    return seconds(*w).value_or(moved * each) + cut;
  }

  // Where planes are worth a measurement: blocks waste channels (of padding), or fill half a vector (1x1 convolutions
  // of 48 to 56 and 80 to 88 channels of 16x16 on a Zen 5: 7 and 16 us in blocks of 8, 6 and 14 in planes), or there
  // is one of them alone, so that each element that is read is multiplied once; or the image is converted before or
  // behind it, which planes would save. Elsewhere a register tile has two whole vectors of output channels for each
  // element.
  bool may_win_in_planes(int n) const {
    const BlockedNode& b = *by_rule_[n];
    const ConvShape& s = conv_shape(node(n).workload);
    const ValueId image = node(n).inputs[0], made = node(n).outputs[0];
    const std::vector<int>& readers = uses_.readers[made];
    const bool is_read_in_planes = uses_.is_output[made] || std::any_of(readers.begin(), readers.end(), [&](int r) {
                                     return !by_rule_[r] || !contains(by_rule_[r]->reads, made);
                                   });
    return s.co <= c_.lanes || layout_of(b.workload).out_block < c_.lanes || conv_shape(b.workload).co != s.co ||
           conv_shape(b.workload).ci > s.ci ||
           (contains(b.reads, image) && !is_computed_in_blocks(image) && s.h * s.w > 1) ||
           (is_read_in_planes && s.oh * s.ow > 1);
  }

  void tell(int n) {
    if (!c_.alternatives) return;
    std::vector<Workload>& compared = *c_.alternatives;
    compared.insert(compared.end(), {rule(n), in_planes(n)});
    if (by_rule_[n]->from_planes && !is_computed_in_blocks(node(n).inputs[0]))
      compared.push_back(*by_rule_[n]->from_planes);
    // The conversions of a convolution that is in planes alone.
    const ValueId image = node(n).inputs[0], made = node(n).outputs[0];
    if (is_computed_in_blocks(image))
      if (const auto w = own_conversion(image, false)) compared.push_back(*w);
    if (const auto w = own_conversion(made, true)) compared.push_back(*w);
  }

  std::string why(int n, const Option& taken) const {
    if (!is_window(n)) return "";
    const double own = *options_[n][0].seconds;
    return fmt::format("{} {} ms as measured, {} ms in {}{}",
                       taken.form == LayoutForm::kPlanes ? "in planes" : "reads planes", ms_text(*taken.seconds),
                       ms_text(own), rule(n).attributes.text("layout"),
                       *taken.seconds < own ? "" : ", but with other conversions");
  }

  const Graph& g_;
  const PassContext& c_;
  const IdVector<std::optional<BlockedNode>>& by_rule_;
  const Uses uses_;
  const IdVector<ChannelBlocks> blocks_;   ///< by value
  Pbqp problem_;                           ///< the graph's nodes first, in their order
  IdVector<std::vector<Option>> options_;  ///< by node, the rule's first
};

}  // namespace

DecidedLayouts decide_layouts(const Graph& g, const PassContext& context,
                              const IdVector<std::optional<BlockedNode>>& by_rule) {
  return LayoutDecision(g, context, by_rule).run();
}

}  // namespace hone
