// The rows of the tophub's tables, as plain structs of text and numbers. Their meaning (what a workload or a config is)
// belongs to the compiler; here they are texts that are compared for equality.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace hone::db {

/// Seconds that one job spent in each phase, each by a clock of its own.
struct PhaseSeconds {
  double queue = 0, transfer = 0, build = 0, check = 0, run = 0, reference = 0;
  bool operator==(const PhaseSeconds&) const = default;
};

/// The machine around the timed calls of a job, as far as it told; empty and null: not known.
struct MachineState {
  std::string governor;  ///< how the kernel set its clocks: "performance", or several: "ondemand, schedutil"
  std::optional<double> temperature_before_c, temperature_after_c;  ///< of the hottest CPU package
  std::optional<double> clock_before_mhz, clock_after_mhz;          ///< mean of the CPUs in use
  std::string throttled;  ///< why it ran slower than it could: "undervoltage", "thermal", "hot"

  /// One line: "governor ondemand, 61 to 64 °C, 1800 to 1500 MHz, throttled: thermal"; "": nothing is known.
  std::string text() const;
  bool operator==(const MachineState&) const = default;
};

/// One measured candidate, as stored. Identity: (session, seq, candidate).
struct TrialRow {
  std::string session;           ///< uuid
  int64_t seq = 0;               ///< the job's number in its session
  int64_t candidate = 0;         ///< which one of a job that measured several (finalists)
  std::string workload, target;  ///< canonical texts
  std::string space;             ///< fingerprint
  std::string template_name;
  int64_t template_revision = 0;
  std::string config;
  std::string in_layout, out_layout;  ///< as the config resolves them
  std::string module_hash;            ///< hex
  std::string status;                 ///< ok, invalid_config, rejected, build_failed, ... (architecture.md's words)
  std::string message;                ///< one line; empty when ok
  std::vector<double> times;          ///< seconds per call, one entry a repeat, in the order taken
  std::optional<double> seconds;      ///< median of `times`; null unless status is ok
  bool censored = false;              ///< stopped early: `seconds` is a lower bound, never a best
  bool confirmed = false;             ///< measured interleaved with the other finalists
  /// Timed on a machine that was not quiet: `seconds` compares with nothing but what was timed beside it.
  bool disturbed = false;
  /// Seconds that the template's default took in the same job as a disturbed confirmation; null when that has no time
  /// there.
  std::optional<double> default_seconds;
  double rel_error = 0, max_error = 0;  ///< NaN and infinity are stored as the largest double
  PhaseSeconds phases;
  std::string device, device_model;
  std::string missing;  ///< protections that the device did not have: "landlock, seccomp"; empty: none known
  std::string profile;  ///< how it was timed
  std::string hone_version, codegen_version;
  double sentinel_before = 0, sentinel_after = 0;  ///< seconds; 0 when not measured
  std::optional<MachineState> machine;             ///< null: nothing is known of it
  int64_t created_at = 0;                          ///< Unix time in ms, when the result came in
  std::optional<std::string> features;             ///< opaque bytes for the cost model

  bool operator==(const TrialRow&) const = default;
};

/// Why a time measured on that machine is disturbed: "throttled: thermal", or "others used the machine" where nothing
/// else is known.
std::string disturbed_by(const std::optional<MachineState>& machine);

/// One tuning session.
struct SessionRow {
  std::string uuid;
  std::string workload, target, space;  ///< empty workload and space: more than one
  std::string searcher;
  int64_t seed = 0;
  int64_t started = 0;  ///< Unix time in ms
  std::optional<int64_t> ended;
  std::string state;  ///< running, done, interrupted, failed

  bool operator==(const SessionRow&) const = default;
};

/// One batch of a session's trials. Identity: (session, number).
struct BatchRow {
  std::string session;  ///< uuid
  int64_t number = 0;   ///< in the session, in the order in which batches were complete, from 0
  std::string workload, target, space;
  int64_t trials = 0;  ///< of the batch that have an outcome
  int64_t known = 0;   ///< trials of this workload, target and space when it was complete, earlier sessions' included
  /// How well the model ordered the batch before it was measured, each 0 to 1; null when it did not guess.
  std::optional<double> pairwise, peak1, peak5;
  double idle = 0;       ///< seconds that devices had nothing to do before jobs of the batch
  int64_t drifted = 0;   ///< trials of the batch whose device was not steady while they were timed
  int64_t finished = 0;  ///< Unix time in ms

  bool operator==(const BatchRow&) const = default;
};

