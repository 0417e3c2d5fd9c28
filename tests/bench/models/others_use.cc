#include "tests/bench/models/others_use.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>

namespace hone::bench {

void OthersUse::begin(pid_t pid) {
  pid_ = pid;
  busy_before_ = busy_ticks();
  own_before_ = own_ticks();
}

void OthersUse::end(std::chrono::duration<double> elapsed) {
  const double busy = busy_ticks(), own = own_ticks();
  if (busy_before_ < 0 || own_before_ < 0 || busy < 0 || own < 0) return;
  ticks_ += (busy - busy_before_) - (own - own_before_);
  seconds_ += elapsed.count();
}

double OthersUse::cpus() const {
  return seconds_ > 0 ? std::max(0.0, ticks_ / static_cast<double>(sysconf(_SC_CLK_TCK)) / seconds_) : 0;
}

// The line sums up all CPUs: cpu user nice system idle iowait irq softirq steal ...; -1 where it cannot be read.
double OthersUse::busy_ticks() const {
  std::ifstream in(proc_ + "/stat");
  std::string name;
  double user, nice, system, idle, iowait, irq, softirq, steal;
  if (!(in >> name >> user >> nice >> system >> idle >> iowait >> irq >> softirq >> steal) || name != "cpu") return -1;
  return user + nice + system + irq + softirq + steal;
}

// pid (name) state, then ten fields, then utime and stime. The name may hold anything.
double OthersUse::own_ticks() const {
  std::ifstream in(fmt::format("{}/{}/stat", proc_, pid_));
  std::string text;
  if (!std::getline(in, text, '\0') || text.rfind(')') == std::string::npos) return -1;
  std::istringstream fields(text.substr(text.rfind(')') + 1));
  std::string skipped;
  for (int i = 0; i < 11; ++i) fields >> skipped;
  double user, system;
  return fields >> user >> system ? user + system : -1;
}

}  // namespace hone::bench
