// What the machine's cores did for others while something was timed, by the kernel's own account: a neighbour on a core
// that the candidate does not use shares caches and memory with it, and none of its threads waits for that. It needs no
// memory of a quiet machine, so that it tells where there never was one.
#pragma once

#include <deque>
#include <optional>
#include <string_view>

namespace hone::agent {

/// Since the machine began, over all of its cores, in seconds.
struct CpuAccount {
  double busy = 0;    ///< of any process or the kernel
  double stolen = 0;  ///< that a hypervisor gave to others
};

/// From the text of /proc/stat; nothing when it does not begin as that does.
std::optional<CpuAccount> parse_cpu_account(std::string_view text, double ticks_per_second);

/// /proc/stat, opened once so that a process that may open nothing any more can go on reading.
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

/// Sums the account over what is timed. The kernel counts in ticks of up to 10 ms: a job that was timed for less than
/// 0.5 s is judged together with those just before it.
class OthersUse {
 public:
  /// `cores`: of the machine.
  explicit OthersUse(int cores) : cores_(cores) {}

  void begin_job();
  /// For so long something was timed on `own_cores` cores.
  void add(double seconds, int own_cores, const CpuAccount& before, const CpuAccount& after);
  /// Cores' worth of time that others had: what was used beyond all that was the candidate's to use, and what was
  /// stolen.
  double cores() const;
  /// True when others had a quarter of a core at least, and a tenth of those that were theirs to use.
  bool disturbs() const;

 private:
  struct Span {
    double seconds = 0, own = 0, busy = 0, stolen = 0;
    bool of_job = false;
  };
  const int cores_;
  std::deque<Span> spans_;  ///< oldest first
};

}  // namespace hone::agent
