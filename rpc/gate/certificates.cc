#include "rpc/gate/certificates.h"

#include <absl/strings/str_join.h>
#include <arpa/inet.h>
#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <array>

#include "rpc/wire/access/address.h"
#include "rpc/wire/access/openssl.h"
#include "rpc/wire/access/pem.h"

namespace hone::gate {
namespace {

constexpr int64_t kCaSeconds = int64_t{3650} * 24 * 3600, kEarlier = 3600;

using namespace wire::openssl;
using Extension = std::unique_ptr<X509_EXTENSION, Deleter<X509_EXTENSION_free>>;

Status failed(std::string_view what) {
  char text[256] = "";
  ERR_error_string_n(ERR_get_error(), text, sizeof(text));
  ERR_clear_error();
  return absl::InternalError(fmt::format("OpenSSL cannot {}: {}", what, text));
}

KeyPair pem_of(X509* certificate, EVP_PKEY* key) {
  return {to_pem([&](BIO* out) { PEM_write_bio_X509(out, certificate); }),
          to_pem([&](BIO* out) { PEM_write_bio_PrivateKey(out, key, nullptr, nullptr, 0, nullptr, nullptr); })};
}

bool add_entry(X509_NAME* name, const char* field, const std::string& text) {
  return text.empty() ||
         X509_NAME_add_entry_by_txt(name, field, MBSTRING_UTF8, reinterpret_cast<const unsigned char*>(text.data()),
                                    static_cast<int>(text.size()), -1, 0) == 1;
}

bool add_extension(X509* certificate, X509* issuer, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const Extension extension(X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str()));
  return extension && X509_add_ext(certificate, extension.get(), -1) == 1;
}

// Version, serial number, subject, key and times; not signed yet.
StatusOr<Certificate> begin_certificate(EVP_PKEY* key, const std::string& common_name, const std::string& organization,
                                        Validity validity) {
  Certificate out(X509_new());
  unsigned char serial[16];
  if (!out || RAND_bytes(serial, sizeof(serial)) != 1) return failed("draw random bytes");
  serial[0] &= 0x7f;  // positive
  const std::unique_ptr<BIGNUM, Deleter<BN_free>> number(BN_bin2bn(serial, sizeof(serial), nullptr));
  X509_NAME* name = X509_get_subject_name(out.get());
  const bool done = X509_set_version(out.get(), X509_VERSION_3) &&
                    BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(out.get())) &&
                    ASN1_TIME_set(X509_getm_notBefore(out.get()), validity.from) &&
                    ASN1_TIME_set(X509_getm_notAfter(out.get()), validity.until) && X509_set_pubkey(out.get(), key) &&
                    add_entry(name, "O", organization) && add_entry(name, "CN", common_name);
  if (!done) return failed("make a certificate");
  return out;
}

Validity usual(Validity asked, int64_t seconds) {
  const wire::UnixSeconds now = wire::wall_clock();
  return {asked.from ? asked.from : now - kEarlier, asked.until ? asked.until : now + seconds};
}

std::string text_of(const GENERAL_NAME& name) {
  const ASN1_STRING* value = name.type == GEN_IPADD ? name.d.iPAddress
                             : name.type == GEN_DNS ? name.d.dNSName
                                                    : nullptr;
  if (!value) return "";
  if (name.type == GEN_DNS)
    return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(value)),
            static_cast<size_t>(ASN1_STRING_length(value))};
  char text[INET6_ADDRSTRLEN] = "";
  inet_ntop(ASN1_STRING_length(value) == 4 ? AF_INET : AF_INET6, ASN1_STRING_get0_data(value), text, sizeof(text));
  return text;
}

}  // namespace

