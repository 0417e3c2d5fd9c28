// A hostile tracker: whoever dials in is sent the bytes of a script, message by message, whatever it says.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "rpc/wire/address.h"

namespace hone::fuzz {

class RawServer {
 public:
  RawServer();  ///< on a Unix socket in a folder of its own
  ~RawServer();
  const wire::Address& address() const;
  /// The next connection gets the first message, and so on; a connection that ends early leaves the rest to the next. The last one is
  /// repeated to each connection that comes after it.
  void play(std::vector<std::string> messages);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace hone::fuzz
