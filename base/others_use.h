// How much of the machine's cores other processes used while something was timed, by the kernel's own account. A
// neighbour on a core that the timed code does not use shares caches and memory with it, yet none of its threads waits
// for it. Needs no memory of a quiet machine, so it works where there never was one.
#pragma once

#include <deque>
#include <optional>
#include <string_view>

namespace hone {

/// Seconds since boot, over all cores.
struct CpuAccount {
  double busy = 0;    ///< used by any process or the kernel
  double stolen = 0;  ///< stolen: given to others by a hypervisor
};

/// From the text of /proc/stat; nothing when it does not begin as expected.
std::optional<CpuAccount> parse_cpu_account(std::string_view text, double ticks_per_second);

/// /proc/stat, opened once, so that a sandboxed process can go on reading it.
class CpuAccountFile {
 public:
  CpuAccountFile();
  ~CpuAccountFile();
  CpuAccountFile(const CpuAccountFile&) = delete;
  CpuAccountFile& operator=(const CpuAccountFile&) = delete;
  std::optional<CpuAccount> read() const;

 private:
  int fd_;
};

/// Sums the account over the timed stretches. The kernel counts in ticks of up to 10 ms: a job that was timed for less
/// than 0.5 s is judged together with those just before it.
class OthersUse {
 public:
  /// `cores`: of the machine.
  explicit OthersUse(int cores) : cores_(cores) {}

  void begin_job();
  /// Something was timed for this long, which used `own_cores` cores on average.
  void add(double seconds, double own_cores, const CpuAccount& before, const CpuAccount& after);
  /// Cores' worth of time that others used: everything beyond the own cores, and stolen time.
  double cores() const;
  /// True when others used at least a quarter of a core, and a tenth of the cores that were not own.
  bool disturbs() const;

 private:
  struct Span {
    double seconds = 0, own = 0, busy = 0, stolen = 0;
    bool of_job = false;
  };
  const int cores_;
  std::deque<Span> spans_;  ///< oldest first
};

}  // namespace hone
