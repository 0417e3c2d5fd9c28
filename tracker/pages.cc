#include "tracker/pages.h"

#include <fmt/format.h>

#include "base/json.h"

namespace hone::tracker {
namespace {

std::string gflops(const wire::Summary& summary) {
  return summary.best_gflops > 0 ? fmt::format("{:.1f}", summary.best_gflops) : "-";
}

}  // namespace

std::string state_json(const wire::FleetStatus& status) {
  OrderedJson out;
  out["version"] = status.version;
  out["uptime_s"] = status.uptime_s;
  out["devices"] = OrderedJson::array();
  for (const wire::DeviceStatus& d : status.devices)
    out["devices"].push_back({{"key", d.info.key},
                              {"state", d.state},
                              {"agent", d.agent},
                              {"target", d.info.target},
                              {"model", d.info.model},
                              {"memory_bytes", d.info.memory_bytes},
                              {"versions", d.info.versions},
                              {"labels", d.info.labels},
                              {"missing", d.info.missing},
                              {"leased", d.leased},
                              {"done", d.done},
                              {"failed", d.failed},
                              {"sentinel_seconds", d.sentinel_seconds},
                              {"connected_s", d.connected_s}});
  out["sessions"] = OrderedJson::array();
  for (const wire::SessionStatus& s : status.sessions)
    out["sessions"].push_back({{"session", s.session.text()},
                               {"title", s.title},
                               {"connected", s.connected},
                               {"weight", s.weight},
                               {"queued", s.queued},
                               {"leased", s.leased},
                               {"done", s.done},
                               {"oldest_s", s.oldest_s},
                               {"summary",
                                {{"trials", s.summary.trials},
                                 {"budget", s.summary.budget},
                                 {"best_gflops", s.summary.best_gflops},
                                 {"best_seconds", s.summary.best_seconds},
                                 {"trials_per_second", s.summary.trials_per_second},
                                 {"by_status", s.summary.by_status},
                                 {"best_config", s.summary.best_config}}}});
  out["results"] = status.results;
  return out.dump();
}

std::string about_json(const std::string& listen) { return OrderedJson{{"version", HONE_VERSION}, {"listen", listen}}.dump(); }

std::string state_text(const wire::FleetStatus& status) {
  std::string out = fmt::format("tracker {}, up {:.0f} s\n\ndevices ({})\n", status.version, status.uptime_s, status.devices.size());
  for (const wire::DeviceStatus& d : status.devices)
    out += fmt::format("  {:<24} {:<12} {:>3} leased {:>7} done {:>6} failed  {}\n", d.info.key, d.state, d.leased, d.done, d.failed, d.info.target);
  out += fmt::format("\nsessions ({})\n", status.sessions.size());
  for (const wire::SessionStatus& s : status.sessions)
    out += fmt::format("  {} {:>4} queued {:>4} leased {:>7} done  {} GFLOPS  {}{}\n", s.session.text().substr(0, 8), s.queued, s.leased, s.done,
                       gflops(s.summary), s.title, s.connected ? "" : "  (disconnected)");
  out += "\nresults";
  for (const auto& [name, count] : status.results)
    if (count > 0) out += fmt::format("  {} {}", name, count);
  return out + "\n";
}

}  // namespace hone::tracker