/// The best trial of one (workload, target, space, in layout, out layout): a view of that trial.
struct BestRow {
  std::string workload, target, in_layout, out_layout;
  std::string space, template_name;
  int64_t template_revision = 0;
  std::string config;
  double seconds = 0;  ///< median
  double spread = 0;   ///< spread_of the repeats
  bool confirmed = false;
  bool disturbed = false;  ///< as in TrialRow, as the next
  std::optional<double> default_seconds;
  double sentinel = 0;  ///< seconds, after the repeats; 0 when not measured
  std::string device, device_model, profile;
  std::string missing;                  ///< protections that the device did not have, as in TrialRow
  std::optional<MachineState> machine;  ///< around its timed calls, as in TrialRow
  std::string hone_version, codegen_version;
  std::string module_hash;
  std::string session;  ///< with seq and candidate: the trial
  int64_t seq = 0, candidate = 0;
  int64_t updated_at = 0;  ///< the trial's created_at

  /// One phrase: "confirmed", "provisional"; with ", disturbed" behind it where it is.
  std::string standing() const {
    return std::string(confirmed ? "confirmed" : "provisional") + (disturbed ? ", disturbed" : "");
  }
  /// Why it is disturbed: "throttled: thermal", or "others used the machine" where nothing else is known.
  std::string disturbed_by() const { return db::disturbed_by(machine); }
  /// Its time over the default's, both of the same disturbed job; null when that is not known.
  std::optional<double> of_default() const {
    return default_seconds ? std::optional(seconds / *default_seconds) : std::nullopt;
  }
  /// Its time over the sentinel's; null when that was not measured.
  std::optional<double> of_sentinel() const { return sentinel > 0 ? std::optional(seconds / sentinel) : std::nullopt; }

  bool operator==(const BestRow&) const = default;
};

/// A config that models take instead of the best one: timed inside a model, where a layer's operands are as the layer
/// before it left them, it was faster. One a (workload, target, space, instead_of), whatever the model; it counts while
/// `instead_of` is the best. One of that best itself says that the best is to be taken.
struct ChoiceRow {
  std::string workload, target, space;
  std::string config, instead_of;
  double seconds = 0, instead_seconds = 0;  ///< of a call of each, both inside the model, in turns
  int64_t created_at = 0;                   ///< Unix time in ms

  bool operator==(const ChoiceRow&) const = default;
};

/// A text that keys name by its hash. Identity: (hash, kind).
struct DefinitionRow {
  std::string hash;  ///< key_hash() of the text
  std::string kind;  ///< operator, kernel; other words in later versions
  std::string text;

  bool operator==(const DefinitionRow&) const = default;
};

/// A cost model trained offline on trials, for sessions to begin with. One a target kind and feature schema.
struct PriorRow {
  std::string target_kind;  ///< "llvm"
  std::string schema;       ///< of the features it takes, as hex
  std::string hone_version;
  int64_t created_at = 0;          ///< Unix time in ms
  int64_t groups = 0, trials = 0;  ///< its training data; a group is a workload on a target
  int64_t held_out = 0;            ///< groups that were predicted by a model that had not seen their workload
  std::optional<double> pairwise, peak1, peak5;  ///< accuracy on those, the mean over groups; see tuner/cost/accuracy.h
  std::string model;                             ///< opaque bytes for the cost model

  bool operator==(const PriorRow&) const = default;
};

/// Everything that travels between tophubs: parts of an export. Bests are not among it; they follow from the trials.
struct RecordSet {
  std::vector<SessionRow> sessions = {};
  std::vector<TrialRow> trials = {};
  std::vector<ChoiceRow> choices = {};
  std::vector<DefinitionRow> definitions = {};
  std::vector<PriorRow> priors = {};
};

/// A record of another tuner's log: it may suggest what to measure, and is never a best.
struct ForeignRow {
  std::string hash;           ///< identity: of the line as it was
  std::string source;         ///< the log file's name
  int64_t line = 0;           ///< in it, from 1
  std::string template_name;  ///< in the other tuner's words, as the next three: "conv2d_NCHWc.x86"
  std::string arguments;      ///< JSON
  std::string target;
  std::string config;             ///< JSON
  std::string status;             ///< in our words
  std::optional<double> seconds;  ///< median; null unless status is ok
  std::string workload;           ///< canonical text of the workload here that it is about; empty: there is none
  std::string reason;             ///< why there is none, or why its config has no counterpart here; empty otherwise

  bool operator==(const ForeignRow&) const = default;
};

/// Median; of an even number the mean of the middle two; 0 of none.
double median_of(std::vector<double> times);

/// The times of "[1.5e-3,2e-3]", as stores write them; those before the first text that is no number. Runs in every
/// lookup, so no JSON tree.
std::vector<double> parse_times(std::string_view json);

/// Interquartile range (linear interpolation) over the median: 0 for one repeat or none.
double spread_of(std::vector<double> times);

/// Why `trial` cannot be stored, as one line; ok when it can: identity and texts given, seconds exactly when status is
/// ok, times believable (plausible.h).
Status validate(const TrialRow& trial);

/// The same of a batch: session, workload and time given, no negative number, shares between 0 and 1.
Status validate(const BatchRow& batch);

}  // namespace hone::db
