// Knobs, configs and the search space they span.
//
// A template is one function run in two modes: while the space is built it declares its knobs and constraints; while a
// config is applied the same calls return the config's choices. Spaces are never materialised.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"

namespace hone {

/// Factors of a split, outermost first; the product of all covers the extent, and the outermost is ceil(extent /
/// product of the others).
using Split = std::vector<int64_t>;

enum class KnobKind : uint8_t { kSplit, kChoice };

/// One knob. Each choice is a list of numbers: the factors of a split, or one number.
struct Knob {
  std::string name;
  KnobKind kind = KnobKind::kChoice;
  std::vector<std::vector<int64_t>> choices;
  int default_choice = 0;
  std::vector<std::string> words;  ///< names of the choices, for people; empty, or one a choice
  bool for_threads = false;        ///< divides work among threads: what is best depends on how many there are
  /// A choice as it is stored and hashed: `7x2x16` or `3`.
  std::string text_of(int choice) const;
  /// A choice as people read it: its word where it has one.
  std::string word_of(int choice) const;
};

/// One choice of each knob of a space, by position. Only meaningful together with its Space.
struct Config {
  std::vector<int32_t> choices;
  bool operator==(const Config&) const = default;
};

/// Position of a config in its space's mixed-radix order, the last knob fastest.
using ConfigIndex = unsigned __int128;
std::string to_string(ConfigIndex index);

/// Knobs that may take some of their choices only: by the knob's name, choices as printed.
using Narrowing = std::map<std::string, std::vector<std::string>>;

/// The meaning of a choice knob's numbers, in words: `{{0, "direct"}, {1, "gemm"}}`.
using ChoiceWords = std::vector<std::pair<int64_t, std::string_view>>;

/// Which factors a split may take. A choice is kept when every inner part is within its limit and the tail it leaves is
/// not too wasteful.
struct SplitRule {
  std::vector<int64_t> max_inner;  ///< limits of parts 1, 2, … ; missing = the extent
  bool powers_of_two = true;       ///< powers of two beside the divisors of the extent
  int64_t all_up_to = 0;           ///< and all factors up to this
  double max_waste = 0.34;         ///< share of iterations that a tail may waste, per part
  std::vector<int64_t> prefer;     ///< the default: the choice whose inner parts are nearest to these
  bool for_threads = false;        ///< Knob::for_threads
};

/// The allowed inner parts when `extent` is split in two under the rule, ascending.
std::vector<int64_t> split_factors(int64_t extent, const SplitRule& rule);

/// The two-mode interface that templates see.
class Knobs {
 public:
  /// Declares or reads a split of `extent` into `parts` factors.
  Split split(std::string_view name, int64_t extent, int parts, const SplitRule& rule = {});
  /// Declares or reads one of the numbers `choices` (not empty); the default is the one nearest to `preferred` (by
  /// ratio), or the first. `words`: names of the numbers; they do not enter the space's fingerprint.
  int64_t choice(std::string_view name, const std::vector<int64_t>& choices,
                 std::optional<int64_t> preferred = std::nullopt, const ChoiceWords& words = {});
  /// The same of a knob that divides work among threads (Knob::for_threads).
  int64_t thread_choice(std::string_view name, const std::vector<int64_t>& choices,
                        std::optional<int64_t> preferred = std::nullopt, const ChoiceWords& words = {});
  /// Knobs declared from here to the next call matter only where `active` holds. Elsewhere they read as their default,
  /// a canonical config has them at their default, and constraints are not checked. A template of several algorithms
  /// thus shows each only its own knobs.
  void when(bool active) { active_ = active; }
  /// A constraint on the choices read so far: a config for which it is false does not belong to the space. `what` names
  /// it.
  void require(std::string_view what, bool holds);

 private:
  friend class Space;
  int declare(Knob knob);
  int read(std::string_view name);
  enum class Mode : uint8_t { kDeclare, kRead };
  Mode mode_ = Mode::kDeclare;
  std::vector<Knob> declared_;
  const std::vector<Knob>* knobs_ = nullptr;
  const Config* config_ = nullptr;
  size_t next_ = 0;
  bool active_ = true;
  std::string broken_;        ///< the first constraint that did not hold
  size_t broken_at_ = 0;      ///< knobs read before that constraint
  std::vector<size_t> idle_;  ///< knobs read while inactive
};

/// The findings of a template's calls on a config.
struct Settled {
  std::vector<size_t> idle;  ///< positions of the knobs that do not matter, ascending
  std::string broken;        ///< the first constraint that does not hold; empty: all do
  size_t broken_at = 0;      ///< knobs read before that constraint
};

/// The configs of one template on one workload and target.
class Space {
 public:
  using Declare = std::function<void(Knobs&)>;
  /// May throw; then what asked the space throws, too.
  using Settle = std::function<Settled(const Space&, const Config&)>;

