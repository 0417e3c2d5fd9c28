// The figures for Prometheus.
#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>

#include "tracker/pages.h"

namespace hone::tracker {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

struct Labelled {
  std::vector<ClientMetric::Label> labels;
  double value;
};

MetricFamily family(const char* name, const char* help, MetricType type, const std::vector<Labelled>& values) {
  MetricFamily out{name, help, type, {}};
  for (const Labelled& value : values) {
    ClientMetric metric;
    metric.label = value.labels;
    (type == MetricType::Counter ? metric.counter.value : metric.gauge.value) = value.value;
    out.metric.push_back(std::move(metric));
  }
  return out;
}

ClientMetric histogram(const TrackerCounts::Histogram& from) {
  ClientMetric metric;
  uint64_t cumulative = 0;
  for (size_t i = 0; i < from.counts.size(); ++i) {
    cumulative += from.counts[i];
    const double bound = i < TrackerCounts::kLatencyBounds.size() ? TrackerCounts::kLatencyBounds[i]
                                                                  : std::numeric_limits<double>::infinity();
    metric.histogram.bucket.push_back({cumulative, bound});
  }
  metric.histogram.sample_count = cumulative;
  metric.histogram.sample_sum = from.sum;
  return metric;
}

MetricFamily phases(const TrackerCounts& counts) {
  MetricFamily out{"hone_phase_seconds", "Where the time of answered jobs went", MetricType::Histogram, {}};
  const auto add = [&](const char* phase, ClientMetric metric) {
    metric.label = {{"phase", phase}};
    out.metric.push_back(std::move(metric));
  };
  add("queue", histogram(counts.latency));
  for (size_t i = 0; i < counts.phases.size(); ++i) add(TrackerCounts::kPhases[i], histogram(counts.phases[i]));
  return out;
}

// One value for each name, at most `most` of them: the others are combined under "other", added up or, with `worst`,
// the largest.
class Bounded {
 public:
  Bounded(const char* label, size_t most, bool worst = false) : label_(label), most_(most), worst_(worst) {}
  void add(const std::string& name, double value) {
    if (values_.size() < most_) return values_.push_back({{{label_, name}}, value});
    other_ = worst_ ? std::max(other_.value_or(0), value) : other_.value_or(0) + value;
  }
  std::vector<Labelled> take() {
    if (other_) values_.push_back({{{label_, "other"}}, *other_});
    return std::move(values_);
  }

 private:
  const char* label_;
  const size_t most_;
  const bool worst_;
  std::vector<Labelled> values_;
  std::optional<double> other_;
};

constexpr size_t kMaxSessions = 64, kMaxDevices = 1024;  // with a label of their own

// Resident memory of this process, in bytes; 0 when the system does not say.
double resident_bytes() {
  std::ifstream file("/proc/self/statm");
  double pages = 0, resident = 0;
  file >> pages >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE));
}

}  // namespace

