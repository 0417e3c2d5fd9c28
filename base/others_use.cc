#include "base/others_use.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>

namespace hone {
namespace {

// 50 ticks of the coarsest clock: a quarter of a core is twelve of them. Our own processes (the supervisor, a tuner
// that stores its trials) do not reach that by chance.
constexpr double kWindow = 0.5;
// With less time too little is known.
constexpr double kLeast = 0.2;
// A smaller neighbour leaves most repeats undisturbed, and their median does not move.
constexpr double kLeastCores = 0.25;
// On a machine of many cores, one or two busy ones do not fill the memory's channels.
constexpr double kShare = 0.1;

}  // namespace

std::optional<CpuAccount> parse_cpu_account(std::string_view text, double ticks_per_second) {
  const std::string line(text.substr(0, text.find('\n')));
  if (!line.starts_with("cpu ")) return std::nullopt;
  unsigned long long user = 0, nice = 0, system = 0, idle = 0, iowait = 0, irq = 0, softirq = 0, steal = 0;
  // The time of guests is included in user time.
  if (std::sscanf(line.c_str(), "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &user, &nice, &system, &idle, &iowait,
                  &irq, &softirq, &steal) != 8)
    return std::nullopt;
  return CpuAccount{static_cast<double>(user + nice + system + irq + softirq) / ticks_per_second,
                    static_cast<double>(steal) / ticks_per_second};
}

CpuAccountFile::CpuAccountFile() : fd_(open("/proc/stat", O_RDONLY | O_CLOEXEC)) {}

CpuAccountFile::~CpuAccountFile() {
  if (fd_ >= 0) close(fd_);
}

std::optional<CpuAccount> CpuAccountFile::read() const {
  char text[256];
  const ssize_t n = fd_ >= 0 ? pread(fd_, text, sizeof text, 0) : -1;
  if (n <= 0) return std::nullopt;
  return parse_cpu_account({text, static_cast<size_t>(n)}, static_cast<double>(sysconf(_SC_CLK_TCK)));
}

void OthersUse::begin_job() {
  double before = 0;
  for (Span& s : spans_) before += s.seconds, s.of_job = false;
  for (; !spans_.empty() && before - spans_.front().seconds >= kWindow; spans_.pop_front())
    before -= spans_.front().seconds;
}

void OthersUse::add(double seconds, double own_cores, const CpuAccount& before, const CpuAccount& after) {
  spans_.push_back({seconds, seconds * own_cores, after.busy - before.busy, after.stolen - before.stolen, true});
}

double OthersUse::cores() const {
  double of_job = 0;
  for (const Span& s : spans_) of_job += s.of_job ? s.seconds : 0;
  Span sum;
  for (const Span& s : spans_) {
    if (of_job >= kWindow && !s.of_job) continue;
    sum.seconds += s.seconds, sum.own += s.own, sum.busy += s.busy, sum.stolen += s.stolen;
  }
  return sum.seconds < kLeast ? 0 : (std::max(0.0, sum.busy - sum.own) + sum.stolen) / sum.seconds;
}

bool OthersUse::disturbs() const {
  double seconds = 0, own = 0;
  for (const Span& s : spans_) seconds += s.seconds, own += s.own;
  const double theirs = seconds > 0 ? cores_ - own / seconds : 0;
  return cores() >= std::max(kLeastCores, kShare * theirs);
}

}  // namespace hone
