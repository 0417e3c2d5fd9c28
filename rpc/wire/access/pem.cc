#include "rpc/wire/access/pem.h"

#include <openssl/err.h>
#include <openssl/x509v3.h>

#include "rpc/wire/access/openssl.h"

namespace hone::wire {
namespace {

using namespace openssl;

std::string entry(X509_NAME* name, int nid) {
  const int at = X509_NAME_get_index_by_NID(name, nid, -1);
  if (at < 0) return "";
  unsigned char* text = nullptr;
  const int size = ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, at)));
  if (size < 0) return "";
  std::string out(reinterpret_cast<char*>(text), static_cast<size_t>(size));
  OPENSSL_free(text);
  return out;
}

}  // namespace

CertificateSubject openssl::subject_of(X509* certificate) {
  X509_NAME* name = X509_get_subject_name(certificate);
  return {entry(name, NID_commonName), entry(name, NID_organizationName)};
}

Status check_certificates(const std::string& pem) {
  const Bio bio = reader(pem);
  int count = 0;
  while (Certificate(PEM_read_bio_X509(bio.get(), nullptr, no_pass_phrase, nullptr))) ++count;
  const bool at_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  ERR_clear_error();
  if (count == 0) return absl::InvalidArgumentError("holds no certificate; expected PEM");
  if (!at_end) return absl::InvalidArgumentError("holds a certificate that cannot be read");
  return absl::OkStatus();
}

Status check_key_pair(const std::string& certificates, const std::string& key) {
  const Certificate certificate = read_certificate(certificates);
  const Key secret = read_key(key);
  ERR_clear_error();
  if (!certificate) return absl::InvalidArgumentError("expected a certificate in PEM");
  if (!secret) return absl::InvalidArgumentError("expected a private key in PEM without a pass phrase");
  const bool fit = X509_check_private_key(certificate.get(), secret.get()) == 1;
  ERR_clear_error();
  return fit ? absl::OkStatus() : absl::InvalidArgumentError("the key does not belong to the certificate");
}

StatusOr<CertificateSubject> certificate_subject(const std::string& pem) {
  const Certificate certificate = read_certificate(pem);
  ERR_clear_error();
  if (!certificate) return absl::InvalidArgumentError("not a certificate");
  return openssl::subject_of(certificate.get());
}

bool certificate_is_for(const std::string& pem, const std::string& host) {
  const Certificate certificate = read_certificate(pem);
  ERR_clear_error();
  return certificate && (X509_check_ip_asc(certificate.get(), host.c_str(), 0) == 1 ||
                         X509_check_host(certificate.get(), host.data(), host.size(), 0, nullptr) == 1);
}

}  // namespace hone::wire
