#include "tuner/session/records.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "base/key.h"
#include "base/text.h"
#include "db/plausible.h"
#include "tuner/features/stored.h"

namespace hone {
namespace {

db::TrialRow blank_row(const TaskSetup& task, const SessionServices& services, const Candidate& candidate,
                       uint64_t seq) {
  db::TrialRow row;
  row.session = services.measurer.session();
  row.seq = static_cast<int64_t>(seq);
  row.workload = task.workload;
  row.target = task.target;
  row.space = task.space.fingerprint().hex();
  row.template_name = task.space.template_name();
  row.template_revision = task.space.revision();
  row.config = candidate.config_text;
  row.in_layout = candidate.layouts.in;
  row.out_layout = candidate.layouts.out;
  if (candidate.error.empty()) row.module_hash = candidate.hash.hex();
  if (candidate.features) row.features = store_features(*candidate.features, feature_set(target_kind(task.target)));
  row.hone_version = hone_version();
  row.created_at = services.unix_ms();
  return row;
}

// The state of its machine as a device reports it; null if that is empty.
std::optional<db::MachineState> machine_of(const wire::JobResult& job) {
  if (!job.machine) return std::nullopt;
  const wire::MachineState& m = *job.machine;
  db::MachineState out{m.governor,         m.temperature_before_c, m.temperature_after_c,
                       m.clock_before_mhz, m.clock_after_mhz,      m.throttled};
  return out.text().empty() ? std::nullopt : std::optional(std::move(out));
}

double positive(double x) { return std::isfinite(x) && x > 0 ? x : 0; }

}  // namespace

db::TrialRow trial_row(const TaskSetup& task, const SessionServices& services, const Candidate& candidate,
                       const wire::JobResult& job, size_t index, const wire::MeasureProfile& profile, bool confirmed) {
  db::TrialRow row = blank_row(task, services, candidate, job.seq);
  const wire::CandidateResult& r = job.candidates[index];
  row.candidate = static_cast<int64_t>(index);
  row.status = std::string(wire::name(r.status));
  row.message = r.message;
  for (const double t : r.times)
    if (db::believable(t)) row.times.push_back(t);
  if (r.status == wire::ResultStatus::kOk) {
    if (row.times.empty()) {
      // An agent that times nothing has measured nothing: an impossible time must not become the best.
      row.status = std::string(wire::name(wire::ResultStatus::kRunFailed));
      row.message = "the device sent no usable time";
    } else {
      row.seconds = db::median_of(row.times);
    }
  }
  row.censored = r.censored;
  row.confirmed = confirmed;
  row.disturbed = job.drifted && row.seconds;
  row.rel_error = positive(r.rel_error);
  row.max_error = positive(r.max_error);
  row.phases = {positive(job.phases.queue), positive(job.phases.transfer), positive(job.phases.build),
                positive(job.phases.check), positive(job.phases.run),      positive(job.phases.reference)};
  row.device = job.device;
  if (const auto device = services.measurer.device(job.device)) {
    row.device_model = device->model;
    row.missing = fmt::format("{}", fmt::join(device->missing, ", "));
    // Newer agents say `llvm-19.1.7 hone-codegen-2`; of older ones at least LLVM's version is known.
    if (const auto codegen = device->versions.find("codegen"); codegen != device->versions.end()) {
      row.codegen_version = codegen->second;
    } else if (const auto llvm = device->versions.find("llvm"); llvm != device->versions.end()) {
      row.codegen_version = "llvm-" + llvm->second;
    }
  }
  row.profile = describe(profile);
  row.sentinel_before = positive(job.sentinel_before);
  row.sentinel_after = positive(job.sentinel_after);
  row.machine = machine_of(job);
  return row;
}

db::TrialRow unlowered_row(const TaskSetup& task, const SessionServices& services, const Candidate& candidate,
                           uint64_t seq) {
  db::TrialRow row = blank_row(task, services, candidate, seq);
  row.status = std::string(wire::name(wire::ResultStatus::kInvalidConfig));
  row.message = clean_line(candidate.error);
  return row;
}

std::string describe(const wire::MeasureProfile& p) {
  std::string text = fmt::format("warmup {}, {} x {} ms", p.warmup, p.repeats, p.min_repeat_ms);
  if (p.best_seconds > 0) text += fmt::format(", near the best {} x {} ms", p.refine_repeats, p.refine_repeat_ms);
  if (p.flush_cache) text += ", caches flushed";
  if (p.cold_constants) text += ", constants cold";
  if (p.cold_constants && p.cold_bytes > 0)
    text += fmt::format(" (a model of {:.3g} MB)", static_cast<double>(p.cold_bytes) / 1e6);
  return text;
}

}  // namespace hone