  /// Runs `declare` once to collect the knobs. It must make the same calls in the same order every time. UserError when
  /// the space has 2^120 configs or more, or none that is valid among the first 100,000 tried. `narrowing` makes a
  /// sub-space, with a fingerprint of its own: UserError when it names a knob that is not there or leaves one no
  /// choice.
  Space(std::string template_name, int revision, Declare declare, const Narrowing& narrowing = {});
  /// The same of a template that runs elsewhere: its knobs are known, and `settle` asks it about a config. `program` is
  /// a part of the fingerprint, for templates whose revision nobody raises: a hash of what it makes of some configs.
  Space(std::string template_name, int revision, std::string_view program, std::vector<Knob> knobs, Settle settle,
        const Narrowing& narrowing = {});

  /// The knobs that `declare` asks for.
  static std::vector<Knob> declared(const Declare& declare);
  /// The findings of `declare` on a config of `space`, whose knobs are these.
  static Settled settled_by(const Declare& declare, const Space& space, const Config& config);

  const std::string& template_name() const { return template_name_; }
  int revision() const { return revision_; }
  const std::vector<Knob>& knobs() const { return knobs_; }
  /// Hash of template name, revision, program, and the knobs' names, kinds and choices.
  Hash128 fingerprint() const { return fingerprint_; }
  /// The number of combinations of choices, including those that are no valid configs.
  ConfigIndex size() const { return size_; }
  /// How many are valid: counted one by one up to `limit` configs looked at; nothing when there are more.
  std::optional<uint64_t> count_valid(uint64_t limit = 1'000'000) const;

  Config config_at(ConfigIndex index) const;
  ConfigIndex index_of(const Config& config) const;
  /// `tile_oc=2x16,unroll=1`: the knobs that matter, in order. parse() is its inverse: UserError naming an unknown,
  /// missing or repeated knob, a value that is not among the knob's choices, or a choice of a knob that does not matter
  /// there; also for a config that is not a template's (docs/keys.md).
  std::string print(const Config& config) const;
  /// The same for people: `algorithm=winograd4,partition=static`. parse() reads both, mixed too.
  std::string describe(const Config& config) const;
  Config parse(std::string_view text) const;

  /// The valid config whose choices are nearest to those of a config text of another space of the same template (knobs
  /// by name; unknown ones are ignored, missing ones take their default); nothing when the nearest choices together
  /// break a constraint, or when the text is not a template's config. With `other_threads`, the text is for another
  /// number of threads: knobs that divide work among threads keep their defaults.
  std::optional<Config> adapt(std::string_view text, bool other_threads = false) const;

  /// `config` with the knobs that do not matter at their defaults.
  Config canonical(Config config) const;
  /// Positions of the knobs that matter in `config`, ascending.
  std::vector<size_t> knobs_at_work(const Config& config) const;
  /// The template's findings on `config`, canonical or not.
  Settled settled(const Config& config) const { return settle_(*this, config); }
  /// Empty when `config` is canonical and fulfils every constraint, else what it breaks first.
  std::string broken_constraint(const Config& config) const;
  bool valid(const Config& config) const { return broken_constraint(config).empty(); }
  /// The template's choice without tuning; always valid.
  const Config& default_config() const { return default_; }
  /// A valid config; among configs with the same active knobs each is equally likely. Nothing when `tries` draws found
  /// none.
  std::optional<Config> sample(std::mt19937_64& rng, int tries = 10'000) const;
  /// The first valid config at or after `from`; sets `from` behind it. Nothing at the end, or when the first `most`
  /// candidates were not valid. Enumeration steps at once over runs of configs that differ only in knobs that do not
  /// matter, and over those that begin with choices that break a constraint by themselves.
  std::optional<Config> next_valid(ConfigIndex* from, uint64_t most = UINT64_MAX) const;
  /// Knobs that read `config`, to run the template with.
  Knobs reader(const Config& config) const;

 private:
  std::string text_of(const Config& config, const std::function<std::string(const Knob&, int)>& text_of_choice) const;
  void take(std::vector<Knob> knobs, std::string_view program, const Narrowing& narrowing);
  void repair_default();
  /// Sets the knobs of `config` that do not matter to their defaults and returns the first constraint broken.
  std::string settle(Config* config, std::vector<size_t>* idle = nullptr, size_t* broken_at = nullptr) const;
  /// The index behind all configs that share the choices of the first `knobs` knobs with the one at `index`.
  ConfigIndex skip_prefix(ConfigIndex index, size_t knobs) const;
  /// The first config at or after `index` whose idle knobs all stand at their defaults; nothing at the end.
  std::optional<ConfigIndex> skip_idle(ConfigIndex index, const std::vector<size_t>& idle) const;

  std::string template_name_;
  int revision_;
  Settle settle_;
  std::vector<Knob> knobs_;
  ConfigIndex size_ = 1;
  Hash128 fingerprint_;
  Config default_;
};

}  // namespace hone
