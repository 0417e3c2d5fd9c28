#include "tracker/service_credentials.h"

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/security/tls_certificate_provider.h>

namespace hone::tracker {
namespace {

constexpr unsigned kReadAgainSeconds = 5;
constexpr std::string_view kBearer = "Bearer ";

std::string text(const grpc::string_ref& from) { return {from.data(), from.size()}; }

}  // namespace

std::shared_ptr<grpc::ServerCredentials> server_credentials(const gate::ServerTls& tls) {
  if (!tls.enabled()) return grpc::InsecureServerCredentials();
  using namespace grpc::experimental;
  const auto provider = tls.client_ca.empty() ? std::make_shared<FileWatcherCertificateProvider>(
                                                    tls.key, tls.certificate, kReadAgainSeconds)
                                              : std::make_shared<FileWatcherCertificateProvider>(
                                                    tls.key, tls.certificate, tls.client_ca, kReadAgainSeconds);
  TlsServerCredentialsOptions options(provider);
  options.watch_identity_key_cert_pairs();
  if (!tls.client_ca.empty()) {
    options.watch_root_certs();
    options.set_cert_request_type(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  }
  return TlsServerCredentials(options);
}

gate::Shown shown_by(const grpc::CallbackServerContext& context) {
  gate::Shown out;
  if (const auto found = context.client_metadata().find("authorization"); found != context.client_metadata().end()) {
    const std::string value = text(found->second);
    if (value.rfind(kBearer, 0) == 0) out.token = value.substr(kBearer.size());
  }
  if (const auto auth = context.auth_context()) {
    const auto certificates = auth->FindPropertyValues("x509_pem_cert");
    if (!certificates.empty()) out.certificate = text(certificates.front());
  }
  return out;
}

grpc::Status refusal_status(const gate::Judgement& judgement) {
  const bool unknown = judgement.reason == gate::Refusal::kNoToken || judgement.reason == gate::Refusal::kBadToken ||
                       judgement.reason == gate::Refusal::kNoCertificate;
  return {unknown ? grpc::StatusCode::UNAUTHENTICATED : grpc::StatusCode::PERMISSION_DENIED, judgement.text};
}

}  // namespace hone::tracker
