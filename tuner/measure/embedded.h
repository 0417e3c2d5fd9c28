// A tracker and a device agent that the tuner starts itself when there is no --tracker.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/child_process.h"
#include "base/status.h"
#include "rpc/wire/access/address.h"

namespace hone {

struct EmbeddedOptions {
  /// The programs, and the arguments before those added here; tests use others.
  std::vector<std::string> tracker, agent;
  std::string temp_dir = "/tmp";  ///< where the private folder is made
  int restarts = 3;               ///< of each program, should it die
};

/// Programs that lie beside this one.
EmbeddedOptions sibling_programs();

/// Two child processes and the private folder (0700) with their socket and logs. They die with this process in every
/// case; the destructor ends them and removes the folder. The next tuner removes folders that killed ones left behind.
class Embedded {
 public:
  /// `target_kind`: the devices that the agent offers. Call it from a thread that lives as long as the process.
  static StatusOr<std::unique_ptr<Embedded>> start(EmbeddedOptions options, const std::string& target_kind);
  ~Embedded();
  Embedded(const Embedded&) = delete;
  Embedded& operator=(const Embedded&) = delete;

  const wire::Address& address() const { return address_; }
  /// Restarts a program that died. An error, with its name and the last line it wrote, when it dies again and again;
  /// no_device_error when this machine has no such device, a usage error when a program says that it cannot work so.
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
