#include "rpc/wire/access/certificate_dates.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <openssl/err.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <mutex>

#include "base/log.h"
#include "rpc/wire/access/credentials.h"
#include "rpc/wire/access/openssl.h"
#include "rpc/wire/access/pem.h"

namespace hone::wire {
namespace {

using namespace openssl;
constexpr std::string_view kRemedy = "`tracker init-tls DIR --renew` makes new ones";

UnixSeconds seconds_of(const ASN1_TIME* time) {
  std::tm parts{};
  return ASN1_TIME_to_tm(time, &parts) == 1 ? timegm(&parts) : 0;
}

// A certificate's field as one line.
std::string printable(const std::string& text) {
  std::string out = text.substr(0, 64);
  std::replace_if(
      out.begin(), out.end(), [](char c) { return c < ' ' || c > '~' || c == '\''; }, '?');
  return out;
}

std::string remaining(int64_t seconds) {
  const int64_t days = seconds / CertificateReminder::kDay;
  return days == 0 ? "in less than a day" : days == 1 ? "in a day" : fmt::format("in {} days", days);
}

}  // namespace

UnixSeconds wall_clock() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string date_text(UnixSeconds time) {
  const std::time_t t = time;
  std::tm parts{};
  gmtime_r(&t, &parts);
  return fmt::format("{:%Y-%m-%d %H:%M:%S} UTC", parts);
}

StatusOr<std::vector<CertificateDates>> certificate_dates(const std::string& pem) {
  HONE_RETURN_IF_ERROR(check_certificates(pem));
  std::vector<Certificate> all;
  const Bio bio = reader(pem);
  while (Certificate next{PEM_read_bio_X509(bio.get(), nullptr, no_pass_phrase, nullptr)})
    all.push_back(std::move(next));
  ERR_clear_error();
  std::vector<CertificateDates> out;
  for (const Certificate& one : all) {
    const auto outlives = [&](const Certificate& other) {
      return X509_NAME_cmp(X509_get_subject_name(other.get()), X509_get_subject_name(one.get())) == 0 &&
             seconds_of(X509_get0_notAfter(other.get())) > seconds_of(X509_get0_notAfter(one.get()));
    };
    if (std::any_of(all.begin(), all.end(), outlives)) continue;
    out.push_back({subject_of(one.get()).common_name, seconds_of(X509_get0_notBefore(one.get())),
                   seconds_of(X509_get0_notAfter(one.get()))});
  }
  return out;
}

std::vector<NamedCertificate> certificates_of(const Credentials& credentials) {
  std::vector<NamedCertificate> out;
  for (const auto& [flag, pem] :
       {std::pair<const std::string&, const std::string&>(credentials.ca_from, credentials.ca),
        {credentials.certificate_from, credentials.certificate}}) {
    const auto dates = certificate_dates(pem);
    if (!dates.ok()) continue;
    for (const CertificateDates& one : *dates) {
      out.push_back({flag, one});
      if (&pem == &credentials.certificate) break;  // then the dates of its CAs
    }
  }
  return out;
}

std::string invalid_text(const CertificateDates& dates, UnixSeconds now) {
  if (now > dates.not_after) return fmt::format("expired on {}", date_text(dates.not_after));
  if (now < dates.not_before)
    return fmt::format("is not valid before {}, and this machine's clock says {}", date_text(dates.not_before),
                       date_text(now));
  return "";
}

std::vector<std::string> CertificateReminder::due(const std::vector<NamedCertificate>& certificates, UnixSeconds now) {
  std::vector<std::string> out;
  std::map<std::string, UnixSeconds> told;
  for (const auto& [where, dates] : certificates) {
    const bool early = now<dates.not_before, over = now> dates.not_after;
    if (!early && !over && dates.not_after - now > kEarly) continue;
    const std::string whose = fmt::format("{}: the certificate of '{}'", where, printable(dates.common_name));
    const std::string key = fmt::format("{} {} {}", whose, dates.not_after, early ? "early" : over ? "over" : "ends");
    const auto before = told_.find(key);
    // The clock may have been set.
    const bool again = before == told_.end() || now - before->second >= kDay || now < before->second;
    told[key] = again ? now : before->second;
    if (!again) continue;
    if (early)
      out.push_back(fmt::format("{} {}", whose, invalid_text(dates, now)));
    else if (over)
      out.push_back(fmt::format("{} {}; {}", whose, invalid_text(dates, now), kRemedy));
    else
      out.push_back(fmt::format("{} ends on {}, {}; {}", whose, date_text(dates.not_after),
                                remaining(dates.not_after - now), kRemedy));
  }
  told_ = std::move(told);
  return out;
}

void log_reminders(const Credentials& credentials) {
  static std::mutex mutex;
  static CertificateReminder reminder;
  const std::vector<NamedCertificate> held = certificates_of(credentials);
  std::lock_guard lock(mutex);
  for (const std::string& line : reminder.due(held, wall_clock())) log::warn("{}", line);
}

}  // namespace hone::wire
