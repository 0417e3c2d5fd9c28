#include <iostream>

#include "base/log.h"
#include "compiler/cli/tensorc_flags.h"

int main(int argc, char** argv) {
  CLI::App app;
  hone::TensorcOptions o;
  const hone::OperatorTable operators = hone::standard_operators();
  add_tensorc_flags(app, operators, o);
  hone::init_log("tensorc");
  return hone::run_cli(app, argc, argv, [&] { return hone::run_tensorc(operators, o, std::cout, std::cerr); });
}
