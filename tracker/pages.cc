#include "tracker/pages.h"

#include "base/json.h"

namespace hone::tracker {
namespace {

template <class T>
OrderedJson or_null(const std::optional<T>& value) {
  return value ? OrderedJson(*value) : OrderedJson();
}

OrderedJson curve_json(const std::vector<wire::CurvePoint>& curve) {
  OrderedJson out = OrderedJson::array();
  for (const wire::CurvePoint& point : curve) {
    out.push_back({point.seconds, point.trials, point.best_gflops});
    if (point.model_seconds > 0 || point.model_share > 0) out.back().push_back(point.model_seconds);
    if (point.model_share > 0) out.back().push_back(point.model_share);
  }
  return out;
}

OrderedJson model_json(const wire::ModelSummary& m) {
  OrderedJson slowest = OrderedJson::array();
  for (const wire::TaskSummary& t : m.slowest)
    slowest.push_back({{"workload", t.workload},
                       {"count", t.count},
                       {"seconds", t.seconds},
                       {"default_seconds", t.default_seconds},
                       {"trials", t.trials},
                       {"config_name", t.config_name}});
  return {{"seconds", m.seconds},
          {"default_seconds", m.default_seconds},
          {"tasks", m.tasks},
          {"missing", m.missing},
          {"measured_seconds", m.measured_seconds},
          {"measured_default_seconds", m.measured_default_seconds},
          {"slowest", std::move(slowest)}};
}

OrderedJson events_json(const std::vector<NotedEvent>& events) {
  OrderedJson out = OrderedJson::array();
  for (const NotedEvent& event : events) out.push_back({{"t", event.t}, {"what", event.what}});
  return out;
}

OrderedJson device_json(const wire::DeviceStatus& d) {
  return {{"key", d.info.key},
          {"agent", d.agent},
          {"state", d.state},
          {"why", d.why},
          {"target", d.info.target},
          {"model", d.info.model},
          {"memory_bytes", d.info.memory_bytes},
          {"versions", d.info.versions},
          {"labels", d.info.labels},
          {"features", d.info.features},
          {"compute_capability", d.info.compute_capability},
          {"missing", d.info.missing},
          {"leased", d.leased},
          {"done", d.done},
          {"failed", d.failed},
          {"connected_s", d.connected_s},
          {"lost_s", d.lost_s},
          {"sentinel_seconds", d.sentinel_seconds},
          {"temperature_c", or_null(d.health.temperature_c)},
          {"clock_mhz", or_null(d.health.clock_mhz)},
          {"governor", d.health.governor},
          {"throttled", d.health.throttled},
          {"load", or_null(d.health.load)},
          {"utilization", d.utilization},
          {"jobs_per_minute", d.jobs_per_minute}};
}

OrderedJson session_json(const wire::SessionStatus& s) {
  OrderedJson out = {{"session", s.id},
                     {"withheld", s.withheld},
                     {"owner", s.owner},
                     {"host", s.host},
                     {"title", s.title},
                     {"device_key", s.device_key},
                     {"target_kind", s.target_kind},
                     {"target", s.target},
                     {"labels", s.labels},
                     {"weight", s.weight},
                     {"priority", s.priority},
                     {"queued", s.queued},
                     {"leased", s.leased},
                     {"done", s.done},
                     {"poisoned", s.poisoned},
                     {"oldest_s", s.oldest_s},
                     {"connected", s.connected},
                     {"device_seconds", s.device_seconds},
                     {"share", s.share}};
  if (!s.session.is_zero()) out["uuid"] = s.session.text();
  out["summary"] = {{"trials", s.summary.trials},
                    {"budget", s.summary.budget},
                    {"best_gflops", s.summary.best_gflops},
                    {"best_seconds", s.summary.best_seconds},
                    {"trials_per_second", s.summary.trials_per_second},
                    {"by_status", s.summary.by_status},
                    {"best_config", s.summary.best_config},
                    {"best_config_name", s.summary.best_config_name}};
  if (s.summary.model) out["summary"]["model"] = model_json(*s.summary.model);
  out["curve"] = curve_json(s.curve);
  return out;
}

// Text from outside need not be UTF-8 where no message checked it.
std::string text_of(const OrderedJson& json) { return json_line(json); }

}  // namespace

std::string state_json(const wire::FleetStatus& status) {
  OrderedJson out;
  out["version"] = status.version;
  out["uptime_s"] = status.uptime_s;
  out["now"] = status.now;
  out["devices"] = OrderedJson::array();
  for (const wire::DeviceStatus& device : status.devices) out["devices"].push_back(device_json(device));
  out["sessions"] = OrderedJson::array();
  for (const wire::SessionStatus& session : status.sessions) out["sessions"].push_back(session_json(session));
  out["results"] = status.results;
  out["queue"] = {{"queued", status.queued}, {"leased", status.leased}, {"oldest_s", status.oldest_s}};
  return text_of(out);
}

std::string device_detail_json(const DeviceDetail& detail) {
  OrderedJson out;
  out["device"] = device_json(detail.device);
  out["now"] = detail.now;
  out["bucket_s"] = detail.bucket_s;
  out["history"] = OrderedJson::array();
  for (const HistoryPoint& point : detail.history)
    out["history"].push_back({{"t", point.t},
                              {"done", point.done},
                              {"failed", point.failed},
                              {"busy_s", point.busy_s},
                              {"sentinel_seconds", point.sentinel_seconds},
                              {"temperature_c", or_null(point.temperature_c)},
                              {"clock_mhz", or_null(point.clock_mhz)}});
  out["events"] = events_json(detail.events);
  out["by_status"] = detail.by_status;
  const wire::PhaseTimes& p = detail.phases;
  out["phases"] = {{"queue", p.queue}, {"transfer", p.transfer},   {"build", p.build}, {"check", p.check},
                   {"run", p.run},     {"reference", p.reference}, {"idle", p.idle}};
  return text_of(out);
}

std::string session_detail_json(const SessionDetail& detail) {
  OrderedJson out;
  out["session"] = session_json(detail.session);
  out["curve"] = curve_json(detail.curve);
  out["events"] = events_json(detail.events);
  return text_of(out);
}

std::string about_json(const About& about) {
  return OrderedJson{{"version", HONE_VERSION},
                     {"listen", about.listen},
                     {"tls", about.tls},
                     {"client_certificates", about.client_certificates},
                     {"tokens", about.tokens}}
      .dump();
}

}  // namespace hone::tracker
