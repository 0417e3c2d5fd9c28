// Makes a CA and the certificates it signs (EC P-256, SHA-256), with OpenSSL.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "rpc/wire/access/certificate_dates.h"

namespace hone::gate {

/// PEM.
struct KeyPair {
  std::string certificate, key;
};

/// From when until when; both zero: from an hour ago, for clocks that are behind, and for as long as its kind is usual.
struct Validity {
  wire::UnixSeconds from = 0, until = 0;
};

/// Ten years long.
StatusOr<KeyPair> make_ca(const std::string& common_name, Validity validity = {});

struct CertificateRequest {
  std::string common_name, organization;
  std::vector<std::string> hosts = {};  ///< names and IP addresses it is for
  bool server = false;                  ///< of a server, else of a client
  std::string key = {};                 ///< the private key it is for (PEM); empty: a new one is made
  Validity validity = {};
};

/// So long is a certificate valid, unless its CA ends before.
inline constexpr int64_t kCertificateSeconds = int64_t{730} * 24 * 3600;
StatusOr<KeyPair> make_certificate(const KeyPair& ca, const CertificateRequest& request);

/// The same certificate anew: subject, key, usage and hosts of `old`, and `more_hosts` before those.
StatusOr<KeyPair> renew_certificate(const KeyPair& ca, const KeyPair& old,
                                    const std::vector<std::string>& more_hosts = {});

/// The names and addresses a certificate is for, in its order.
std::vector<std::string> hosts_of(const std::string& certificate);

/// Whether one of the certificates of `cas` has signed the first one of `certificate`.
bool is_signed_by(const std::string& certificate, const std::string& cas);

/// 32 random bytes in hexadecimal.
StatusOr<std::string> random_token();

}  // namespace hone::gate
