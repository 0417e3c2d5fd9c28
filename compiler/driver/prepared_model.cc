#include "compiler/driver/prepared_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/exit_code.h"
#include "compiler/model/check/check_whole.h"
#include "compiler/model/model_data.h"
#include "compiler/model/prepare.h"
#include "compiler/ops/extremes.h"
#include "compiler/ops/products/runs.h"

namespace hone {

PreparedModel::PreparedModel(const OperatorTable& operators, const BuildRequest& request, const BuildPlace& place,
                             BuildConfigs& configs, const Events& events, KeepFailure keep_failure)
    : operators_(operators),
      request_(request),
      place_(place),
      configs_(configs),
      events_(events),
      keep_failure_(std::move(keep_failure)),
      threads_each_(std::max<size_t>(1, request.threads.size())),
      bindings_(bindings_of(request, threads_each_)),
      reader_(request, PassContext{operators_, functions_}, place.here, events) {
  const QuantizeRequest& q = request.quantize;
  HONE_USER_CHECK(!q.type.empty() || (q.calibrate.empty() && q.ranges.empty() && q.keep.empty()))
      << "--calibrate, --ranges and --keep belong to --quantize int8";
  // Some minutes of the interpreter.
  if (UserOperators* users = reader_.users(); request.check && users) {
    users->compared_work = 0x1p30;
    users->is_checked = true;
  }
}

PassContext PreparedModel::pass_context(FusionNotes& notes) const {
  PassContext context{operators_, functions_, 0, &notes};
  take_passes(request_, context);
  if (request_.config != "default")
    context.measured = [this](const Workload& w) { return configs_.measured(w, place_.target); };
  return context;
}

// Asks a team's tophub for all that the passes will ask for, and for the layers behind them, in as few requests as
// there are turns in which the answers change what is asked next; mostly one. The passes run once more in each turn, on
// a copy. The user's own passes are left out; layers that they make are asked for later.
void PreparedModel::ask_ahead(const ReadModel& model) const {
  constexpr int kMostTurns = 4;
  const std::string target = to_string(place_.target);
  std::set<db::TeamKey> asked;
  for (int turn = 0; turn < kMostTurns; ++turn) {
    std::set<db::TeamKey> keys;
    FusionNotes notes;
    PassContext context = pass_context(notes);
    context.user_passes = nullptr;
    context.measured = [&](const Workload& w) -> std::optional<double> {
      db::TeamKey key{to_string(without_extremes(w)), target};
      if (asked.contains(key)) return configs_.measured(w, place_.target);
      keys.insert(std::move(key));
      return std::nullopt;
    };
    PassHooks<Graph> hooks;
    hooks.left_out = {request_.disabled.begin(), request_.disabled.end()};
    try {
      const Graph graph = hone::prepare(model, context, place_.target, hooks);
      for (db::TeamKey& key : lookup_keys(graph, place_.target))
        if (!asked.contains(key)) keys.insert(std::move(key));
    } catch (const UserError&) {  // the run that counts says it
    } catch (const InternalError&) {
    }
    if (keys.empty()) return;
    const Status answered = configs_.prefetch({keys.begin(), keys.end()});
    HONE_USER_CHECK(answered.ok()) << message_of(answered);
    asked.merge(keys);
  }
}

void PreparedModel::prepare(const ModelBinding& binding, PreparedBinding& out, PassHooks<Graph> hooks) {
  out.binding = binding;
  hooks.left_out = {request_.disabled.begin(), request_.disabled.end()};
  hooks.on_failure = [&](std::string_view pass, const Graph& g) { keep_failure_(binding, pass, g, false); };
  ReadModel model = reader_.read(binding);
  if (request_.team && request_.config != "default" && request_.locked.empty()) ask_ahead(model);
  if (model.growing) out.growth = *model.growth();
  metadata_ = std::move(model.metadata);
  out.graph = hone::prepare(std::move(model), pass_context(out.notes), place_.target, hooks);
}

void PreparedModel::prepare() {
  check_pass_names(request_.disabled, request_.passes);
  std::vector<Graph*> graphs;
  for (const ModelBinding& binding : bindings_) {
    PreparedBinding& p = *prepared_.emplace_back(std::make_unique<PreparedBinding>());
    PassHooks<Graph> hooks;
    Graph before;  // the pass that comes next
    hooks.after = [&](std::string_view pass, const Graph& g, double seconds) {
      p.passes.push_back({std::string(pass), static_cast<int64_t>(g.nodes.size()), seconds});
      if (!request_.check) return;
      if (pass == kImport) p.imported = g;
      const auto is_it = [&](const UserPass& own) { return own.name == pass; };
      if (std::any_of(request_.passes.begin(), request_.passes.end(), is_it))
        p.rewritten.push_back({std::string(pass), std::move(before), g});
      if (!request_.passes.empty()) before = g;
    };
    prepare(binding, p, hooks);
    const auto sums_in_f16 = [](const Node& n) { return has_runs(n.workload); };
    if (request_.sums_in_f16 && std::none_of(p.graph.nodes.begin(), p.graph.nodes.end(), sums_in_f16))
      events_.tell("--accumulate f16: the model has no products of f16");
    graphs.push_back(&p.graph);
  }
  share_constants(graphs);
  for (const auto& p : prepared_)
    for (size_t t = 0; t < threads_each_; ++t) {
      const bool is_one = threads_each_ == 1;
      ModelVariant& v =
          variants_.emplace_back(ModelVariant{variant_name(p->binding, is_one ? 0 : request_.threads[t]), &p->graph,
                                              place_.target, p->growth ? &*p->growth : nullptr});
      if (!is_one) v.target.threads = request_.threads[t];
    }
}

void PreparedModel::check_passes() const {
  // The share of the check's time; the rest is the artifact's.
  constexpr double kShare = 0.25;
  size_t count = 0;
  for (const auto& p : prepared_) count += p->rewritten.size();
  for (const auto& p : prepared_)
    for (const auto& [pass, before, after] : p->rewritten) {
      std::vector<TensorData> inputs = seeded_inputs(before);
      if (p->growth) inputs = with_most_rows(std::move(inputs), before, *p->growth);
      const double seconds = kShare * request_.check_seconds / static_cast<double>(count);
      const WholeCheck c = check_rewritten(
          before, after, place_.here, inputs,
          {.most_seconds = seconds, .denormals = place_.denormals, .progress = [&](const CheckStep& step) {
             if (events_.progress) events_.progress(step.what, step.done, step.all);
           }});
      const std::string prefix = p->binding.name.empty() ? "" : p->binding.name + ": ";
      if (!c.wrong.empty()) {
        keep_failure_(p->binding, pass, before, true);
        throw UserError(fmt::format("{}graph pass '{}' changes what is computed: {}", prefix, pass, c.wrong));
      }
      events_.tell(prefix +
                   (c.left_out.empty()
                        ? fmt::format("check: graph pass '{}' changes nothing that is computed (off by {:.2g}, "
                                      "allowed {:.2g})",
                                      pass, c.error, c.allowed)
                        : fmt::format("check: graph pass '{}' was not compared: {}", pass, c.left_out)));
    }
}

StatusOr<std::string> PreparedModel::graph_text(const std::string& after) {
  if (!request_.reports.empty()) return usage_error("--report belongs to what is built: --emit so, obj or c");
  if (bindings_.size() > 1) return usage_error("--emit graph prints one binding: give one value of each flag");
  PreparedBinding p;
  std::string text;
  PassHooks<Graph> hooks;
  hooks.after = [&](std::string_view pass, const Graph& g, double) {
    if (pass == after) text = to_string(g);
  };
  prepare(bindings_[0], p, hooks);
  if (after.empty()) text = to_string(p.graph);
  if (text.empty())
    return usage_error(fmt::format("--emit {}: there is no such pass; there are import, {}", request_.emit,
                                   names_of(model_passes(pass_context(p.notes), place_.target))));
  return text;
}

std::string PreparedModel::operators_text() {
  for (const ModelBinding& binding : bindings_) reader_.read(binding);
  HONE_USER_CHECK(reader_.users()) << "--emit operators: there are none without --operators";
  return reader_.users()->used_text();
}

ChooseConfig PreparedModel::configs() const {
  if (request_.team && request_.config != "default") {
    std::vector<db::TeamKey> keys;
    for (const ModelVariant& v : variants_) {
      const std::vector<db::TeamKey> of_variant = lookup_keys(*v.graph, v.target);
      keys.insert(keys.end(), of_variant.begin(), of_variant.end());
    }
    const Status asked = configs_.prefetch(keys);
    HONE_USER_CHECK(asked.ok()) << message_of(asked);
  }
  return [this](const Workload& w, const Target& target, const Space& space) {
    auto chosen = configs_.choose(w, target, space, ConfigUse::kInModel);
    HONE_USER_CHECK(chosen.ok()) << message_of(chosen.status());
    return *chosen;
  };
}

ChooseConfig PreparedModel::configs_beside() const {
  return [this](const Workload& w, const Target& target, const Space& space) {
    auto chosen = configs_.choose_beside(w, target, space, ConfigUse::kInModel);
    HONE_USER_CHECK(chosen.ok()) << message_of(chosen.status());
    return *chosen;
  };
}

}  // namespace hone
