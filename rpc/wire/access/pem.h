// Certificates and keys as text: checked before gRPC or OpenSSL gets them, because the errors of those name no file.
#pragma once

#include <string>

#include "base/status.h"

namespace hone::wire {

/// InvalidArgument unless `pem` holds at least one certificate and all in it can be parsed.
Status check_certificates(const std::string& pem);

/// InvalidArgument unless `key` is the private key of the first of `certificates`.
Status check_key_pair(const std::string& certificates, const std::string& key);

/// The holder that a certificate names.
struct CertificateSubject {
  std::string common_name;   ///< CN
  std::string organization;  ///< O
};

/// The names of the first certificate in `pem`; empty fields where it names none. InvalidArgument when it cannot be
/// parsed.
StatusOr<CertificateSubject> certificate_subject(const std::string& pem);

/// Whether the first certificate in `pem` is valid for `host`, a name or an IP address.
bool certificate_is_for(const std::string& pem, const std::string& host);

}  // namespace hone::wire
