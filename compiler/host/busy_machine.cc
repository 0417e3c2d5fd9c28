#include "compiler/host/busy_machine.h"

#include <fmt/format.h>
#include <time.h>
#include <unistd.h>

#include <memory>

namespace hone {
namespace {

// Seconds on CPUs of all threads of this process.
double own_seconds() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

ReadCpuAccount of_this_machine() {
  return [file = std::make_shared<CpuAccountFile>()] { return file->read(); };
}

}  // namespace

BusyMachine::BusyMachine(ReadCpuAccount account, const Clock* clock)
    : account_(account ? std::move(account) : of_this_machine()),
      clock_(clock ? *clock : steady_),
      since_(clock_.now()),
      own_before_(own_seconds()),
      before_(account_()) {}

double BusyMachine::seconds() const { return std::chrono::duration<double>(clock_.now() - since_).count(); }

std::string BusyMachine::told() const {
  const std::optional<CpuAccount> after = account_();
  if (!before_ || !after) return "";
  const int cores = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  OthersUse use(cores);
  use.begin_job();
  use.add(seconds(), (own_seconds() - own_before_) / seconds(), *before_, *after);
  return use.disturbs() ? fmt::format("others kept {:.1f} of this machine's {} CPUs busy", use.cores(), cores) : "";
}

}  // namespace hone
