// The dates of certificates, and texts about certificates that are not valid, or not for much longer.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/status.h"

namespace hone::wire {

struct Credentials;

/// Since 1970, UTC.
using UnixSeconds = int64_t;
UnixSeconds wall_clock();

/// `2026-11-22 08:25:30 UTC`.
std::string date_text(UnixSeconds time);

struct CertificateDates {
  std::string common_name;  ///< as the certificate says; it may hold anything
  UnixSeconds not_before = 0, not_after = 0;
};

/// The certificates in `pem`, in their order, without those that another one of the same subject outlives: a new CA may
/// stand beside the one it replaces as long as certificates of that are in use. InvalidArgument when there is none, or
/// one that cannot be parsed.
StatusOr<std::vector<CertificateDates>> certificate_dates(const std::string& pem);

/// A certificate and where it comes from: `--tls-cert FILE`.
struct NamedCertificate {
  std::string where;
  CertificateDates dates;
};

/// A client's certificates under the names of their flags; those that cannot be parsed are left out.
std::vector<NamedCertificate> certificates_of(const Credentials& credentials);

/// `expired on …`, or `is not valid before …, and this machine's clock says …`; empty: it is valid at `now`.
std::string invalid_text(const CertificateDates& dates, UnixSeconds now);

/// Reminds in time that a certificate ends. For one thread only.
class CertificateReminder {
 public:
  static constexpr int64_t kDay = int64_t{24} * 3600, kEarly = 30 * kDay;

  /// The lines that are due at `now`: one for each certificate that ends within 30 days, has expired or is not valid
  /// yet, when it first does, and once a day from then on.
  std::vector<std::string> due(const std::vector<NamedCertificate>& certificates, UnixSeconds now);

 private:
  std::map<std::string, UnixSeconds> told_;  // by the text of the reminder without its number of days
};

/// Logs today's reminders of a client's certificates as warnings. Thread-safe; the clients of one process share a
/// reminder, so that each line comes once.
void log_reminders(const Credentials& credentials);

}  // namespace hone::wire
