#include "rpc/gate/authority.h"

#include <fmt/format.h>

#include "base/log.h"
#include "rpc/wire/access/pem.h"
#include "rpc/wire/access/secret_file.h"

namespace hone::gate {
namespace {

Judgement refused(Refusal reason, std::string text) { return {std::nullopt, reason, std::move(text)}; }

// Bytes of a file's or a certificate's text that go into a log line.
std::string printable(std::string_view text) {
  std::string out(text.substr(0, 64));
  for (char& c : out)
    if (c <= ' ' || c > '~') c = '?';
  return out;
}

bool same(const timespec& a, const timespec& b) { return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec; }

}  // namespace

bool Grant::allows(Role role) const {
  const auto may = [&](Role has) { return has == role || has == Role::kAdmin; };
  return (!token || may(token->role)) && (!certificate || may(*certificate));
}

bool Grant::allows_name(const std::string& agent) const {
  if (token && token->name != "*" && token->name != agent) return false;
  return !certificate || *certificate == Role::kAdmin || certificate_name == agent;
}

std::string_view Grant::role_name() const {
  if (!token && !certificate) return "open";
  for (const Role role : {Role::kAdmin, Role::kTuner, Role::kAgent})
    if (allows(role)) return name(role);
  return "none";
}

std::string Grant::text() const {
  if (token) return fmt::format("{} {}", name(token->role), printable(token->name));
  if (certificate) return fmt::format("{} {}", name(*certificate), printable(certificate_name));
  return "anyone";
}

Tenant Grant::tenant() const {
  if (token) return {fmt::format("{} {}", name(token->role), token->name), token->limits};
  if (certificate) return {fmt::format("{} {}", name(*certificate), certificate_name), default_limits(*certificate)};
  return {};
}

Authority::Stamp Authority::Stamp::of(const std::string& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) return {};
  return {info.st_ino, info.st_size, info.st_ctim, info.st_mtim};
}

bool Authority::Stamp::operator==(const Stamp& other) const {
  return inode == other.inode && size == other.size && same(changed, other.changed) && same(modified, other.modified);
}

StatusOr<TokenTable> Authority::read() const {
  const auto named = [&](const Status& status) {
    return absl::InvalidArgumentError(fmt::format("--token-file {}: {}", options_.token_file, message_of(status)));
  };
  const auto text = wire::read_secret_file(options_.token_file);
  if (!text.ok()) return absl::InvalidArgumentError("--token-file " + message_of(text.status()));
  auto table = TokenTable::parse(*text);
  if (!table.ok()) return named(table.status());
  return table;
}

StatusOr<std::unique_ptr<Authority>> Authority::make(Options options, const Clock& clock) {
  std::unique_ptr<Authority> out(new Authority(std::move(options), clock));
  if (!out->options_.token_file.empty()) {
    out->stamp_ = Stamp::of(out->options_.token_file);  // before it is read: a change in between is seen later
    HONE_ASSIGN_OR_RETURN(TokenTable table, out->read());
    out->table_ = std::make_shared<const TokenTable>(std::move(table));
    out->looked_ = clock.now();
  }
  return out;
}

std::shared_ptr<const TokenTable> Authority::table() const {
  std::lock_guard lock(mutex_);
  return table_;
}

Judgement Authority::judge(const Shown& shown, std::optional<Role> role) const {
  return judge(shown, role, options_.certificates);
}

Judgement Authority::judge_http(const Shown& shown) const {
  return judge(shown, std::nullopt, options_.certificates && options_.token_file.empty());
}

Judgement Authority::judge(const Shown& shown, std::optional<Role> role, bool certificates) const {
  Judgement out;
  Grant grant;
  if (const auto tokens = table()) {
    if (shown.token.empty()) return refused(Refusal::kNoToken, "no token was given (--token-file)");
    const TokenEntry* entry = tokens->find(shown.token);
    if (!entry) return refused(Refusal::kBadToken, "the tracker does not know the token");
    grant.token = *entry;
  }
  if (certificates) {
    const auto subject = wire::certificate_subject(shown.certificate);
    if (!subject.ok()) return refused(Refusal::kNoCertificate, "no certificate was given (--tls-cert)");
    grant.certificate = parse_role(subject->organization);
    if (!grant.certificate)
      return refused(Refusal::kNoCertificate, "the certificate's O is not a role; allowed: agent, tuner, admin");
    grant.certificate_name = subject->common_name;
  }
  if (role && !grant.allows(*role))
    return refused(Refusal::kWrongRole, fmt::format("{} lacks the role {} that this needs", grant.text(), name(*role)));
  out.grant = std::move(grant);
  return out;
}

bool Authority::allows_name(const Grant& grant, const std::string& agent) const {
  if (!grant.allows_name(agent)) return false;
  const auto tokens = table();
  return !tokens || !grant.token || grant.token->name != "*" || !tokens->names_agent(agent);
}

bool Authority::still_holds(const Grant& grant) const {
  const auto tokens = table();
  return !tokens || (grant.token && tokens->holds(*grant.token));
}

bool Authority::refresh() {
  if (options_.token_file.empty()) return false;
  std::lock_guard lock(mutex_);
  const auto now = clock_.now();
  if (now - looked_ < std::chrono::seconds(1)) return false;
  looked_ = now;
  const Stamp stamp = Stamp::of(options_.token_file);
  if (stamp == stamp_) return false;
  stamp_ = stamp;
  auto fresh = read();
  if (!fresh.ok()) {
    log::error("{}; the tokens read before stay valid", message_of(fresh.status()));
    return false;
  }
  log::info("--token-file {}: read again, {} tokens", options_.token_file, fresh->size());
  table_ = std::make_shared<const TokenTable>(*std::move(fresh));
  return true;
}

}  // namespace hone::gate
