#include "tracker/gate/certificates.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include <array>

#include "rpc/wire/address.h"
#include "rpc/wire/openssl.h"

namespace hone::tracker {
namespace {

constexpr long kDay = 24 * 3600, kCaDays = 3650, kDays = 730, kEarlier = 3600;

using namespace wire::openssl;
using Extension = std::unique_ptr<X509_EXTENSION, Deleter<X509_EXTENSION_free>>;

Status failed(std::string_view what) {
  char text[256] = "";
  ERR_error_string_n(ERR_get_error(), text, sizeof(text));
  ERR_clear_error();
  return absl::InternalError(fmt::format("OpenSSL: {}: {}", what, text));
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
  const Certificate issuer = read_certificate(ca.certificate);
  const Key issuer_key = read_key(ca.key);
  const Key key(EVP_EC_gen("P-256"));
  if (!issuer || !issuer_key || !key) return failed("the CA's certificate and key");
  HONE_ASSIGN_OR_RETURN(const Certificate certificate, begin_certificate(key.get(), request.common_name, request.organization, kDays));
  std::string names;
  for (const std::string& host : request.hosts) names += fmt::format("{}{}:{}", names.empty() ? "" : ",", wire::is_ip(host) ? "IP" : "DNS", host);
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
  const Certificate read = read_certificate(certificate);
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
