// hone-builder: started by the device agent, which talks to it over file descriptor 3. The only one of the agent's
// processes with compilers.
#include <iostream>

#include "base/log.h"
#include "base/text.h"
#include "rpc/agent/build/builder.h"

int main(int argc, char** argv) {
  hone::init_log("hone-builder");
  const auto arguments = hone::agent::parse_child_arguments(argc, argv);
  if (!arguments) {
    std::cerr << "hone-builder: started by device-agent, not by hand\n";
    return 2;
  }
  const hone::Status status = hone::agent::serve_builds(*arguments, &hone::agent::build_module);
  if (absl::IsUnavailable(status)) return 0;  // the agent has gone
  std::cerr << "hone-builder: " << hone::clean_line(hone::message_of(status)) << "\n";
  return 70;
}
