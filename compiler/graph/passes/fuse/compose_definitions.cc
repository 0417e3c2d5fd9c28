#include <fmt/format.h>

#include <algorithm>

#include "base/key.h"
#include "compiler/graph/passes/chains.h"
#include "compiler/graph/passes/rewriter.h"
#include "compiler/ops/elementwise.h"
#include "compiler/ops/rewrite/compose.h"
#include "compiler/ops/user_operator.h"

namespace hone {
namespace {

constexpr size_t kMostComposedStages = 48, kMostOfNote = 100, kOfHash = 12;
// A producer is computed where it is read: its elements must not be read more often than that.
constexpr double kMostReads = 2;

class DefinitionComposer : public Rewriter {
 public:
  using Rewriter::Rewriter;

  bool rewrite(const Node& n) {
    while ((is<ops::Elementwise>(n) && absorb_user_operator(n)) || (is_user_operator(n.workload) && absorb_input(n))) {
    }
    return false;
  }

 private:
  // elementwise(f) behind the user's operator.
  bool absorb_user_operator(const Node& e) {
    for (const ValueId v : std::vector<ValueId>(e.inputs)) {
      const Node* p = is_only_read_by(v, e) ? producer(v) : nullptr;
      if (!p || !is_user_operator(p->workload) || p->outputs.size() != 1) continue;
      if (shape(v) != shape(e.outputs[0])) continue;  // it would be computed for each element that it is repeated to
      if (join(*p, e, v, p->workload, "with", e.workload.attributes.text("op"))) return true;
    }
    return false;
  }

  // Elementwise functions and movement in front of the user's operator, which reads each element about once.
  bool absorb_input(const Node& n) {
    for (const ValueId v : std::vector<ValueId>(n.inputs)) {
      const Node* p = is_only_read_by(v, n) ? producer(v) : nullptr;
      if (!p || p->outputs.size() != 1) continue;
      const bool is_function = is<ops::Elementwise>(*p) && is_cheap(elementwise_shape(p->workload).chain);
      if (!is_function && !is<ops::Transpose, ops::Slice, ops::Broadcast>(*p)) continue;
      const Definition own = define(n.workload);
      double reads = 0;
      for (const size_t at : positions(n, v)) reads += reads_of_each(own, at);
      if (reads > kMostReads) continue;
      const std::string what = is_function ? p->workload.attributes.text("op") : p->workload.operator_name();
      if (join(*p, n, v, n.workload, "behind", what)) return true;
    }
    return false;
  }

  static std::vector<size_t> positions(const Node& n, ValueId v) {
    std::vector<size_t> at;
    for (size_t i = 0; i < n.inputs.size(); ++i)
      if (n.inputs[i] == v) at.push_back(i);
    return at;
  }

  // `n` does the work of `p`, which computes `v`, too. `user`: which of them is the user's operator.
  bool join(const Node& p, const Node& n, ValueId v, const Workload& user, const std::string& attribute,
            const std::string& what) {
    const std::vector<size_t> at = positions(n, v);
    std::vector<ValueId> inputs = p.inputs;
    for (const ValueId in : n.inputs)
      if (in != v) inputs.push_back(in);
    const auto of_both = [&]() -> std::optional<Workload> {
      const Definition both = composed(define(p.workload), define(n.workload), at);
      if (stages_of(both).size() > kMostComposedStages) return std::nullopt;
      return user_workload(c_.operators, user.attributes.text("name"), both, attributes_of(user, attribute, what));
    };
    return become_if_allowed(n, inputs, of_both, &p);
  }

  // Those of the user's operator, and what has become a part of it: nearest workloads have the same.
  static AttributeTexts attributes_of(const Workload& w, const std::string& attribute, const std::string& what) {
    const auto kept = [](const std::string& text) {
      return text.size() <= kMostOfNote ? text : key_hash(text).substr(0, kOfHash);
    };
    AttributeTexts out;
    bool is_there = false;
    for (const Attributes::Item& a : w.attributes) {
      if (a.name == "name" || a.name == "def") continue;
      out.emplace_back(a.name, a.name == attribute ? kept(a.text + "+" + what) : a.text);
      is_there = is_there || a.name == attribute;
    }
    if (!is_there) out.emplace_back(attribute, kept(what));
    return out;
  }
};

}  // namespace

Graph compose_definitions(const Graph& g, const PassContext& context) {
  return rewritten_by<DefinitionComposer>(g, context);
}

}  // namespace hone
