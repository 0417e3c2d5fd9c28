// `tracker status` on a terminal.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "base/time_text.h"
#include "tracker/pages.h"

namespace hone::tracker {
namespace {

constexpr size_t kSpark = 16;  // columns of a curve
constexpr std::array<const char*, 8> kBars = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};

// At most `width` characters (0: any number) of one line that cannot command a terminal: control characters become '?'.
std::string shown(std::string_view given, size_t width = 0) {
  const std::string text = valid_utf8(given);
  std::string out;
  size_t columns = 0, last = 0;  // last: where the last character begins
  for (size_t i = 0; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i]);
    size_t length = byte < 0x80 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
    length = std::min(length, text.size() - i);
    const bool c1 = byte == 0xc2 && length == 2 && static_cast<unsigned char>(text[i + 1]) < 0xa0;
    if (width > 0 && columns == width) return out.substr(0, last) + "…";
    last = out.size();
    if (byte < 0x20 || byte == 0x7f || c1)
      out += '?';
    else
      out += text.substr(i, length);
    ++columns;
    i += length;
  }
  return out;
}

std::string age(double seconds) {
  if (seconds < 10) return fmt::format("{:.1f} s", seconds);
  if (seconds < 120) return fmt::format("{:.0f} s", seconds);
  if (seconds < 7200) return fmt::format("{:.0f} min", seconds / 60);
  if (seconds < 172800) return fmt::format("{:.0f} h", seconds / 3600);
  return fmt::format("{:.0f} d", seconds / 86400);
}

// Higher is faster: of a model how many times the default, since not every workload has a rate from the first trials
// on.
std::string spark(const std::vector<wire::CurvePoint>& curve) {
  const auto speed = [](const wire::CurvePoint& p) { return p.model_share > 0 ? 1 / p.model_share : p.best_gflops; };
  if (curve.size() < 2) return "";
  double most = 0;
  for (const wire::CurvePoint& point : curve) most = std::max(most, speed(point));
  if (most <= 0) return "";
  const size_t columns = std::min(kSpark, curve.size());
  std::string out;
  for (size_t i = 0; i < columns; ++i) {
    const double value = speed(curve[i * (curve.size() - 1) / (columns - 1)]) / most;
    out += kBars[std::min<size_t>(7, static_cast<size_t>(std::max(0.0, value) * 8))];
  }
  return out;
}

std::string coloured(const std::string& text, const std::string& state, const TextStyle& style) {
  if (!style.colour) return text;
  const char* code = state == "quarantined" || state == "lost"     ? "31"
                     : state == "draining" || state == "probation" ? "33"
                     : state == "busy"                             ? "32"
                                                                   : "2";
  return fmt::format("\x1b[{}m{}\x1b[0m", code, text);
}

std::string heading(const std::string& text, const TextStyle& style) {
  return style.colour ? fmt::format("\x1b[1m{}\x1b[0m", text) : text;
}

// A device's ailments, and why its times are unsteady. `why` has one ailment alone: a quarantined board may be hot too.
std::string remarks(const wire::DeviceStatus& d) {
  std::string out = d.why;
  const auto add = [&](const std::string& text) { out += (out.empty() ? "" : "; ") + text; };
  if (d.state == "lost") add("lost for " + age(d.lost_s));
  if (const std::string& t = d.health.throttled; !t.empty() && out.find(t) == std::string::npos) add("throttled: " + t);
  if (const std::string& g = d.health.governor; !g.empty() && g != "performance")
    add("governor " + g + ": its clocks follow the load");
  return out;
}

std::string device_lines(const wire::DeviceStatus& d, const TextStyle& style) {
  const std::string temperature = d.health.temperature_c ? fmt::format("{:.0f} °C", *d.health.temperature_c) : "-";
  const std::string clock = d.health.clock_mhz ? fmt::format("{:.1f} GHz", *d.health.clock_mhz / 1000) : "-";
  const std::string line = fmt::format(
      "  {:<24} {} {:>4.0f}% {:>8.0f} {:>6} {:>9} {:>7} {:>6} {:>8}", shown(d.info.key, style.width > 0 ? 24 : 0),
      coloured(fmt::format("{:<11}", shown(d.state, style.width > 0 ? 11 : 0)), d.state, style), 100 * d.utilization,
      d.jobs_per_minute, d.leased, d.done, d.failed, temperature, clock);
  const size_t room = style.width > 6 ? style.width - 6 : 0;
  const std::string more = remarks(d);
  return line + "\n" + (more.empty() ? "" : "      " + shown(more, room) + "\n");
}

