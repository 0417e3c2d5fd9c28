// Which config a build uses: the tophub's best along the lookup chain, else the template's default.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "compiler/build/build.h"
#include "db/lookup.h"

namespace hone {

struct ChosenConfig {
  Config config;
  std::string source;      ///< `best (exact workload, confirmed, device …)`, `nearest (…)`, `default`, `given`
  std::string skipped;     ///< one line about rows of other spaces that were passed over; empty when there were none
  bool is_choice = false;  ///< a db::ChoiceRow's, in place of the best's
  std::optional<db::BestRow> row;  ///< the record that it is from; null: the default, or given
  std::string owner;               ///< who brought that to a team's tophub; empty: it is from a file
  std::string from;                ///< the file or URL that it is from; empty where there is no row
  /// How much it may be relied upon: confirmed, trusted, elsewhere, nearest, default.
  std::string confidence = "default";
  /// The confidence of a row that was known and not taken, because it is less than db::HubOptions::least; else empty.
  std::string held_back;

  /// No row was taken, whether or not some are known.
  bool is_default() const { return source.starts_with("default"); }
};

/// The use of a config: for a kernel by itself, or for a layer of a model.
enum class ConfigUse { kAlone, kInModel };

/// Which configs of other CPUs are taken: those that were measured to gain (transfer_gain.h), or, for measuring them,
/// all that can be adapted.
enum class Transfer { kMeasuredToGain, kAny };

/// Exact workload and target, then the same workload for another target of the kind, then the layer without the
/// preprocessing that became part of it (plain_layer.h) and the nearest workload (their configs adapted to this space),
/// then the default. Rows of another space fingerprint are never applied as they are.
/// Configs of other targets are adapted, too. GPUs take those of any GPU, as spaces differ with every limit of a
/// device; CPUs those of CPUs with as many vector registers of the same width, and for another number of threads
/// without the knobs that divide work among threads. A CPU's row counts for another CPU only where such rows were
/// measured to gain there; rows that are not taken are named with the default. Database errors are passed on.
///
/// `use`: a layer of a model takes the config chosen inside a model when there is one (see db::ChoiceRow).
StatusOr<ChosenConfig> choose_config(const Workload& w, const Target& target, const Space& space, db::TopHub& hub,
                                     ConfigUse use = ConfigUse::kAlone, Transfer transfer = Transfer::kMeasuredToGain);

/// Every row that choose_config() comes across for this workload and target, in its order, with its fate there: what is
/// taken, and why the others are not. The `most_far` nearest of workloads that are too far are among them. Errors as
/// there.
StatusOr<std::vector<db::Candidate>> candidates(const Workload& w, const Target& target, const Space& space,
                                                db::TopHub& hub, ConfigUse use = ConfigUse::kAlone,
                                                size_t most_far = 8);

/// The best of exactly this workload and target, and this version's space. Nothing where there is none, where no
/// template has it, and where the database fails, which choose_config() reports.
std::optional<db::BestRow> exact_best(const Workload& w, const Target& target, db::TopHub& hub);

/// Seconds of the first row along exact_best()'s chain that was confirmed on a quiet machine; of a team's tophub, by a
/// tenant that is trusted.
std::optional<double> measured_seconds(const Workload& w, const Target& target, db::TopHub& hub);

/// GPU targets of one kind that are worth trying for `target`, nearest first: of its architecture before others (of
/// those, by the distance of the numbers), then by the ratio of the multiprocessors, then of the shared memory.
std::vector<std::string> rank_gpu_targets(const Target& target, const std::vector<std::string>& known);

/// CPU targets that are worth trying for `target`, nearest first: of its architecture, with as many vector registers of
/// the same width; the same CPU before others, then by the ratio of the numbers of threads. On one thread of a Zen 5,
/// ten models took 0.97 of their defaults' time with configs of two threads of it, and 1.00 with those of one thread of
/// a Zen 4; larger ratios of threads were not measured.
std::vector<std::string> rank_cpu_targets(const Target& target, const std::vector<std::string>& known);

/// How far apart two workloads of one task are: the sum of |log2| of the ratios of their numbers, and 1e6 for each
/// chain (prologue, epilogue) that is not the same; infinite where they differ in anything else, read another window
/// (kernel, stride, dilation, groups), or one chain rounds to whole numbers and the other does not.
double workload_distance(const Workload& a, const Workload& b);

/// How far apart shapes may be for one's config to be tried for the other, as a workload_distance(). Left out of a
/// package of 565 workloads tuned with AVX-512 (Zen 5), 23 had 1.00 of their default's speed with the config of a
/// workload within this distance, and 19 within twice of it 0.89; a convolution of stride 1 took 2.7 times as long with
/// that of one of stride 2 (`bench_nearest`).
inline constexpr double kNearestDistance = 1;

/// Known workloads of the same task whose shapes are not farther than `farthest`, nearest first; another chain counts
/// after all shapes.
std::vector<std::string> rank_nearest(const Workload& w, const std::vector<std::string>& known,
                                      double farthest = kNearestDistance);

}  // namespace hone
