#include "tuner/cli/whole_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/host_lock.h"
#include "compiler/build/choose_config.h"
#include "compiler/codegen/llvm/compile.h"
#include "compiler/model/build_model.h"
#include "compiler/model/model_data.h"
#include "compiler/model/run_model.h"
#include "compiler/ops/extremes.h"

namespace hone {
namespace {

constexpr double kTurn = 0.012, kBudget = 3;  // seconds
constexpr size_t kLeastTurns = 7, kMostTurns = 101;
constexpr double kTolerance = 1e-2;
// A gain below this is noise in either direction.
constexpr double kNoise = 0.01;

struct Interrupted {};

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double seconds_of(const std::function<void()>& call) {
  const auto start = std::chrono::steady_clock::now();
  call();
  return seconds_since(start);
}

// One line about the first output that is not the same. Where elements are whole numbers a single one may differ by
// much (an index among equals), so all are judged together.
std::string different_outputs(const Graph& g, const std::vector<TensorData>& a, const std::vector<TensorData>& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    const Difference d = difference(b[i], a[i]);
    if ((a[i].type().dtype.is_float() ? d.largest : d.frobenius) <= kTolerance) continue;
    return fmt::format("output '{}' differs by {:.2g} of its largest value, by {:.2g} in all", g.outputs[i].name,
                       d.largest, d.frobenius);
  }
  return "";
}

// Adds the artifact to `models`; returns its layers with their configs.
std::vector<std::string> build(std::deque<LoadedModel>* models, ModelVariant variant, const std::string& name,
                               const ChooseConfig& choose, const std::function<int()>& interrupts) {
  ModelOptions options{name, variant.target, choose};
  options.progress = [&](std::string_view, size_t, size_t) {
    if (interrupts && interrupts() > 0) throw Interrupted();
  };
  variant.name.clear();  // it is alone in its artifact
  const BuiltModel built = build_model({variant}, options);
  std::vector<std::string> layers;
  for (const Layer& call : built.variants[0].layers.calls) {
    const Kernel& k = built.variants[0].layers.kernels[call.kernel];
    layers.push_back(to_string(k.workload) + " " + k.config);
  }
  models->emplace_back(built, name, variant.target.threads);
  return layers;
}

ChosenConfig default_of(const Workload&, const Target&, const Space& space) {
  return {space.default_config(), "default", ""};
}

// The variant as it was before, to be built now. Nothing where all of its configs were defaults.
std::optional<ModelVariant> variant_before(const ModelVariant& variant, const ModelBefore* before) {
  if (!before || !before->differs_from_defaults()) return std::nullopt;
  for (const ModelGraph& g : before->variants)
    if (g.name == variant.name) return ModelVariant{g.name, &g.graph, variant.target, g.growth()};
  return std::nullopt;
}

ChooseConfig configs_of(const ModelBefore& before) {
  return [&](const Workload& w, const Target& t, const Space& space) {
    const auto it = before.configs.find(to_string(without_extremes(w)));
    return it != before.configs.end() ? it->second : default_of(w, t, space);
  };
}

}  // namespace

std::string why_not_here(const Target& target) {
  if (target.is_gpu()) return "it is for a GPU: tensorc --bench times it";
  const Target here = host_target(target.threads);
  if (target.arch != here.arch || target.mcpu != here.mcpu || target.mattr != here.mattr)
    return "it was tuned for another machine than this one";
  return "";
}

