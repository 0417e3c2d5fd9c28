// A hostile tracker: sends each client the bytes of a script, message by message, whatever the client says.
#pragma once

#include <string>
#include <vector>

#include "rpc/wire/access/address.h"

namespace hone::fuzz {

class RawServer {
 public:
  /// The process's one, on a Unix socket in a temporary folder that goes at its end. It is never destroyed: its threads
  /// may be at work till then.
  static RawServer& shared();
  const wire::Address& address() const;
  /// The next connection gets the first message, and so on; a connection that ends early leaves the rest to the next.
  /// The last one is repeated to each connection that comes after it.
  void play(std::vector<std::string> messages);

 private:
  explicit RawServer(const std::string& socket);
  ~RawServer() = delete;
  struct Impl;
  Impl* const impl_;
};

}  // namespace hone::fuzz
