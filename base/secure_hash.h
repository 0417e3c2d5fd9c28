// Hashes for identities that others may try to forge.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/hash.h"
#include "base/status.h"

namespace hone {

/// The first 16 bytes of SHA-256 of `data`. It is infeasible to find other bytes with the hash of given ones. Two
/// strings with the same hash can be made with 2^64 tries, which harms only their author. Opens no file and makes no
/// system call, so that sandboxed processes may use it. Where only accidents matter, hash_bytes() is ten times faster.
Hash128 secure_hash(std::string_view data);

/// SHA-256 of bytes that come in parts.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;

  void add(std::string_view bytes);
  /// 64 lower-case hexadecimal digits, of all that was added; nothing may be added behind it.
  std::string hex();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The 64 digits of one text.
std::string sha256_hex(std::string_view data);
/// The 64 digits of a plain file, of any size. InvalidArgument, `PATH: why`, where it cannot be read.
StatusOr<std::string> sha256_of_file(const std::string& path);
/// Whether a text is 64 lower-case hexadecimal digits.
bool is_sha256_hex(std::string_view text);

}  // namespace hone
