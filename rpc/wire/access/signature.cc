#include "rpc/wire/access/signature.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/rand.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

#include "base/check.h"
#include "rpc/wire/access/openssl.h"
#include "rpc/wire/access/secret_file.h"

namespace hone::wire {
namespace {

constexpr size_t kEd25519Bytes = 64, kEd25519KeyBytes = 32;

EVP_PKEY* pkey(const std::shared_ptr<void>& key) { return static_cast<EVP_PKEY*>(key.get()); }
std::shared_ptr<void> shared(EVP_PKEY* key) {
  return {key, [](void* k) { EVP_PKEY_free(static_cast<EVP_PKEY*>(k)); }};
}

using Digest = std::unique_ptr<EVP_MD_CTX, openssl::Deleter<EVP_MD_CTX_free>>;

const unsigned char* bytes_of(std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); }

Status bad_file(const std::string& path, std::string_view why) {
  ERR_clear_error();
  return absl::InvalidArgumentError(fmt::format("{}: {}", path, why));
}

std::string hex(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) out += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return out;
}

// All of `text` in a new file; an existing one is left as it is.
Status write_new_file(const std::string& path, const std::string& text, mode_t mode) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  if (fd < 0) return bad_file(path, std::strerror(errno));
  const ssize_t written = write(fd, text.data(), text.size());
  const bool complete = written == static_cast<ssize_t>(text.size()) && fsync(fd) == 0;
  const int error = errno;
  close(fd);
  if (complete) return absl::OkStatus();
  unlink(path.c_str());
  return bad_file(path, std::strerror(error));
}

std::string public_pem(EVP_PKEY* key) {
  return openssl::to_pem([&](BIO* out) { PEM_write_bio_PUBKEY(out, key); });
}

}  // namespace

std::string sha256(std::string_view data) {
  std::string out(32, '\0');
  unsigned size = 0;
  HONE_ICHECK(EVP_Digest(data.data(), data.size(), reinterpret_cast<unsigned char*>(out.data()), &size, EVP_sha256(),
                         nullptr) == 1);
  return out;
}

std::string random_bytes(size_t count) {
  std::string out(count, '\0');
  HONE_ICHECK(RAND_bytes(reinterpret_cast<unsigned char*>(out.data()), static_cast<int>(count)) == 1);
  return out;
}

PublicKey::PublicKey(std::shared_ptr<void> key) : key_(std::move(key)) {
  fingerprint_ = hex(sha256(raw()).substr(0, 8));
}

std::string PublicKey::raw() const {
  std::string bytes(kEd25519KeyBytes, '\0');
  size_t size = bytes.size();
  HONE_ICHECK(EVP_PKEY_get_raw_public_key(pkey(key_), reinterpret_cast<unsigned char*>(bytes.data()), &size) == 1);
  return bytes;
}

StatusOr<PublicKey> PublicKey::from_raw(const std::string& bytes) {
  EVP_PKEY* key = bytes.size() == kEd25519KeyBytes
                      ? EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, bytes_of(bytes), bytes.size())
                      : nullptr;
  ERR_clear_error();
  if (!key) return absl::InvalidArgumentError("not a public key for Ed25519");
  return PublicKey(shared(key));
}

StatusOr<PublicKey> PublicKey::load(const std::string& path) {
  HONE_ASSIGN_OR_RETURN(const std::string text, read_small_file(path));
  const openssl::Bio in = openssl::reader(text);
  openssl::Key key(PEM_read_bio_PUBKEY(in.get(), nullptr, openssl::no_pass_phrase, nullptr));
  if (!key) {
    const bool is_private = text.find("PRIVATE KEY") != std::string::npos;
    return bad_file(path, is_private ? "a private key, which stays with the builder; the public one is in its file .pub"
                                     : "expected a public key in PEM");
  }
  if (EVP_PKEY_get_id(key.get()) != EVP_PKEY_ED25519) return bad_file(path, "not a key for Ed25519");
  if (openssl::Key(PEM_read_bio_PUBKEY(in.get(), nullptr, openssl::no_pass_phrase, nullptr)))
    return bad_file(path, "more than one key");
  ERR_clear_error();
  return PublicKey(shared(key.release()));
}

bool PublicKey::verifies(std::string_view message, std::string_view signature) const {
  const Digest state(EVP_MD_CTX_new());
  const bool good =
      signature.size() == kEd25519Bytes &&
      EVP_DigestVerifyInit(state.get(), nullptr, nullptr, nullptr, pkey(key_)) == 1 &&
      EVP_DigestVerify(state.get(), bytes_of(signature), signature.size(), bytes_of(message), message.size()) == 1;
  ERR_clear_error();
  return good;
}

StatusOr<SigningKey> SigningKey::load_or_make(const std::string& path) {
  if (struct stat info{}; stat(path.c_str(), &info) != 0 && errno == ENOENT) {
    EVP_PKEY* made = EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519");
    HONE_ICHECK(made != nullptr);
    const openssl::Key key(made);
    const std::string pem = openssl::to_pem(
        [&](BIO* out) { PEM_write_bio_PKCS8PrivateKey(out, made, nullptr, nullptr, 0, nullptr, nullptr); });
    // The public one first: where the private one is, both are.
    unlink((path + ".pub").c_str());
    HONE_RETURN_IF_ERROR(write_new_file(path + ".pub", public_pem(made), 0644));
    HONE_RETURN_IF_ERROR(write_new_file(path, pem, 0600));
  }
  HONE_ASSIGN_OR_RETURN(const std::string text, read_secret_file(path));
  openssl::Key key = openssl::read_key(text);
  if (!key) return bad_file(path, "expected a private key in PEM without a pass phrase");
  if (EVP_PKEY_get_id(key.get()) != EVP_PKEY_ED25519) return bad_file(path, "not a key for Ed25519");
  return SigningKey(shared(key.release()));
}

std::string SigningKey::sign(std::string_view message) const {
  const Digest state(EVP_MD_CTX_new());
  std::string out(kEd25519Bytes, '\0');
  size_t size = out.size();
  HONE_ICHECK(EVP_DigestSignInit(state.get(), nullptr, nullptr, nullptr, pkey(key_)) == 1 &&
              EVP_DigestSign(state.get(), reinterpret_cast<unsigned char*>(out.data()), &size, bytes_of(message),
                             message.size()) == 1);
  return out;
}

}  // namespace hone::wire