std::vector<double> interleaved_medians(const std::vector<std::function<void()>>& calls, size_t turns) {
  std::vector<size_t> times;  // calls of each in one turn
  for (const auto& call : calls)
    times.push_back(static_cast<size_t>(std::clamp(kTurn / std::max(seconds_of(call), 1e-9), 1.0, 10'000.0)));
  StatusOr<HostLock> lock = HostLock::open();
  std::vector<std::vector<double>> measured(calls.size());
  for (size_t turn = 0; turn < turns; ++turn)
    for (size_t i = 0; i < calls.size(); ++i) {
      const HostLock::Hold hold = lock.ok() ? lock->exclusive() : HostLock::Hold();
      calls[i]();  // brings its data back into the caches
      const double seconds = seconds_of([&] {
        for (size_t n = 0; n < times[i]; ++n) calls[i]();
      });
      measured[i].push_back(seconds / static_cast<double>(times[i]));
    }
  std::vector<double> medians;
  for (std::vector<double>& m : measured) {
    std::sort(m.begin(), m.end());
    medians.push_back(m.empty() ? 0 : m[m.size() / 2]);
  }
  return medians;
}

bool ModelBefore::differs_from_defaults() const {
  return std::any_of(configs.begin(), configs.end(), [](const auto& c) { return c.second.source != "default"; });
}

StatusOr<ModelBefore> model_before(const ModelWork& work, const Target& target, db::TopHub& hub) {
  ModelBefore out;
  if (!why_not_here(target).empty()) return out;
  out.variants = work.variants;
  for (const WeightedWorkload& task : work.tasks) {
    const std::string text = to_string(task.workload);
    HONE_ASSIGN_OR_RETURN(out.configs[text],
                          choose_config(task.workload, target, make_space(task.workload, target), hub));
  }
  return out;
}

WholeModel compare_whole(const ModelVariant& variant, const ModelBefore* before, db::TopHub& hub,
                         const std::function<int()>& interrupts) {
  WholeModel out;
  out.variant = variant.name;
  if (out.why_not = why_not_here(variant.target); !out.why_not.empty()) return out;
  const Graph& g = *variant.graph;
  try {
    const ChooseConfig tuned = [&](const Workload& w, const Target& t, const Space& space) {
      auto chosen = choose_config(w, t, space, hub);
      HONE_USER_CHECK(chosen.ok()) << message_of(chosen.status());
      return *chosen;
    };
    std::deque<LoadedModel> models;
    build(&models, variant, "model_default", &default_of, interrupts);
    const auto layers = build(&models, variant, "model_tuned", tuned, interrupts);
    if (const auto old = variant_before(variant, before)) {
      out.is_as_before = build(&models, *old, "model_before", configs_of(*before), interrupts) == layers;
      if (out.is_as_before) models.pop_back();  // it would be timed against itself
    }
    std::vector<TensorData> inputs = seeded_inputs(g);
    if (variant.growth) {
      inputs = with_most_rows(std::move(inputs), g, *variant.growth);
      for (LoadedModel& m : models) m.join_caches(*variant.growth);
    }
    std::vector<std::function<void()>> runs;
    double turn = 0;
    out.different = different_outputs(g, models[0].run(inputs), models[1].run(inputs));
    if (models.size() > 2) models[2].run(inputs);  // not compared: it is what was replaced
    for (LoadedModel& m : models) {
      runs.emplace_back([&m] { m.run_again(); });
      turn += std::max(kTurn, seconds_of(runs.back()));
    }
    const auto turns = static_cast<size_t>(kBudget / turn);
    const std::vector<double> medians = interleaved_medians(runs, std::clamp(turns, kLeastTurns, kMostTurns));
    out.default_seconds = medians[0], out.tuned_seconds = medians[1];
    if (medians.size() > 2) out.before_seconds = medians[2];
  } catch (const Interrupted&) {
    out.why_not = "interrupted";
  } catch (const std::exception& e) {  // what was tuned is reported all the same
    out.why_not = e.what();
  }
  return out;
}

OrderedJson json_of(const WholeModel& w) {
  OrderedJson j = OrderedJson::object();
  if (!w.variant.empty()) j["variant"] = w.variant;
  if (!w.why_not.empty()) {
    j["why_not"] = w.why_not;
    return j;
  }
  j["default_ms"] = w.default_seconds * 1e3;
  if (w.before_seconds > 0) j["before_ms"] = w.before_seconds * 1e3;
  j["tuned_ms"] = w.tuned_seconds * 1e3;
  if (w.is_as_before) j["as_before"] = true;
  j["gain"] = w.gain();
  j["agree"] = w.different.empty();
  return j;
}

std::string to_string(const WholeModel& w) {
  const std::string model = w.variant.empty() ? "model" : "model, " + w.variant;
  if (!w.why_not.empty()) return fmt::format("{}: not built and timed as a whole: {}\n", model, w.why_not);
  const std::string before = w.before_seconds > 0 ? fmt::format("before {:.4g} ms, ", w.before_seconds * 1e3) : "";
  std::string text =
      fmt::format("{}: default {:.4g} ms, {}tuned {:.4g} ms{} ({:.2f}x)\n", model, w.default_seconds * 1e3, before,
                  w.tuned_seconds * 1e3, w.is_as_before ? " as before" : "", w.gain());
  if (!w.different.empty())
    text += fmt::format("{}: tuned and default configs do not give the same: {}\n", model, w.different);
  const auto say_if_slower = [&](const char* than, double seconds) {
    if (seconds > 0 && w.tuned_seconds * (1 - kNoise) > seconds)
      text += fmt::format("{}: SLOWER tuned than with {}, by {:.0f}%\n", model, than,
                          100 * (w.tuned_seconds / seconds - 1));
  };
  say_if_slower("default configs", w.default_seconds);
  say_if_slower("what was known before", w.before_seconds);
  return text;
}

}  // namespace hone
