#include "tracker/gate/certificates.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include <array>
#include <memory>

namespace hone::tracker {
namespace {

constexpr long kDay = 24 * 3600, kCaDays = 3650, kDays = 730, kEarlier = 3600;

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
using Extension = std::unique_ptr<X509_EXTENSION, Deleter<X509_EXTENSION_free>>;

Status failed(std::string_view what) {
  char text[256] = "";
  ERR_error_string_n(ERR_get_error(), text, sizeof(text));
  ERR_clear_error();
  return absl::InternalError(fmt::format("OpenSSL: {}: {}", what, text));
}

bool is_ip(const std::string& host) {
  std::array<unsigned char, 16> out;
  return inet_pton(AF_INET, host.c_str(), out.data()) == 1 || inet_pton(AF_INET6, host.c_str(), out.data()) == 1;
}

template <class Write>
std::string to_pem(Write write) {
  const Bio out(BIO_new(BIO_s_mem()));
  write(out.get());
  char* text = nullptr;
  const long size = BIO_get_mem_data(out.get(), &text);
  return {text, static_cast<size_t>(size)};
}

KeyPair pem_of(X509* certificate, EVP_PKEY* key) {
  return {to_pem([&](BIO* out) { PEM_write_bio_X509(out, certificate); }),
          to_pem([&](BIO* out) { PEM_write_bio_PrivateKey(out, key, nullptr, nullptr, 0, nullptr, nullptr); })};
}

bool add_entry(X509_NAME* name, const char* field, const std::string& text) {
  return text.empty() || X509_NAME_add_entry_by_txt(name, field, MBSTRING_UTF8, reinterpret_cast<const unsigned char*>(text.data()), static_cast<int>(text.size()), -1, 0) == 1;
}

bool add_extension(X509* certificate, X509* issuer, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const Extension extension(X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str()));
  return extension && X509_add_ext(certificate, extension.get(), -1) == 1;
}

// Version, serial number, subject, key and times; not signed yet.
StatusOr<Certificate> begin_certificate(EVP_PKEY* key, const std::string& common_name, const std::string& organization, long days) {
  Certificate out(X509_new());
  unsigned char serial[16];
  if (!out || RAND_bytes(serial, sizeof(serial)) != 1) return failed("random bytes");
  serial[0] &= 0x7f;  // positive
  const std::unique_ptr<BIGNUM, Deleter<BN_free>> number(BN_bin2bn(serial, sizeof(serial), nullptr));
  X509_NAME* name = X509_get_subject_name(out.get());
  const bool done = X509_set_version(out.get(), X509_VERSION_3) && BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(out.get())) &&
                    X509_gmtime_adj(X509_getm_notBefore(out.get()), -kEarlier) && X509_gmtime_adj(X509_getm_notAfter(out.get()), days * kDay) &&
                    X509_set_pubkey(out.get(), key) && add_entry(name, "O", organization) && add_entry(name, "CN", common_name);
  if (!done) return failed("a certificate");
  return out;
}

}  // namespace

StatusOr<KeyPair> make_ca(const std::string& common_name) {
  const Key key(EVP_EC_gen("P-256"));
  if (!key) return failed("a key");
  HONE_ASSIGN_OR_RETURN(const Certificate certificate, begin_certificate(key.get(), common_name, "Hone", kCaDays));
  X509* made = certificate.get();
  const bool done = X509_set_issuer_name(made, X509_get_subject_name(made)) && add_extension(made, made, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") &&
                    add_extension(made, made, NID_key_usage, "critical,keyCertSign,cRLSign") && add_extension(made, made, NID_subject_key_identifier, "hash") &&
                    X509_sign(made, key.get(), EVP_sha256()) > 0;
  if (!done) return failed("the CA");
  return pem_of(made, key.get());
}

StatusOr<KeyPair> make_certificate(const KeyPair& ca, const CertificateRequest& request) {
  const Certificate issuer(PEM_read_bio_X509(Bio(BIO_new_mem_buf(ca.certificate.data(), static_cast<int>(ca.certificate.size()))).get(), nullptr, nullptr, nullptr));
  const Key issuer_key(PEM_read_bio_PrivateKey(Bio(BIO_new_mem_buf(ca.key.data(), static_cast<int>(ca.key.size()))).get(), nullptr, nullptr, nullptr));
  const Key key(EVP_EC_gen("P-256"));
  if (!issuer || !issuer_key || !key) return failed("the CA's certificate and key");
  HONE_ASSIGN_OR_RETURN(const Certificate certificate, begin_certificate(key.get(), request.common_name, request.organization, kDays));
  std::string names;
  for (const std::string& host : request.hosts) names += fmt::format("{}{}:{}", names.empty() ? "" : ",", is_ip(host) ? "IP" : "DNS", host);
  X509* made = certificate.get();
  const bool done = X509_set_issuer_name(made, X509_get_subject_name(issuer.get())) && add_extension(made, issuer.get(), NID_basic_constraints, "critical,CA:FALSE") &&
                    add_extension(made, issuer.get(), NID_key_usage, "critical,digitalSignature") &&
                    add_extension(made, issuer.get(), NID_ext_key_usage, request.server ? "serverAuth" : "clientAuth") &&
                    add_extension(made, issuer.get(), NID_subject_key_identifier, "hash") && add_extension(made, issuer.get(), NID_authority_key_identifier, "keyid") &&
                    (names.empty() || add_extension(made, issuer.get(), NID_subject_alt_name, names)) && X509_sign(made, issuer_key.get(), EVP_sha256()) > 0;
  if (!done) return failed(fmt::format("the certificate of {}", request.common_name));
  return pem_of(made, key.get());
}

std::string first_host(const std::string& certificate) {
  const Certificate read(PEM_read_bio_X509(Bio(BIO_new_mem_buf(certificate.data(), static_cast<int>(certificate.size()))).get(), nullptr, nullptr, nullptr));
  ERR_clear_error();
  if (!read) return "";
  const std::unique_ptr<GENERAL_NAMES, Deleter<GENERAL_NAMES_free>> names(
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(read.get(), NID_subject_alt_name, nullptr, nullptr)));
  if (!names || sk_GENERAL_NAME_num(names.get()) == 0) return "";
  const GENERAL_NAME* first = sk_GENERAL_NAME_value(names.get(), 0);
  const ASN1_STRING* value = first->type == GEN_IPADD ? first->d.iPAddress : first->type == GEN_DNS ? first->d.dNSName : nullptr;
  if (!value) return "";
  if (first->type == GEN_DNS) return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(value)), static_cast<size_t>(ASN1_STRING_length(value))};
  char text[INET6_ADDRSTRLEN] = "";
  inet_ntop(ASN1_STRING_length(value) == 4 ? AF_INET : AF_INET6, ASN1_STRING_get0_data(value), text, sizeof(text));
  return text;
}

StatusOr<std::string> random_token() {
  std::array<unsigned char, 32> bytes;
  if (RAND_bytes(bytes.data(), bytes.size()) != 1) return failed("random bytes");
  std::string out;
  for (const unsigned char byte : bytes) out += fmt::format("{:02x}", byte);
  return out;
}

}  // namespace hone::tracker
