// Owners of OpenSSL's objects, and PEM text in and out of them. Internal to the files that speak OpenSSL.
#pragma once

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <memory>
#include <string>

namespace hone::wire {
struct CertificateSubject;
}

namespace hone::wire::openssl {

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

/// Reads `text`, which outlives it.
inline Bio reader(const std::string& text) { return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size()))); }

/// Without this OpenSSL would ask the terminal for the pass phrase of an encrypted key.
inline int no_pass_phrase(char*, int, int, void*) { return 0; }

/// The first certificate of `pem`; null, and an entry in OpenSSL's queue of errors, when there is none.
inline Certificate read_certificate(const std::string& pem) {
  return Certificate(PEM_read_bio_X509(reader(pem).get(), nullptr, no_pass_phrase, nullptr));
}

/// As read_certificate(), of a private key without a pass phrase.
inline Key read_key(const std::string& pem) {
  return Key(PEM_read_bio_PrivateKey(reader(pem).get(), nullptr, no_pass_phrase, nullptr));
}

/// Empty fields where it names none.
CertificateSubject subject_of(X509* certificate);

/// The bytes that `write(BIO*)` writes.
template <class Write>
std::string to_pem(Write write) {
  const Bio out(BIO_new(BIO_s_mem()));
  write(out.get());
  char* text = nullptr;
  const long size = BIO_get_mem_data(out.get(), &text);
  return {text, static_cast<size_t>(size)};
}

}  // namespace hone::wire::openssl
