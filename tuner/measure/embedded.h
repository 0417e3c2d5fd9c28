// A tracker and a device agent that the tuner starts itself where --tracker names none.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/child_process.h"
#include "base/status.h"
#include "rpc/wire/address.h"

namespace hone {

struct EmbeddedOptions {
  /// Programs and the arguments before those added here; tests put others in their place.
  std::vector<std::string> tracker, agent;
  std::string temp_dir = "/tmp";  ///< where the private folder is made
  int restarts = 3;               ///< of each program, should it die
};

/// Programs that lie beside this one.
EmbeddedOptions sibling_programs();

/// Two child processes and the private folder (0700) with their socket and logs. They die with this process, whatever
/// ends it; the destructor ends them and removes the folder. A folder that a killed tuner left behind is removed by the
/// next.
class Embedded {
 public:
  /// `target_kind`: the devices that the agent offers. Call it from a thread that lives as long as the process.
  static StatusOr<std::unique_ptr<Embedded>> start(EmbeddedOptions options, const std::string& target_kind);
  ~Embedded();
  Embedded(const Embedded&) = delete;
  Embedded& operator=(const Embedded&) = delete;

  const wire::Address& address() const { return address_; }
  /// Starts a program again that died; an error, naming it with the last line it wrote, when it does so again and
  /// again. no_device_error when this machine has no such device.
  Status check();

 private:
  struct Program {
    std::string name;
    std::vector<std::string> argv;
    std::string log;
    ChildProcess child;
    int starts = 0;
  };
  Embedded() = default;
  Status launch(Program& program);

  EmbeddedOptions options_;
  std::string dir_;
  wire::Address address_;
  Program tracker_, agent_;
};

}  // namespace hone