std::string metrics_page(const wire::FleetStatus& status, const TrackerCounts& counts) {
  std::map<std::string, double> by_state;
  for (const char* state : {"idle", "busy", "draining", "quarantined", "probation", "lost"}) by_state[state] = 0;
  std::vector<Labelled> states, results, temperatures, clocks, throttled, governors;
  Bounded device_done("device", kMaxDevices), queued("session", kMaxSessions), leased("session", kMaxSessions),
      used("session", kMaxSessions);
  Bounded oldest("session", kMaxSessions, /*worst=*/true);
  for (const wire::DeviceStatus& device : status.devices) {
    ++by_state[device.state];
    device_done.add(device.info.key, static_cast<double>(device.done));
    if (static_cast<size_t>(&device - status.devices.data()) >= kMaxDevices) continue;
    const std::string& key = device.info.key;
    const wire::DeviceHealth& health = device.health;
    if (health.temperature_c) temperatures.push_back({{{"device", key}}, *health.temperature_c});
    if (health.clock_mhz) clocks.push_back({{{"device", key}}, *health.clock_mhz * 1e6});
    if (!health.throttled.empty()) throttled.push_back({{{"device", key}, {"reason", health.throttled}}, 1});
    if (!health.governor.empty()) governors.push_back({{{"device", key}, {"governor", health.governor}}, 1});
  }
  for (const auto& [state, count] : by_state) states.push_back({{{"state", state}}, count});
  for (const wire::SessionStatus& session : status.sessions) {
    const std::string name = session.id;
    queued.add(name, static_cast<double>(session.queued));
    leased.add(name, static_cast<double>(session.leased));
    oldest.add(name, session.oldest_s);
    used.add(name, session.device_seconds);
  }
  std::vector<Labelled> rejected;
  for (const auto& [reason, count] : counts.rejected)
    rejected.push_back({{{"reason", reason}}, static_cast<double>(count)});
  std::vector<Labelled> ends;
  for (const auto& [holder, end] : counts.certificate_ends)
    ends.push_back({{{"certificate", holder}}, static_cast<double>(end)});
  for (const auto& [name, count] : status.results) results.push_back({{{"status", name}}, static_cast<double>(count)});
  const auto one = [](auto value) { return std::vector<Labelled>{{{}, static_cast<double>(value)}}; };
  using enum MetricType;
  const std::vector<MetricFamily> families = {
      family("hone_devices", "Devices by state", Gauge, states),
      family("hone_device_jobs_total", "Jobs answered, by device", Counter, device_done.take()),
      family("hone_device_temperature_celsius", "Temperature of a device's CPU", Gauge, temperatures),
      family("hone_device_clock_hertz", "Mean clock of the CPUs that a device uses", Gauge, clocks),
      family("hone_device_throttled", "1 for each device that runs slower than it could, with the reason", Gauge,
             throttled),
      family("hone_device_governor", "1 for each device whose clock governor is known, with its name", Gauge,
             governors),
      family("hone_queued_jobs", "Jobs waiting for a device, by session", Gauge, queued.take()),
      family("hone_queue_oldest_seconds", "Age of the oldest waiting job, by session", Gauge, oldest.take()),
      family("hone_leased_jobs", "Jobs on a device, by session", Gauge, leased.take()),
      family("hone_session_device_seconds", "Device time used so far, by session", Gauge, used.take()),
      family("hone_results_total", "Candidates answered, by status", Counter, results),
      family("hone_leases", "Leases in force", Gauge, one(counts.unfinished_leases)),
      family("hone_leases_total", "Leases granted", Counter, one(counts.leases)),
      family("hone_leases_expired_total", "Leases lost by deadline", Counter, one(counts.expired)),
      family("hone_leases_taken_back_total", "Leases asked back for an idle device", Counter, one(counts.taken_back)),
      family("hone_leases_adopted_total", "Leases and results taken over from an earlier run", Counter,
             one(counts.adopted)),
      family("hone_jobs_requeued_total", "Jobs that went back into the queue", Counter, one(counts.requeued)),
      family("hone_stale_results_total", "Results dropped as stale", Counter, one(counts.stale)),
      family("hone_refused_total", "Connections refused", Counter, one(counts.refused)),
      family("hone_poison_jobs_total", "Jobs given up because several devices lost them", Counter,
             one(counts.poisoned)),
      family("hone_quarantines_total", "Quarantines of devices by the tracker", Counter, one(counts.quarantines)),
      family("hone_blobs", "Blobs in the blob store", Gauge, one(counts.blobs)),
      family("hone_streams_cut_total",
             "Streams that ended without a goodbye: a lost connection, a message that is too large", Counter,
             one(counts.cut)),
      family("hone_connections", "Connections of agents and tuners, as of the last look", Gauge,
             one(counts.connections)),
      family("hone_rejected_total", "Peers turned away, by reason", Counter, rejected),
      family("hone_tls_certificate_expiration_timestamp_seconds",
             "When the tracker's certificate ends, and the first of its clients' CAs", Gauge, ends),
      family("hone_blob_bytes", "Bytes in the blob store", Gauge, one(counts.blob_bytes)),
      family("hone_memory_used_bytes", "What peers make the tracker hold, beside blobs and messages in transit", Gauge,
             one(counts.memory_used)),
      family("hone_memory_limit_bytes", "Limit of hone_memory_used_bytes", Gauge, one(counts.memory_most)),
      family("hone_uptime_seconds", "Since the tracker started", Gauge, one(status.uptime_s)),
      family("process_resident_memory_bytes", "Resident memory of the tracker", Gauge, one(resident_bytes())),
      {"hone_lease_latency_seconds", "From a job's submission to its lease", Histogram, {histogram(counts.latency)}},
      phases(counts)};
  std::ostringstream out;
  prometheus::TextSerializer().Serialize(out, families);
  return out.str();
}

}  // namespace hone::tracker
