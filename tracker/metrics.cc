// The figures for Prometheus.
#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <array>
#include <limits>
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

MetricFamily latency(const TrackerCounts& counts) {
  MetricFamily out{"hone_lease_latency_seconds", "From a job's submission to its lease", MetricType::Histogram, {}};
  ClientMetric metric;
  uint64_t cumulative = 0;
  for (size_t i = 0; i < counts.latency.size(); ++i) {
    cumulative += counts.latency[i];
    const double bound = i < TrackerCounts::kLatencyBounds.size() ? TrackerCounts::kLatencyBounds[i] : std::numeric_limits<double>::infinity();
    metric.histogram.bucket.push_back({cumulative, bound});
  }
  metric.histogram.sample_count = cumulative;
  metric.histogram.sample_sum = counts.latency_sum;
  out.metric.push_back(std::move(metric));
  return out;
}

}  // namespace

std::string metrics_page(const wire::FleetStatus& status, const TrackerCounts& counts) {
  std::map<std::string, double> by_state;
  for (const char* state : {"idle", "busy", "draining", "quarantined", "lost"}) by_state[state] = 0;
  std::vector<Labelled> device_done, states, queued, leased, results;
  for (const wire::DeviceStatus& device : status.devices) {
    ++by_state[device.state];
    device_done.push_back({{{"device", device.info.key}}, static_cast<double>(device.done)});
  }
  for (const auto& [state, count] : by_state) states.push_back({{{"state", state}}, count});
  for (const wire::SessionStatus& session : status.sessions) {
    queued.push_back({{{"session", session.session.text()}}, static_cast<double>(session.queued)});
    leased.push_back({{{"session", session.session.text()}}, static_cast<double>(session.leased)});
  }
  for (const auto& [name, count] : status.results) results.push_back({{{"status", name}}, static_cast<double>(count)});
  const auto one = [](auto value) { return std::vector<Labelled>{{{}, static_cast<double>(value)}}; };
  using enum MetricType;
  const std::vector<MetricFamily> families = {
      family("hone_devices", "Devices by state", Gauge, states),
      family("hone_device_jobs_total", "Jobs answered, by device", Counter, device_done),
      family("hone_queued_jobs", "Jobs waiting for a device, by session", Gauge, queued),
      family("hone_leased_jobs", "Jobs on a device, by session", Gauge, leased),
      family("hone_results_total", "Candidates answered, by status", Counter, results),
      family("hone_leases", "Leases in force", Gauge, one(counts.unfinished_leases)),
      family("hone_leases_total", "Leases granted", Counter, one(counts.leases)),
      family("hone_leases_expired_total", "Leases lost by deadline", Counter, one(counts.expired)),
      family("hone_leases_taken_back_total", "Leases asked back for an idle device", Counter, one(counts.taken_back)),
      family("hone_leases_adopted_total", "Leases and results taken over from an earlier run", Counter, one(counts.adopted)),
      family("hone_jobs_requeued_total", "Jobs that went back into the queue", Counter, one(counts.requeued)),
      family("hone_stale_results_total", "Results dropped as stale", Counter, one(counts.stale)),
      family("hone_refused_total", "Connections refused", Counter, one(counts.refused)),
      family("hone_blob_bytes", "Bytes in the blob store", Gauge, one(counts.blob_bytes)),
      family("hone_uptime_seconds", "Since the tracker started", Gauge, one(status.uptime_s)),
      latency(counts)};
  std::ostringstream out;
  prometheus::TextSerializer().Serialize(out, families);
  return out.str();
}

}  // namespace hone::tracker
