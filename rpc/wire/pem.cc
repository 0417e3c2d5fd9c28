#include "rpc/wire/pem.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <memory>

namespace hone::wire {
namespace {

template <auto free_function>
struct Deleter {
  template <class T>
  void operator()(T* object) const {
    free_function(object);
  }
};
using Bio = std::unique_ptr<BIO, Deleter<BIO_free_all>>;
using Certificate = std::unique_ptr<X509, Deleter<X509_free>>;
using Key = std::unique_ptr<EVP_PKEY, Deleter<EVP_PKEY_free>>;

Bio reader(const std::string& text) { return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size()))); }

// OpenSSL would ask the terminal for the pass phrase of an encrypted key.
int no_pass_phrase(char*, int, int, void*) { return 0; }

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

Status check_certificates(const std::string& pem) {
  const Bio bio = reader(pem);
  int count = 0;
  while (Certificate(PEM_read_bio_X509(bio.get(), nullptr, no_pass_phrase, nullptr))) ++count;
  const bool at_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  ERR_clear_error();
  if (count == 0) return absl::InvalidArgumentError("holds no certificate (PEM is expected)");
  if (!at_end) return absl::InvalidArgumentError("holds a certificate that cannot be read");
  return absl::OkStatus();
}

Status check_key_pair(const std::string& certificates, const std::string& key) {
  const Certificate certificate(PEM_read_bio_X509(reader(certificates).get(), nullptr, no_pass_phrase, nullptr));
  const Key secret(PEM_read_bio_PrivateKey(reader(key).get(), nullptr, no_pass_phrase, nullptr));
  ERR_clear_error();
  if (!certificate) return absl::InvalidArgumentError("no certificate (PEM is expected)");
  if (!secret) return absl::InvalidArgumentError("no private key without a pass phrase (PEM is expected)");
  const bool fit = X509_check_private_key(certificate.get(), secret.get()) == 1;
  ERR_clear_error();
  return fit ? absl::OkStatus() : absl::InvalidArgumentError("the key is not the certificate's");
}

StatusOr<CertificateSubject> certificate_subject(const std::string& pem) {
  const Certificate certificate(PEM_read_bio_X509(reader(pem).get(), nullptr, no_pass_phrase, nullptr));
  ERR_clear_error();
  if (!certificate) return absl::InvalidArgumentError("not a certificate");
  X509_NAME* name = X509_get_subject_name(certificate.get());
  return CertificateSubject{entry(name, NID_commonName), entry(name, NID_organizationName)};
}

bool certificate_is_for(const std::string& pem, const std::string& host) {
  const Certificate certificate(PEM_read_bio_X509(reader(pem).get(), nullptr, no_pass_phrase, nullptr));
  ERR_clear_error();
  return certificate && (X509_check_ip_asc(certificate.get(), host.c_str(), 0) == 1 || X509_check_host(certificate.get(), host.data(), host.size(), 0, nullptr) == 1);
}

}  // namespace hone::wire