// The token and the machine; empty where they are not told.
std::string whose(const wire::SessionStatus& s) {
  if (s.host.empty()) return s.owner;
  return fmt::format("{}{}from {}", s.owner, s.owner.empty() ? "" : ", ", s.host);
}

// The config by its name, then its knobs (older tuners send these alone); for a model the speed of it or of a part.
std::string best_text(const wire::Summary& s) {
  if (!s.model) {
    if (s.best_config_name.empty()) return s.best_config;
    return s.best_config_name + (s.best_config.empty() ? "" : "  " + s.best_config);
  }
  const wire::ModelSummary& m = *s.model;
  if (m.share() <= 0) return "";
  return fmt::format("{:.2f}x the default{}", 1 / m.share(),
                     m.missing > 0
                         ? fmt::format(", of {} of {} workloads", m.tasks - std::min(m.tasks, m.missing), m.tasks)
                         : fmt::format(", {} ms a run", ms_text(m.seconds)));
}

std::string session_lines(const wire::SessionStatus& s, const TextStyle& style) {
  const std::string gflops = s.summary.best_gflops > 0 ? fmt::format("{:.1f}", s.summary.best_gflops) : "-";
  const std::string trials = s.summary.budget > 0 ? fmt::format("{}/{}", s.summary.trials, s.summary.budget)
                                                  : fmt::format("{}", s.summary.trials);
  std::string out =
      fmt::format("  {:<12} {:>6} {:>6} {:>8} {:>8} {:>5.1f}% {:>11} {:>9}  {}\n", shown(s.id, 12), s.queued, s.leased,
                  s.done, s.queued > 0 ? age(s.oldest_s) : "-", 100 * s.share, trials, gflops, spark(s.curve));
  const size_t room = style.width > 6 ? style.width - 6 : 0;
  out += "      " + shown(s.withheld ? "(belongs to another token)" : s.title, room) + "\n";
  if (const std::string by = whose(s); !by.empty()) out += "      " + shown(by, room) + "\n";
  if (const std::string best = best_text(s.summary); !best.empty())
    out += "      best: " + shown(best, room > 6 ? room - 6 : 0) + "\n";
  if (!s.connected) out += "      (disconnected)\n";
  if (s.poisoned > 0)
    out += fmt::format("      {} given up: several devices lost {}\n",
                       s.poisoned == 1 ? "1 job" : fmt::format("{} jobs", s.poisoned), s.poisoned == 1 ? "it" : "them");
  return out;
}

}  // namespace

std::string state_text(const wire::FleetStatus& status, const TextStyle& style) {
  std::string out = fmt::format("tracker {}, up {}; {} queued, {} leased", shown(status.version), age(status.uptime_s),
                                status.queued, status.leased);
  if (status.queued > 0) out += fmt::format(", the oldest waits {}", age(status.oldest_s));
  out += "\n\n" + heading(fmt::format("devices ({})", status.devices.size()), style) + "\n";
  if (!status.devices.empty())
    out += fmt::format("  {:<24} {:<11} {:>5} {:>8} {:>6} {:>9} {:>7} {:>6} {:>8}\n", "", "", "busy", "jobs/min",
                       "leased", "done", "failed", "temp", "clock");
  for (const wire::DeviceStatus& device : status.devices) out += device_lines(device, style);
  out += "\n" + heading(fmt::format("sessions ({})", status.sessions.size()), style) + "\n";
  if (!status.sessions.empty())
    out += fmt::format("  {:<12} {:>6} {:>6} {:>8} {:>8} {:>6} {:>11} {:>9}  {}\n", "", "queued", "leased", "done",
                       "oldest", "share", "trials", "GFLOPS", "best so far");
  for (const wire::SessionStatus& session : status.sessions) out += session_lines(session, style);
  out += "\nresults";
  for (const auto& [name, count] : status.results)
    if (count > 0) out += fmt::format("  {} {}", shown(name), count);
  return out + "\n";
}

}  // namespace hone::tracker
