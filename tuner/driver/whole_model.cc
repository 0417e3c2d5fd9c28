#include "tuner/driver/whole_model.h"

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
#include "compiler/codegen/llvm/machine/host_target.h"
#include "compiler/model/build_model.h"
#include "compiler/model/model_data.h"
#include "compiler/model/run_model.h"
#include "compiler/ops/extremes.h"
#include "compiler/ops/recurrence.h"

namespace hone {
namespace {

constexpr double kTurn = 0.012, kWarmUp = 0.001, kBudget = 3, kLeastTiming = 0.5, kTimingNow = 1;  // seconds
// Turns go on until it is known which artifact is faster, up to this; the time left after them is for the report.
constexpr double kMostBudget = 10, kAfterTiming = 0.3;
constexpr size_t kFewTurns = 3, kLeastTurns = 7, kMostTurns = 301;
constexpr int kTries = 4;  // calls to know how long one takes
constexpr double kTolerance = 1e-2;
// Artifacts beyond default, tuned and before are loaded while the weights of all together take no more than this.
constexpr size_t kMostWeightBytes = size_t{1} << 30;

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

// The workload that a layer's config is chosen for.
std::string tuned_text(const Workload& w) {
  const auto steps = recurrence_of(w);
  return to_string(without_extremes(steps ? steps->step : w));
}

// Adds the artifact to `models`; returns its layers with their configs.
std::vector<LayerConfig> build(std::deque<LoadedModel>* models, size_t* weight_bytes, ModelVariant variant,
                               const std::string& name, const ChooseConfig& choose, Denormals denormals,
                               bool assume_finite, const StillWanted& still_wanted) {
  ModelOptions options{name, variant.target, choose};
  options.denormals = denormals;
  options.assume_finite = assume_finite;
  options.progress = still_wanted;
  variant.name.clear();  // it is alone in its artifact
  const BuiltModel built = build_model({variant}, options);
  *weight_bytes = static_cast<size_t>(built.weight_bytes);
  std::vector<LayerConfig> layers;
  for (const Layer& call : built.variants[0].layers.calls) {
    const Kernel& k = built.variants[0].layers.kernels[call.kernel];
    layers.push_back({tuned_text(k.workload), k.config});
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

// Those of `configs`, of other workloads `rest`'s.
ChooseConfig these_else(const ConfigsByWorkload& configs, const ChooseConfig& rest) {
  return [&configs, rest](const Workload& w, const Target& t, const Space& space) {
    const auto it = configs.find(to_string(without_extremes(w)));
    return it != configs.end() ? it->second : rest(w, t, space);
  };
}

// `choices`: told how many configs were chosen inside a model; may be null.
ChooseConfig looked_up(db::TopHub& hub, ConfigUse use, int* choices = nullptr) {
  return [&hub, use, choices](const Workload& w, const Target& t, const Space& space) {
    auto chosen = choose_config(w, t, space, hub, use);
    HONE_USER_CHECK(chosen.ok()) << message_of(chosen.status());
    if (choices) *choices += chosen->is_choice;
    return *chosen;
  };
}

ChooseConfig with_choices(const std::vector<ModelChoice>& choices, const ChooseConfig& rest) {
  return [&choices, rest](const Workload& w, const Target& t, const Space& space) {
    const std::string text = to_string(without_extremes(w));
    for (const ModelChoice& c : choices)
      if (c.workload == text) return ChosenConfig{space.parse(c.config), "chosen", ""};
    return rest(w, t, space);
  };
}

// Whether a config can be chosen instead of the workload's best: the database keeps choices beside that.
bool has_best(const std::string& workload, const ModelVariant& variant, db::TopHub& hub) {
  for (const Node& n : variant.graph->nodes)  // users' operators are known there
    if (const Workload w = without_extremes(n.workload); to_string(w) == workload)
      return exact_best(w, variant.target, hub).has_value();
  return exact_best(Workload::parse(standard_operators(), workload), variant.target, hub).has_value();
}

// The choices that turn an artifact with the layers of `tuned` into one with those of `other`; nothing if `other` has
// other layers, or if a config cannot be chosen.
std::optional<std::vector<ModelChoice>> choices_of(const std::vector<LayerConfig>& other,
                                                   const std::vector<LayerConfig>& tuned, const ModelVariant& variant,
                                                   db::TopHub& hub) {
  if (other.size() != tuned.size()) return std::nullopt;
  std::vector<ModelChoice> out;
  for (size_t l = 0; l < tuned.size(); ++l) {
    if (other[l].workload != tuned[l].workload) return std::nullopt;
    const auto is_same = [&](const ModelChoice& c) { return c.workload == tuned[l].workload; };
    if (other[l].config == tuned[l].config || std::any_of(out.begin(), out.end(), is_same)) continue;
    if (!has_best(tuned[l].workload, variant, hub)) return std::nullopt;
    out.push_back({other[l].workload, other[l].config});
  }
  return out;
}

// Every other turn, from the first or the second on.
Turns every_other(const Turns& turns, size_t first) {
  Turns out(turns.size());
  for (size_t i = 0; i < turns.size(); ++i)
    for (size_t t = first; t < turns[i].size(); t += 2) out[i].push_back(turns[i][t]);
  return out;
}

// A model built in several ways, loaded, and set on the same inputs.
class Artifacts {
 public:
  Artifacts(const ModelVariant& variant, Denormals denormals, bool assume_finite, const StillWanted& still_wanted,
            const std::function<double()>& left = {})
      : variant_(variant),
        denormals_(denormals),
        assume_finite_(assume_finite),
        still_wanted_(still_wanted),
        left_(left) {
    inputs_ = seeded_inputs(*variant.graph);
    if (variant.growth) inputs_ = with_most_rows(std::move(inputs_), *variant.graph, *variant.growth);
  }

  /// Builds one more, and runs it once; its number. Where one before has the same layers and configs, that one's.
  size_t add(const ModelVariant& variant, const ChooseConfig& choose) {
    const auto start = std::chrono::steady_clock::now();
    std::vector<LayerConfig> layers = build(&models_, &weight_bytes_, variant, "model_" + std::to_string(built_++),
                                            choose, denormals_, assume_finite_, still_wanted_);
    const auto same = std::find(layers_.begin(), layers_.end(), layers);
    if (same != layers_.end()) {
      models_.pop_back();  // it would be timed against itself
      return static_cast<size_t>(same - layers_.begin());
    }
    if (variant_.growth) models_.back().join_caches(*variant_.growth);
    layers_.push_back(std::move(layers));
    run_seconds_ = std::max(run_seconds_, seconds_of([&] { outputs_.push_back(models_.back().run(inputs_)); }));
    share_memory();
    slowest_ = std::max(slowest_, seconds_since(start));
    return models_.size() - 1;
  }
  size_t add(const ChooseConfig& choose) { return add(variant_, choose); }

  size_t count() const { return models_.size(); }
  /// Whether there is memory for one more to choose configs from, and for the one that is made of these.
  bool has_room() const { return (models_.size() + 2) * weight_bytes_ <= kMostWeightBytes; }
  /// Whether there is time to build `more` of them, and to time all.
  bool has_time(size_t more) const {
    const double turn = 2 * run_seconds_ * static_cast<double>(models_.size() + more);
    return !left_ || left_() > static_cast<double>(more) * slowest_ + kLeastTurns * turn + kLeastTiming;
  }
  double slowest_build() const { return slowest_; }
  void keep_first(size_t count) {
    while (models_.size() > count) models_.pop_back(), layers_.pop_back(), outputs_.pop_back();
  }
  const std::vector<TensorData>& outputs(size_t i) const { return outputs_[i]; }
  const std::vector<LayerConfig>& layers(size_t i) const { return layers_[i]; }

  /// Seconds of a run of each, at least `least` turns where there is time, until each is known well beside number
  /// `tuned`, or time is up.
  Turns turns(size_t tuned, size_t least) {
    std::vector<std::function<void()>> runs;
    for (LoadedModel& m : models_) runs.emplace_back([&m] { m.run_again(); });
    const auto start = std::chrono::steady_clock::now();
    const double most = left_ ? std::min(kMostBudget, left_() - kAfterTiming) : kMostBudget;
    const auto goes_on = [&](const Turns& t) {
      const size_t n = t[0].size();
      if (left_ && seconds_since(start) > most) return false;
      if (still_wanted_) still_wanted_("timing in turns", n, kMostTurns);
      if (n < least) return true;
      if (n >= kMostTurns || seconds_since(start) > most) return false;
      for (size_t i = 0; i < t.size(); ++i)
        if (i != tuned && !ratio_of_turns(t[i], t[tuned]).is_narrow()) return true;
      return false;
    };
    // Each turn is in other pages of memory, as is each time that a user loads the model.
    return interleaved_turns(runs, goes_on, [&](size_t i) { models_[i].move(); });
  }

  /// The layers of each inside it.
  std::vector<TimedLayers> timed_layers() {
    std::vector<TimedLayers> out;
    double turn = 0;
    for (size_t i = 0; i < models_.size(); ++i) {
      out.push_back({layers_[i], {}});
      const double run = seconds_of([&] { models_[i].run_again_timed(); });
      turn += run + std::max(kTurn, run);  // as turn_of()
    }
    const size_t turns = turns_of(turn);
    StatusOr<HostLock> lock = HostLock::open();
    for (size_t t = 0; t < turns; ++t)
      for (size_t i = 0; i < models_.size(); ++i) {
        if (still_wanted_) still_wanted_("timing layers", t, turns);
        const HostLock::Hold hold = lock.ok() ? lock->exclusive() : HostLock::Hold();
        std::vector<double> seconds = turn_of(models_[i]);
        if (seconds.size() < layers_[i].size()) return {};  // it does not tell its layers apart
        seconds.resize(layers_[i].size());                  // copies of outputs come after them
        out[i].turns.push_back(std::move(seconds));
      }
    return out;
  }

 private:
  // Turns that fit into half of the time left, and a few if hardly one does.
  size_t turns_of(double turn) const {
    if (!left_) return std::clamp(static_cast<size_t>(kBudget / turn), kLeastTurns, kMostTurns);
    return std::clamp(static_cast<size_t>(std::min(kBudget, left_() / 2) / turn), kFewTurns, kMostTurns);
  }
  // Where tensors lie decides some per cent: all artifacts run on those of the first.
  void share_memory() {
    int64_t most = 1;
    for (const LoadedModel& m : models_) most = std::max(most, m.workspace_bytes());
    if (most > workspace_.bytes()) workspace_ = AlignedBuffer(most);
    for (LoadedModel& m : models_) m.run_where(models_[0], workspace_);
  }
  // Runs for some milliseconds: the median of each layer.
  static std::vector<double> turn_of(LoadedModel& m) {
    m.run_again();  // brings its data back into the caches
    std::vector<std::vector<double>> runs;
    const auto start = std::chrono::steady_clock::now();
    do {
      runs.push_back(m.run_again_timed());
    } while (seconds_since(start) < kTurn);
    std::vector<double> medians(runs[0].size()), layer(runs.size());
    for (size_t l = 0; l < medians.size(); ++l) {
      for (size_t r = 0; r < runs.size(); ++r) layer[r] = runs[r][l];
      medians[l] = db::median_of(layer);
    }
    return medians;
  }

  const ModelVariant& variant_;
  const Denormals denormals_;
  const bool assume_finite_;
  const StillWanted& still_wanted_;
  const std::function<double()> left_;  ///< seconds; null: no limit
  double slowest_ = 0;                  ///< seconds of a build and of its first run
  double run_seconds_ = 0;              ///< of the slowest first run
  std::vector<TensorData> inputs_;
  AlignedBuffer workspace_;
  std::deque<LoadedModel> models_;  // not movable
  std::vector<std::vector<LayerConfig>> layers_;
  std::vector<std::vector<TensorData>> outputs_;
  size_t weight_bytes_ = 0;
  int built_ = 0;
};

}  // namespace

std::string why_not_here(const Target& target) {
  if (target.is_gpu()) return "it is for a GPU: tensorc --bench times it";
  const Target here = host_target(target.threads);
  if (target.arch != here.arch || target.mcpu != here.mcpu || target.mattr != here.mattr)
    return "it was tuned for another machine than this one";
  return "";
}

Turns interleaved_turns(const std::vector<std::function<void()>>& calls,
                        const std::function<bool(const Turns&)>& goes_on,
                        const std::function<void(size_t call)>& before) {
  // As many calls of each in a turn: few of one and many of another would compare cold caches with warm ones. The
  // shortest of some counts, for one that was interrupted may seem a thousand times as long.
  double slowest = 1e-9;
  for (const auto& call : calls) {
    double shortest = seconds_of(call);
    for (int again = 0; again < kTries && shortest < kTurn; ++again) shortest = std::min(shortest, seconds_of(call));
    slowest = std::max(slowest, shortest);
  }
  const auto times = static_cast<size_t>(std::clamp(kTurn / slowest, 1.0, 10'000.0));
  StatusOr<HostLock> lock = HostLock::open();
  Turns measured(calls.size());
  do {
    for (size_t i = 0; i < calls.size(); ++i) {
      if (before) before(i);
      const HostLock::Hold hold = lock.ok() ? lock->exclusive() : HostLock::Hold();
      const auto start = std::chrono::steady_clock::now();
      do calls[i]();  // brings its data back into the caches
      while (seconds_since(start) < kWarmUp);
      const double seconds = seconds_of([&] {
        for (size_t n = 0; n < times; ++n) calls[i]();
      });
      measured[i].push_back(seconds / static_cast<double>(times));
    }
  } while (goes_on(measured));
  return measured;
}

bool ModelBefore::differs_from_defaults() const {
  return std::any_of(configs.begin(), configs.end(), [](const auto& c) { return !c.second.is_default(); });
}

StatusOr<ModelBefore> model_before(const ModelWork& work, const Target& target, db::TopHub& hub) {
  ModelBefore out;
  if (!why_not_here(target).empty()) return out;
  out.variants = work.variants;
  for (const WeightedWorkload& task : work.tasks) {
    const std::string text = to_string(task.workload);
    HONE_ASSIGN_OR_RETURN(out.configs[text], choose_config(task.workload, target, make_space(task.workload, target),
                                                           hub, ConfigUse::kInModel));
  }
  return out;
}

std::optional<ModelNow> time_model_now(const ModelBefore& before, const Target& target, Denormals denormals,
                                       bool assume_finite, const StillWanted& still_wanted) {
  if (before.variants.empty()) return std::nullopt;
  ModelNow out;
  try {
    for (const ModelGraph& g : before.variants) {
      const ModelVariant variant{g.name, &g.graph, target, g.growth()};
      Artifacts artifacts(variant, denormals, assume_finite, still_wanted, [] { return kTimingNow; });
      artifacts.add(variant, these_else(before.configs, &default_of));
      out.build_seconds += artifacts.slowest_build();
      const std::vector<TimedLayers> timed = artifacts.timed_layers();
      if (timed.empty()) return out;
      for (size_t l = 0; l < timed[0].layers.size(); ++l) {
        std::vector<double> seconds;
        for (const std::vector<double>& turn : timed[0].turns) seconds.push_back(turn[l]);
        const double median = db::median_of(seconds);
        out.layer_seconds[timed[0].layers[l].workload] += median;
        out.seconds += median;
      }
    }
  } catch (const std::exception&) {  // the search goes on without it
    return std::nullopt;
  }
  return out;
}

WholeModel compare_whole(const ModelVariant& variant, const ModelBefore* before, db::TopHub& hub,
                         const StillWanted& still_wanted, const std::vector<ConfigsByWorkload>& others,
                         Denormals denormals, bool assume_finite, const std::function<double()>& left) {
  WholeModel out;
  out.variant = variant.name;
  if (out.why_not = why_not_here(variant.target); !out.why_not.empty()) return out;
  const Graph& g = *variant.graph;
  try {
    Artifacts artifacts(variant, denormals, assume_finite, still_wanted, left);
    artifacts.add(&default_of);
    int choices = 0;
    const ChooseConfig tuned_configs = looked_up(hub, ConfigUse::kInModel, &choices);
    const size_t tuned = artifacts.add(tuned_configs);
    std::optional<size_t> was;
    if (const auto old = variant_before(variant, before))
      was = artifacts.add(*old, these_else(before->configs, &default_of));
    const size_t kept = artifacts.count();
    const auto fits = [&](size_t more) { return artifacts.has_room() && artifacts.has_time(more); };
    // One more artifact is made of the configs that these find.
    if (choices > 0 && fits(2)) artifacts.add(looked_up(hub, ConfigUse::kAlone));
    for (const ConfigsByWorkload& configs : others)
      if (fits(2)) artifacts.add(these_else(configs, tuned_configs));
    std::vector<ModelChoice> faster;
    if (artifacts.count() > 1 && fits(2))
      if (const std::vector<TimedLayers> layers = artifacts.timed_layers(); !layers.empty())
        faster = faster_inside(layers[tuned], layers);
    std::erase_if(faster, [&](const ModelChoice& c) { return !has_best(c.workload, variant, hub); });
    artifacts.keep_first(kept);
    size_t result = tuned;
    if (!faster.empty()) result = artifacts.add(with_choices(faster, tuned_configs));
    // Turns that decide between two models are not reported: there the winner looks better than it is.
    const bool is_to_decide = result != tuned;
    const Turns all = artifacts.turns(tuned, is_to_decide ? 2 * kLeastTurns : kLeastTurns);
    const bool is_split = is_to_decide && all[0].size() > 1;
    const Turns deciding = is_split ? every_other(all, 0) : all, turns = is_split ? every_other(all, 1) : all;
    if (is_to_decide && db::median_of(deciding[result]) >= db::median_of(deciding[tuned])) result = tuned;
    std::vector<double> medians;
    for (const std::vector<double>& t : turns) medians.push_back(db::median_of(t));
    const auto difference_of = [&](size_t i) {
      return different_outputs(g, artifacts.outputs(0), artifacts.outputs(i));
    };
    const auto times_as_fast = [&](size_t than, size_t i) { return ratio_of_turns(turns[than], turns[i]); };
    if (!difference_of(result).empty()) result = tuned;
    if (result != tuned) out.choices = std::move(faster), out.without_choices = medians[tuned];
    // If the defaults or the earlier configs are clearly faster, their configs are chosen.
    std::optional<size_t> faster_before;
    for (const size_t other : {size_t{0}, was.value_or(0)})
      if (other != result && times_as_fast(other, result).is_slower() &&
          (!faster_before || medians[other] < medians[*faster_before]))
        if (auto choices = choices_of(artifacts.layers(other), artifacts.layers(tuned), variant, hub)) {
          out.found = times_as_fast(other, result);
          out.kept = other == 0 ? "the default configs" : "what was known before";
          out.choices = *std::move(choices), out.without_choices = medians[tuned];
          faster_before = other;
        }
    result = faster_before.value_or(result);
    // Outputs of the model that is kept are compared, not those of one that is replaced.
    out.different = difference_of(result);
    out.default_seconds = medians[0], out.tuned_seconds = medians[result];
    if (result != 0) out.of_default = times_as_fast(0, result);
    out.is_as_before = was == result;
    if (was && *was != result) out.before_seconds = medians[*was], out.of_before = times_as_fast(*was, result);
  } catch (const std::exception& e) {  // the trials are reported all the same
    out.why_not = e.what();
  }
  return out;
}

void WholeModel::forget_choices() {
  if (std::exchange(is_as_before, false)) before_seconds = tuned_seconds;
  tuned_seconds = std::exchange(without_choices, 0);
  of_default = of_before = found = {};
  choices.clear();
  kept.clear();
}

}  // namespace hone
