// Ed25519 signatures by keys in PEM files, and SHA-256.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"

namespace hone::wire {

/// The 32 bytes of SHA-256 of `data`.
std::string sha256(std::string_view data);

/// `count` random bytes that cannot be guessed.
std::string random_bytes(size_t count);

/// A public key. Copies share it; safe to use from several threads.
class PublicKey {
 public:
  /// From a file that `PRIVATE.pub` of SigningKey::load_or_make() is a copy of: PEM, one key. InvalidArgument, one line
  /// that names the file, when it cannot be read, or has another kind of key, or a private one.
  static StatusOr<PublicKey> load(const std::string& path);

  /// From the bytes of raw(). InvalidArgument when they are no key.
  static StatusOr<PublicKey> from_raw(const std::string& bytes);

  /// The key itself: 32 bytes.
  std::string raw() const;
  /// Whether `signature` (64 bytes) is one of `message` by this key's owner.
  bool verifies(std::string_view message, std::string_view signature) const;
  /// 16 hexadecimal digits of the key's SHA-256, to tell keys apart.
  const std::string& fingerprint() const { return fingerprint_; }

 private:
  friend class SigningKey;
  explicit PublicKey(std::shared_ptr<void> key);

  std::shared_ptr<void> key_;
  std::string fingerprint_;
};

/// A private key. As PublicKey otherwise.
class SigningKey {
 public:
  /// The key in `path`, which only its owner and group may read. Where there is no such file, a new key is written to
  /// it (mode 0600) and its public key to `path`.pub. InvalidArgument, one line that names the file, when neither can
  /// be done.
  static StatusOr<SigningKey> load_or_make(const std::string& path);

  std::string sign(std::string_view message) const;  ///< 64 bytes
  const PublicKey& public_key() const { return public_key_; }

 private:
  explicit SigningKey(std::shared_ptr<void> key) : key_(std::move(key)), public_key_(key_) {}

  std::shared_ptr<void> key_;
  PublicKey public_key_;
};

}  // namespace hone::wire
