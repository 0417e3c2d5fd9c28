// Authorization: tokens of a file that is read again when it changes, names and roles of client certificates.
#pragma once

#include <sys/stat.h>

#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/status.h"
#include "rpc/gate/refusal.h"
#include "rpc/gate/tokens.h"

namespace hone::gate {

/// Credentials that a call shows.
struct Shown {
  std::string token;        ///< empty: none
  std::string certificate;  ///< PEM, verified by TLS; empty: none
};

/// The rights of a peer.
struct Grant {
  std::optional<TokenEntry> token;  ///< the token whose rights these are; none where no token file is used
  std::optional<Role> certificate;  ///< the role of its certificate, where those are asked for
  std::string certificate_name;

  /// The lesser of both roles; nothing: the port is open and everybody may do everything.
  bool allows(Role role) const;
  /// Whether it may call itself `agent`.
  bool allows_name(const std::string& agent) const;
  /// For people: admin, tuner, agent, or open.
  std::string_view role_name() const;
  /// For log lines: `agent lab1`; never a secret.
  std::string text() const;
  /// The owner of its sessions and devices: role and name of the token, else of the certificate.
  Tenant tenant() const;
  /// Whether a team's tophub shows the rows that it brings to itself and admins alone.
  bool hides_rows() const { return token && token->hides_rows; }
  Viewer viewer() const { return {is_admin(), tenant().name}; }
  /// Whether it proved to be an administrator: on an open port it is false.
  bool is_admin() const { return (token || certificate) && allows(Role::kAdmin); }
};

/// A grant, or why there is none.
struct Judgement {
  std::optional<Grant> grant;
  Refusal reason = Refusal::kNoToken;
  std::string text;
};

/// Thread-safe.
class Authority {
 public:
  struct Options {
    std::string token_file;     ///< empty: no tokens are asked for
    bool certificates = false;  ///< TLS asks for certificates: their O is the role, their CN the name
  };
  /// InvalidArgument when the file cannot be used. `clock` outlives the authority.
  static StatusOr<std::unique_ptr<Authority>> make(Options options, const Clock& clock);

  /// Whether anything is asked for at all.
  bool is_open() const { return options_.token_file.empty() && !options_.certificates; }
  bool asks_for_tokens() const { return !options_.token_file.empty(); }

  /// Without `role`: any valid credentials will do.
  Judgement judge(const Shown& shown, std::optional<Role> role) const;
  /// As judge(), for a browser, which has no certificate: where there are tokens, one is enough.
  Judgement judge_http(const Shown& shown) const;
  /// Whether it may call itself `agent`. A token for any name (`*`) may not where a line of the file is that agent's
  /// own.
  bool allows_name(const Grant& grant, const std::string& agent) const;
  /// Whether the token behind it is still in the file.
  bool still_holds(const Grant& grant) const;

  /// Looks at the file at most once a second, and reads it when it has changed: true when its tokens have. A file that
  /// cannot be used leaves the tokens as they were, and is logged once.
  bool refresh();

 private:
  struct Stamp {
    ino_t inode = 0;
    off_t size = -1;
    timespec changed{}, modified{};
    static Stamp of(const std::string& path);
    bool operator==(const Stamp& other) const;
  };

  Authority(Options options, const Clock& clock) : options_(std::move(options)), clock_(clock) {}
  std::shared_ptr<const TokenTable> table() const;
  StatusOr<TokenTable> read() const;
  Judgement judge(const Shown& shown, std::optional<Role> role, bool certificates) const;

  const Options options_;
  const Clock& clock_;
  mutable std::mutex mutex_;  // guards the members below
  std::shared_ptr<const TokenTable> table_;
  Stamp stamp_;
  Clock::TimePoint looked_{};
};

}  // namespace hone::gate
