// Makes a CA and the certificates it signs (EC P-256, SHA-256), with OpenSSL.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"

namespace hone::tracker {

/// PEM.
struct KeyPair {
  std::string certificate, key;
};

/// Ten years long.
StatusOr<KeyPair> make_ca(const std::string& common_name);

struct CertificateRequest {
  std::string common_name, organization;
  std::vector<std::string> hosts = {};  ///< names and IP addresses it is for
  bool server = false;                  ///< of a server, else of a client
};

/// Two years long, and from an hour ago, for clocks that are behind.
StatusOr<KeyPair> make_certificate(const KeyPair& ca, const CertificateRequest& request);

/// The first name or address a certificate is for; empty: none.
std::string first_host(const std::string& certificate);

/// 32 random bytes in hexadecimal.
StatusOr<std::string> random_token();

}  // namespace hone::tracker
