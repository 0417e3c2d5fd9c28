// The tracker program as the benchmark starts it: a process of its own, on loopback, with TLS and tokens unless told
// otherwise.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/child_process.h"
#include "rpc/wire/client_options.h"
#include "tests/fakes/temporary_folder.h"

namespace hone::bench {

class TrackerProcess {
 public:
  /// Errors have the program's own words.
  static StatusOr<TrackerProcess> start(bool plain, std::vector<std::string> more = {});

  /// How an agent dials it.
  wire::ClientOptions agent() const;
  /// How a session dials it.
  wire::ClientOptions session() const;
  /// SIGKILL, and the same again on the same port.
  Status restart();
  /// The process's resident bytes now; its processor time so far, in seconds.
  uint64_t resident_bytes() const;
  double cpu_seconds() const;

 private:
  TrackerProcess() = default;
  Status protect();
  Status spawn();

  std::unique_ptr<TemporaryFolder> folder_ = std::make_unique<TemporaryFolder>();
  ChildProcess child_;
  std::vector<std::string> argv_;
  wire::Address address_;
  wire::Credentials agent_, session_;
};

}  // namespace hone::bench
