#include "tuner/driver/fleet_device.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>

#include "base/log.h"
#include "base/text.h"
#include "compiler/ir/structural_hash.h"
#include "compiler/ops/definition.h"
#include "rpc/ir/encode.h"
#include "tuner/driver/place.h"
#include "tuner/measure/reference_job.h"
#include "tuner/measure/remote.h"

namespace hone {
namespace {

using namespace std::chrono_literals;

// Boards compile slowly, and nothing is gained by giving up.
constexpr double kTimeoutSeconds = 120;

wire::MeasureProfile profile() {
  wire::MeasureProfile p;
  p.repeats = 10;
  p.min_repeat_ms = 5;
  p.build_timeout_s = p.run_timeout_s = kTimeoutSeconds;
  return p;
}

RemoteFigures figures_of(const wire::CandidateResult& r) {
  RemoteFigures out;
  out.rel_error = r.rel_error;
  if (r.status != wire::ResultStatus::kOk || r.times.empty()) {
    out.wrong = r.message.empty() ? "no result" : clean_line(r.message);
    return out;
  }
  std::vector<double> times = r.times;
  std::sort(times.begin(), times.end());
  out.seconds = times[times.size() / 2];
  out.spread = (times.back() - times.front()) / out.seconds;
  return out;
}

class FleetDevice final : public RemoteDevice {
 public:
  FleetDevice(const TuneRequest& f, Place place) : f_(f), place_(std::move(place)) {}

  const Target& target() const override { return place_.target; }
  std::string name() const override {
    return place_.devices == 1 ? clean_line(place_.device_key) : fmt::format("{} devices", place_.devices);
  }

  StatusOr<std::vector<RemoteFigures>> run(const std::vector<RemoteKernel>& kernels,
                                           const std::function<void(size_t)>& done) override {
    std::vector<RemoteFigures> out(kernels.size());
    if (kernels.empty()) return out;
    RemoteOptions remote;
    remote.client = place_.client;
    remote.open.session = wire::Uuid::random();
    remote.open.title = "tensorc: " + (kernels.size() == 1 ? to_string(kernels[0].workload)
                                                           : fmt::format("{} kernels", kernels.size()));
    remote.open.target_kind = place_.target.kind;
    remote.open.device_key = f_.device;
    remote.open.labels = f_.labels;
    remote.open.target = place_.device_target;
    remote.encode = [](const Module& m) { return encode(m); };
    std::vector<MeasureJob> jobs;
    std::map<std::string, size_t> references;  // by workload
    for (size_t k = 0; k < kernels.size(); ++k) {
      const auto [found, is_new] = references.emplace(to_string(kernels[k].workload), references.size());
      if (is_new)
        remote.references.push_back(reference_job(define(kernels[k].workload), place_.target, kTimeoutSeconds));
      auto candidate = std::make_shared<Candidate>();
      candidate->module = kernels[k].module;
      candidate->hash = content_hash(candidate->module);
      candidate->layouts = layouts_of(candidate->module);
      jobs.push_back({k + 1, {std::move(candidate)}, profile(), found->second});
    }
    RemoteMeasurer measurer(std::move(remote));
    HONE_RETURN_IF_ERROR(measurer.wait_open(10s));
    measurer.submit(std::move(jobs));
    std::string trouble;
    for (size_t ready = 0; ready < kernels.size();) {
      HONE_ASSIGN_OR_RETURN(const std::vector<wire::JobResult> results, measurer.collect(1s));
      if (std::string now = measurer.trouble(); now != trouble) {
        if (!now.empty()) log::warn("waiting for results: {}", now);
        trouble = std::move(now);
      }
      std::vector<uint64_t> seqs;
      for (const wire::JobResult& r : results) {
        if (r.seq < 1 || r.seq > out.size() || r.candidates.empty())
          return absl::InternalError("the tracker answered what was not asked");
        out[r.seq - 1] = figures_of(r.candidates[0]);
        out[r.seq - 1].is_disturbed = r.drifted;
        seqs.push_back(r.seq);
      }
      ready += seqs.size();
      measurer.ack(std::move(seqs));
      if (done) done(ready);
    }
    return out;
  }

 private:
  const TuneRequest f_;
  const Place place_;
};

}  // namespace

StatusOr<std::unique_ptr<RemoteDevice>> find_fleet_device(const TuneRequest& f) {
  HONE_ASSIGN_OR_RETURN(Place place, find_place(f));
  return std::make_unique<FleetDevice>(f, std::move(place));
}

}  // namespace hone
