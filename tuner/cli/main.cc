// The tuner program: see cli.md.
#include <sys/ioctl.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <iostream>

#include "base/cli.h"
#include "base/log.h"
#include "base/version/version.h"
#include "compiler/codegen/llvm/machine/host_target.h"
#include "tuner/cli/tuner_flags.h"

namespace {

std::atomic<int> interrupts{0};
static_assert(std::atomic<int>::is_always_lock_free, "written by a signal handler");

void on_signal(int) { ++interrupts; }

hone::TerminalSize terminal_size() {
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0 || size.ws_col == 0) return {};
  return {size.ws_row, size.ws_col};
}

}  // namespace

int main(int argc, char** argv) {
  using namespace hone;
  init_log("tuner");
  struct sigaction action {};
  action.sa_handler = on_signal;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);  // a database that may not grow is an error to report, not an end

  TunerFlags f;
  CommandLine line;
  const OperatorTable operators = standard_operators();
  add_tuner_flags(line, operators, f);
  add_version(line, &compiler_line);
  return run_cli(line, argc, argv, [&] {
    f.read_before = {{kFlagsFile, flags_file(line)}};
    return tune(
        operators, f,
        {std::cout, std::cerr, isatty(STDERR_FILENO) != 0, [] { return interrupts.load(); }, nullptr, terminal_size()});
  });
}
