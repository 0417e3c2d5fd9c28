#include "tracker/pages.h"

#include <fmt/format.h>

#include "base/json.h"

namespace hone::tracker {
namespace {

std::string escape(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      default: out += c;
    }
  }
  return out;
}

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

std::string index_page(const wire::FleetStatus& status) {
  std::string out =
      "<!doctype html><html lang=en><meta charset=utf-8><meta http-equiv=refresh content=5><title>Hone tracker</title>"
      "<style>body{font:14px sans-serif;margin:2em}td,th{text-align:left;padding:.2em 1em .2em 0}</style>";
  out += fmt::format("<h1>Hone tracker {}</h1><p>up {:.0f} s · <a href=/api/state>state</a> · <a href=/metrics>metrics</a></p>",
                     escape(status.version), status.uptime_s);
  out += "<h2>Devices</h2><table><tr><th>key<th>state<th>leased<th>done<th>failed<th>target<th>model</tr>";
  for (const wire::DeviceStatus& d : status.devices)
    out += fmt::format("<tr><td>{}<td>{}<td>{}<td>{}<td>{}<td>{}<td>{}</tr>", escape(d.info.key), escape(d.state), d.leased, d.done, d.failed,
                       escape(d.info.target), escape(d.info.model));
  out += "</table><h2>Sessions</h2><table><tr><th>workload<th>queued<th>leased<th>done<th>trials<th>best GFLOPS<th>trials/s<th></tr>";
  for (const wire::SessionStatus& s : status.sessions)
    out += fmt::format("<tr><td>{}<td>{}<td>{}<td>{}<td>{} of {}<td>{}<td>{:.1f}<td>{}</tr>", escape(s.title), s.queued, s.leased, s.done,
                       s.summary.trials, s.summary.budget, gflops(s.summary), s.summary.trials_per_second, s.connected ? "" : "disconnected");
  out += "</table><h2>Results</h2><table>";
  for (const auto& [name, count] : status.results) out += fmt::format("<tr><td>{}<td>{}</tr>", escape(name), count);
  return out + "</table></html>\n";
}

}  // namespace hone::tracker
