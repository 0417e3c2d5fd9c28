// Other work of the machine while one of its processes was measured. On a core that is shared, long runs are
// interrupted and short ones are often not, so that ratios are off: a row says how busy others were.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>

namespace hone::bench {

class OthersUse {
 public:
  /// `proc` is where the kernel's accounts are.
  explicit OthersUse(std::string proc = "/proc") : proc_(std::move(proc)) {}

  /// The process `pid` is measured from now on, until end(); any number of times, of any process. Where an account
  /// cannot be read nothing is counted.
  void begin(pid_t pid);
  void end(std::chrono::duration<double> elapsed);
  /// How many CPUs others kept busy on average between begin() and end(): all processes of the machine but the one
  /// measured, and time that a hypervisor took.
  double cpus() const;

 private:
  double busy_ticks() const;
  double own_ticks() const;

  std::string proc_;
  pid_t pid_ = 0;
  double busy_before_ = 0, own_before_ = 0;
  double ticks_ = 0, seconds_ = 0;
};

}  // namespace hone::bench
