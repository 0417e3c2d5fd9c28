// The program tophub.
#include <csignal>
#include <iostream>

#include "base/log.h"
#include "tuner/cli/tophub_hooks.h"

int main(int argc, char** argv) {
  hone::init_log("tophub");
  std::signal(SIGXFSZ, SIG_IGN);  // a database that may not grow is an error to report, not an end
  const hone::OperatorTable operators = hone::standard_operators();
  return hone::db::tophub_main(argc, argv, hone::tophub_hooks(operators), std::cout);
}
