// The gain of tuning for the whole of a model: its artifact with default configs is timed beside the one with tuned
// configs and the one with the configs known before.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/status.h"
#include "compiler/model/build_model.h"
#include "db/lookup.h"
#include "tuner/driver/model_choices.h"
#include "tuner/driver/model_work.h"
#include "tuner/driver/verdict.h"

namespace hone {

/// Configs by workload, as it is tuned.
using ConfigsByWorkload = std::map<std::string, ChosenConfig>;

/// The model as tensorc would have built it before a session; read from the database before the session writes to it.
struct ModelBefore {
  std::vector<ModelGraph> variants;
  ConfigsByWorkload configs;

  /// Whether any config is another one than the template's default.
  bool differs_from_defaults() const;
};

/// Why models for a target cannot be run here to be timed: one line. Empty: they can.
std::string why_not_here(const Target& target);

/// The state before, for the graphs and tasks of `work`; empty if their models cannot run here. Errors of the database.
StatusOr<ModelBefore> model_before(const ModelWork& work, const Target& target, db::TopHub& hub);

/// The model as tensorc builds it before a session, run here.
struct ModelNow {
  double build_seconds = 0;                     ///< of one build, all variants together
  double seconds = 0;                           ///< of a run of each variant
  std::map<std::string, double> layer_seconds;  ///< of all layers of a workload, as it is tuned; empty: not told apart
};
/// Throws if the work is no longer wanted; called now and then, with the current step.
using StillWanted = std::function<void(std::string_view what, size_t done, size_t all)>;
/// Builds and runs it. Nothing where it cannot be built or run here. `denormals` and `assume_finite`: as it will be.
std::optional<ModelNow> time_model_now(const ModelBefore& before, const Target& target, Denormals denormals,
                                       bool assume_finite, const StillWanted& still_wanted);

/// The artifacts, run here.
struct WholeModel {
  std::string variant;  ///< `batch=4`; empty where the model has one
  std::string why_not;  ///< one line: why they were not built or timed; empty: they were
  double default_seconds = 0;
  double tuned_seconds = 0;          ///< with the choices
  double before_seconds = 0;         ///< as it was before; 0: that is the default one or the tuned one
  bool is_as_before = false;         ///< the tuned one has the layers and configs of before
  std::vector<ModelChoice> choices;  ///< choices to store: the model is faster with them
  double without_choices = 0;        ///< seconds without them; 0: there are none
  Ratio of_default, of_before;       ///< how many times as fast as these the tuned one is; of_before as before_seconds
  /// `the default configs` or `what was known before`, if these are clearly faster than the tuned ones: `choices` make
  /// tensorc build them again, and `found` is how much slower the tuned ones were. Empty: the tuned ones are kept.
  std::string kept;
  Ratio found;
  std::string different;  ///< one line: which output differs, and how much; empty: all agree

  double gain() const { return default_seconds / tuned_seconds; }
  /// The choices are not stored: tensorc builds it without them.
  void forget_choices();
};

/// Builds the artifacts of a variant and runs them, in turns, on seeded inputs; caches have all of their rows. The
/// tuned one is what tensorc builds: each config is the one chosen inside a model, else the database's best, else the
/// nearest, else the default. `before` may be null; its variant of the same name counts. Where layers are faster inside
/// the model with another config, of the default, of the state before, of the best by itself, or of one of `others`
/// (which have the tuned one where they say nothing), and the model is faster with them, they are its choices.
/// `why_not` says why this is impossible: a target that is not this machine, a layer without a template, or what
/// `still_wanted` throws. `left`: the seconds that there are; work that does not fit is left out, the choices first;
/// null: no limit. `denormals` and `assume_finite`: of all artifacts.
WholeModel compare_whole(const ModelVariant& variant, const ModelBefore* before, db::TopHub& hub,
                         const StillWanted& still_wanted, const std::vector<ConfigsByWorkload>& others = {},
                         Denormals denormals = kUsualDenormals, bool assume_finite = false,
                         const std::function<double()>& left = {});

/// Seconds of one call of each, by call, then by turn: some milliseconds of one, then of the next, and so on, so that a
/// disturbance hits all alike. `goes_on` is asked after each turn, with the times so far; `before`, if it is not null,
/// is called before the calls of each.
using Turns = std::vector<std::vector<double>>;
Turns interleaved_turns(const std::vector<std::function<void()>>& calls,
                        const std::function<bool(const Turns&)>& goes_on,
                        const std::function<void(size_t call)>& before = {});

}  // namespace hone
