#include <iostream>

#include "base/log.h"
#include "db/cli/commands.h"

int main(int argc, char** argv) {
  hone::init_log("tophub");
  // The compiler's names for workloads and targets come in here.
  const hone::db::CompilerHooks hooks;
  return hone::db::tophub_main(argc, argv, hooks, std::cout);
}
