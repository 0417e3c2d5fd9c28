#include "db/rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "db/plausible.h"

namespace hone::db {
namespace {

// Quantile `q` of sorted, non-empty `values`, linear between neighbours.
double quantile(const std::vector<double>& values, double q) {
  const double at = q * static_cast<double>(values.size() - 1);
  const size_t below = static_cast<size_t>(at);
  const double above = values[std::min(below + 1, values.size() - 1)];
  return values[below] + (at - static_cast<double>(below)) * (above - values[below]);
}

// ", 61 to 64 °C"; ", 61 °C" where the other is not known; "" where neither is.
std::string from_to(const std::optional<double>& before, const std::optional<double>& after, const char* unit) {
  if (before && after) return fmt::format(", {:.0f} to {:.0f} {}", *before, *after, unit);
  if (before || after) return fmt::format(", {:.0f} {}", before ? *before : *after, unit);
  return "";
}

bool is_temperature(const std::optional<double>& x) { return !x || (std::isfinite(*x) && std::abs(*x) <= 1000); }
bool is_clock(const std::optional<double>& x) { return !x || (std::isfinite(*x) && *x >= 0 && *x <= 1e6); }

}  // namespace

std::string MachineState::text() const {
  std::string out = governor.empty() ? "" : ", governor " + governor;
  out += from_to(temperature_before_c, temperature_after_c, "°C");
  out += from_to(clock_before_mhz, clock_after_mhz, "MHz");
  if (!throttled.empty()) out += ", throttled: " + throttled;
  return out.empty() ? out : out.substr(2);
}

std::string disturbed_by(const std::optional<MachineState>& machine) {
  return machine && !machine->throttled.empty() ? "throttled: " + machine->throttled : "others used the machine";
}

double median_of(std::vector<double> times) {
  if (times.empty()) return 0;
  std::sort(times.begin(), times.end());
  return quantile(times, 0.5);
}

double spread_of(std::vector<double> times) {
  if (times.size() < 2) return 0;
  std::sort(times.begin(), times.end());
  return (quantile(times, 0.75) - quantile(times, 0.25)) / quantile(times, 0.5);
}

std::vector<double> parse_times(std::string_view json) {
  const std::string text(json);
  std::vector<double> times;
  for (const char* at = text.c_str(); *at && *at != ']';) {
    char* end = nullptr;
    const double value = std::strtod(at + 1, &end);  // past "[" or ","
    if (end == at + 1) break;
    times.push_back(value);
    at = end;
  }
  return times;
}

bool believable(double seconds) { return seconds >= kLeastSeconds && seconds <= kMostSeconds; }

Status validate(const TrialRow& trial) {
  const auto bad = [&](std::string why) {
    return absl::InvalidArgumentError(
        fmt::format("trial {}/{}/{}: {}", trial.session, trial.seq, trial.candidate, why));
  };
  const std::pair<const char*, const std::string*> texts[] = {{"session", &trial.session},
                                                              {"workload", &trial.workload},
                                                              {"target", &trial.target},
                                                              {"space", &trial.space},
                                                              {"status", &trial.status}};
  for (const auto& [name, text] : texts)
    if (text->empty()) return bad(fmt::format("{} is empty", name));
  if (trial.seq < 0 || trial.candidate < 0) return bad("seq and candidate must be at least 0");
  if (trial.created_at <= 0) return bad("created_at must be a Unix time in ms");
  for (const double t : trial.times)
    if (!believable(t)) return bad(fmt::format("time {} s is not from {} to {}", t, kLeastSeconds, kMostSeconds));
  if ((trial.status == "ok") != trial.seconds.has_value())
    return bad("seconds must be given exactly when the status is ok");
  if (trial.seconds && !believable(*trial.seconds))
    return bad(fmt::format("seconds {} are not from {} to {}", *trial.seconds, kLeastSeconds, kMostSeconds));
  if (trial.default_seconds && !(trial.disturbed && trial.confirmed))
    return bad("only a trial that is confirmed and disturbed may hold the default's seconds");
  if (trial.default_seconds && !believable(*trial.default_seconds))
    return bad(fmt::format("the default's seconds {} are not from {} to {}", *trial.default_seconds, kLeastSeconds,
                           kMostSeconds));
  if (const auto& m = trial.machine; m) {
    if (!is_temperature(m->temperature_before_c) || !is_temperature(m->temperature_after_c))
      return bad("the machine's temperature is not from -1000 to 1000 °C");
    if (!is_clock(m->clock_before_mhz) || !is_clock(m->clock_after_mhz))
      return bad("the machine's clock is not from 0 to 1000000 MHz");
    if (m->text().empty()) return bad("the machine's state is empty");
  }
  const PhaseSeconds& p = trial.phases;
  for (const double x : {trial.rel_error, trial.max_error, p.queue, p.transfer, p.build, p.check, p.run, p.reference,
                         trial.sentinel_before, trial.sentinel_after})
    if (x < 0) return bad(fmt::format("{} is negative; expected 0 or more", x));
  return absl::OkStatus();
}

Status validate(const BatchRow& batch) {
  const auto bad = [&](std::string why) {
    return absl::InvalidArgumentError(fmt::format("batch {}/{}: {}", batch.session, batch.number, why));
  };
  const std::pair<const char*, const std::string*> texts[] = {
      {"session", &batch.session}, {"workload", &batch.workload}, {"target", &batch.target}, {"space", &batch.space}};
  for (const auto& [name, text] : texts)
    if (text->empty()) return bad(fmt::format("{} is empty", name));
  if (batch.finished <= 0) return bad("finished must be a Unix time in ms");
  for (const int64_t n : {batch.number, batch.trials, batch.known, batch.drifted})
    if (n < 0) return bad(fmt::format("{} is negative; expected 0 or more", n));
  if (!std::isfinite(batch.idle) || batch.idle < 0)
    return bad(fmt::format("idle for {} s; expected 0 or more", batch.idle));
  for (const std::optional<double>& share : {batch.pairwise, batch.peak1, batch.peak5})
    if (share && !(*share >= 0 && *share <= 1)) return bad(fmt::format("{} is not a share from 0 to 1", *share));
  return absl::OkStatus();
}

}  // namespace hone::db
