#include "rpc/gate/http_tls.h"

#include <fmt/format.h>
#include <openssl/ssl.h>
#include <sys/stat.h>

#include "base/log.h"
#include "rpc/wire/access/openssl.h"
#include "rpc/wire/access/pem.h"
#include "rpc/wire/access/secret_file.h"

namespace hone::gate {
namespace {

namespace ssl = boost::asio::ssl;
constexpr auto kLook = std::chrono::seconds(5);

}  // namespace

StatusOr<std::unique_ptr<HttpTls>> HttpTls::make(const ServerTls& files, const Clock& clock) {
  std::unique_ptr<HttpTls> out(new HttpTls(files, clock));
  out->stamp_ = out->stamp();
  out->looked_ = clock.now();
  HONE_RETURN_IF_ERROR(out->load());
  return out;
}

Status HttpTls::load() {
  HONE_RETURN_IF_ERROR(check_server_tls(files_));
  HONE_ASSIGN_OR_RETURN(std::string certificate, wire::read_small_file(files_.certificate));
  auto fresh = std::make_shared<ssl::context>(ssl::context::tls_server);
  SSL_CTX_set_min_proto_version(fresh->native_handle(), TLS1_2_VERSION);
  boost::system::error_code error;
  fresh->use_certificate_chain_file(files_.certificate, error);
  if (!error) fresh->use_private_key_file(files_.key, ssl::context::pem, error);
  if (!error && !files_.client_ca.empty()) {
    fresh->set_verify_mode(ssl::verify_peer);
    fresh->load_verify_file(files_.client_ca, error);
  }
  if (error) return absl::InvalidArgumentError(fmt::format("--tls-cert {}: {}", files_.certificate, error.message()));
  // OpenSSL resumes no session of a client with a certificate without one.
  static constexpr unsigned char kId[] = "hone";
  SSL_CTX_set_session_id_context(fresh->native_handle(), kId, sizeof(kId));
  certificate_ = std::move(certificate);
  context_ = std::move(fresh);
  return absl::OkStatus();
}

std::string HttpTls::stamp() const {
  std::string out;
  for (const std::string& path : {files_.certificate, files_.key, files_.client_ca}) {
    struct stat info {};
    if (!path.empty() && stat(path.c_str(), &info) == 0)
      out += fmt::format("{} {} {}.{};", info.st_ino, info.st_size, info.st_mtim.tv_sec, info.st_mtim.tv_nsec);
  }
  return out;
}

std::shared_ptr<ssl::context> HttpTls::context() {
  const auto now = clock_.now();
  if (now - looked_ < kLook) return context_;
  looked_ = now;
  if (std::string fresh = stamp(); fresh != stamp_) {
    stamp_ = std::move(fresh);
    if (const Status status = load(); !status.ok())
      log::error("{}; HTTP keeps the certificate it has", message_of(status));
  }
  return context_;
}

bool HttpTls::is_for(const std::string& host) const { return wire::certificate_is_for(certificate_, host); }

std::string peer_certificate(const SSL* connection) {
  const wire::openssl::Certificate certificate(SSL_get1_peer_certificate(connection));
  return certificate ? wire::openssl::to_pem([&](BIO* out) { PEM_write_bio_X509(out, certificate.get()); }) : "";
}

}  // namespace hone::gate