StatusOr<KeyPair> make_ca(const std::string& common_name, Validity validity) {
  const Key key(EVP_EC_gen("P-256"));
  if (!key) return failed("make a key");
  HONE_ASSIGN_OR_RETURN(const Certificate certificate,
                        begin_certificate(key.get(), common_name, "Hone", usual(validity, kCaSeconds)));
  X509* made = certificate.get();
  const bool done = X509_set_issuer_name(made, X509_get_subject_name(made)) &&
                    add_extension(made, made, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") &&
                    add_extension(made, made, NID_key_usage, "critical,keyCertSign,cRLSign") &&
                    add_extension(made, made, NID_subject_key_identifier, "hash") &&
                    X509_sign(made, key.get(), EVP_sha256()) > 0;
  if (!done) return failed("make the CA");
  return pem_of(made, key.get());
}

StatusOr<KeyPair> make_certificate(const KeyPair& ca, const CertificateRequest& request) {
  const Certificate issuer = read_certificate(ca.certificate);
  const Key issuer_key = read_key(ca.key);
  const Key key = request.key.empty() ? Key(EVP_EC_gen("P-256")) : read_key(request.key);
  if (!issuer || !issuer_key) return failed("read the CA's certificate and key");
  if (!key) return failed(fmt::format("read the key of {}", request.common_name));
  Validity validity = usual(request.validity, kCertificateSeconds);
  HONE_ASSIGN_OR_RETURN(const auto ca_dates,
                        wire::certificate_dates(to_pem([&](BIO* out) { PEM_write_bio_X509(out, issuer.get()); })));
  if (!request.validity.until) validity.until = std::min(validity.until, ca_dates.front().not_after);
  HONE_ASSIGN_OR_RETURN(const Certificate certificate,
                        begin_certificate(key.get(), request.common_name, request.organization, validity));
  const std::string names = absl::StrJoin(request.hosts, ",", [](std::string* out, const std::string& host) {
    *out += fmt::format("{}:{}", wire::is_ip(host) ? "IP" : "DNS", host);
  });
  X509* made = certificate.get();
  const bool done =
      X509_set_issuer_name(made, X509_get_subject_name(issuer.get())) &&
      add_extension(made, issuer.get(), NID_basic_constraints, "critical,CA:FALSE") &&
      add_extension(made, issuer.get(), NID_key_usage, "critical,digitalSignature") &&
      add_extension(made, issuer.get(), NID_ext_key_usage, request.server ? "serverAuth" : "clientAuth") &&
      add_extension(made, issuer.get(), NID_subject_key_identifier, "hash") &&
      add_extension(made, issuer.get(), NID_authority_key_identifier, "keyid") &&
      (names.empty() || add_extension(made, issuer.get(), NID_subject_alt_name, names)) &&
      X509_sign(made, issuer_key.get(), EVP_sha256()) > 0;
  if (!done) return failed(fmt::format("make the certificate of {}", request.common_name));
  return pem_of(made, key.get());
}

StatusOr<KeyPair> renew_certificate(const KeyPair& ca, const KeyPair& old, const std::vector<std::string>& more_hosts) {
  HONE_RETURN_IF_ERROR(wire::check_key_pair(old.certificate, old.key));
  const Certificate read = read_certificate(old.certificate);
  const wire::CertificateSubject subject = subject_of(read.get());
  CertificateRequest request{subject.common_name,
                             subject.organization,
                             more_hosts,
                             (X509_get_extended_key_usage(read.get()) & XKU_SSL_SERVER) != 0,
                             old.key,
                             {}};
  for (std::string& host : hosts_of(old.certificate))
    if (std::find(request.hosts.begin(), request.hosts.end(), host) == request.hosts.end())
      request.hosts.push_back(std::move(host));
  return make_certificate(ca, request);
}

std::vector<std::string> hosts_of(const std::string& certificate) {
  const Certificate read = read_certificate(certificate);
  ERR_clear_error();
  if (!read) return {};
  const std::unique_ptr<GENERAL_NAMES, Deleter<GENERAL_NAMES_free>> names(
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(read.get(), NID_subject_alt_name, nullptr, nullptr)));
  std::vector<std::string> out;
  for (int i = 0; names && i < sk_GENERAL_NAME_num(names.get()); ++i)
    if (std::string host = text_of(*sk_GENERAL_NAME_value(names.get(), i)); !host.empty())
      out.push_back(std::move(host));
  return out;
}

bool is_signed_by(const std::string& certificate, const std::string& cas) {
  const Certificate read = read_certificate(certificate);
  const Bio bio = reader(cas);
  bool out = false;
  while (const Certificate ca{PEM_read_bio_X509(bio.get(), nullptr, no_pass_phrase, nullptr)})
    out = out || (read && X509_check_issued(ca.get(), read.get()) == X509_V_OK &&
                  X509_verify(read.get(), X509_get0_pubkey(ca.get())) == 1);
  ERR_clear_error();
  return out;
}

StatusOr<std::string> random_token() {
  std::array<unsigned char, 32> bytes;
  if (RAND_bytes(bytes.data(), bytes.size()) != 1) return failed("draw random bytes");
  std::string out;
  for (const unsigned char byte : bytes) out += fmt::format("{:02x}", byte);
  return out;
}

}  // namespace hone::gate
