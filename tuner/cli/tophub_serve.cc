#include "tuner/cli/tophub_serve.h"

#include <absl/strings/str_replace.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <ostream>
#include <utility>

#include "base/clock.h"
#include "base/exit_code.h"
#include "base/log.h"
#include "base/log_fields.h"
#include "db/plausible.h"
#include "db/store.h"
#include "db/team/team_store.h"
#include "rpc/gate/certificates.h"
#include "rpc/gate/security.h"
#include "rpc/http/http.h"
#include "rpc/hub/hub_pages.h"
#include "rpc/wire/access/secret_file.h"
#include "rpc/wire/parent_watch.h"

namespace hone {
namespace {

namespace fs = std::filesystem;

constexpr char kPostgresVariable[] = "HONE_POSTGRES";
constexpr std::chrono::seconds kGrace{10};

struct OpenStore {
  std::unique_ptr<db::TeamStore> store;
  std::string name;  // without secrets
};

// Its command line can be read by everybody on the machine.
bool shows_a_password(const std::string& url) {
  const size_t host = url.find('@'), begin = url.find("://");
  return (host != std::string::npos && begin != std::string::npos && url.find(':', begin + 3) < host) ||
         url.find("password=") != std::string::npos;
}

// The URL of PostgreSQL; empty: a file is used.
StatusOr<std::string> postgres_url(const TophubServeFlags& flags) {
  if (!flags.postgres.empty() && !flags.postgres_file.empty())
    return usage_error("--postgres and --postgres-file say the same; give one");
  if (!flags.postgres.empty()) {
    if (shows_a_password(flags.postgres))
      log::warn("--postgres: everybody on this machine can read the password in it; --postgres-file FILE keeps it");
    return flags.postgres;
  }
  if (flags.postgres_file.empty()) {
    const char* url = std::getenv(kPostgresVariable);
    return flags.store.empty() && url ? url : "";
  }
  auto text = wire::read_secret_file(flags.postgres_file);
  if (!text.ok()) return usage_error("--postgres-file " + message_of(text.status()));
  const std::string line = text->substr(0, text->find_first_of("\r\n"));
  if (line.empty())
    return usage_error(fmt::format("--postgres-file {}: its first line is no URL", flags.postgres_file));
  return line;
}

StatusOr<OpenStore> open_store(const TophubServeFlags& flags) {
  HONE_ASSIGN_OR_RETURN(const std::string url, postgres_url(flags));
  if (!url.empty()) {
    if (!flags.store.empty()) return usage_error("--store and --postgres are two places; give one");
    auto store = db::open_postgres_team(url, std::max<size_t>(flags.workers, 1));
    if (!store.ok()) return database_error(message_of(store.status()));
    return OpenStore{*std::move(store), "PostgreSQL"};
  }
  std::string path = flags.store;
  if (path.empty()) {
    const fs::path folder = fs::absolute(fs::path(db::user_db_path())).parent_path();
    std::error_code ignored;
    fs::create_directories(folder, ignored);
    path = (folder / "team.db").string();
  }
  auto store = db::open_sqlite_team(path);
  if (!store.ok()) return database_error(absl::StrReplaceAll(message_of(store.status()), {{"--db", "--store"}}));
  return OpenStore{*std::move(store), path};
}

StatusOr<gate::Security> security_of(const TophubServeFlags& flags, const Clock& clock) {
  gate::Security out;
  out.tls = flags.tls;
  HONE_RETURN_IF_ERROR(check_server_tls(flags.tls));
  HONE_ASSIGN_OR_RETURN(out.authority, gate::Authority::make({flags.token_file, !flags.tls.client_ca.empty()}, clock));
  out.rejections = std::make_shared<gate::Rejections>(clock);
  return out;
}

// Where others reach it: a name of the certificate, which is what they check, else the address listened on.
std::string url_of(const wire::Address& address, const gate::ServerTls& tls) {
  wire::Address reached = address;
  if (tls.enabled() && !address.is_local()) {
    if (const auto certificate = wire::read_small_file(tls.certificate); certificate.ok())
      if (const auto hosts = gate::hosts_of(*certificate); !hosts.empty()) reached.host = hosts.front();
  }
  return fmt::format("{}://{}", tls.enabled() ? "https" : "http", reached.text());
}

}  // namespace

void add_tophub_serve_flags(CommandLine& line, TophubServeFlags& flags) {
  line.add_option("--listen", flags.listen, "HOST:PORT where builds ask and tuners push; port 0: any free port")
      .capture_default_str();
  line.add_option("--store", flags.store, "keep the rows in this file (default: team.db beside the user's tophub)")
      .type_name("FILE");
  line.add_option("--postgres", flags.postgres,
                  "keep the rows in PostgreSQL: postgresql://USER@HOST/DATABASE (or HONE_POSTGRES)")
      .type_name("URL");
  line.add_option("--postgres-file", flags.postgres_file,
                  "the same URL, with its password, on the first line of a file that others cannot read")
      .type_name("FILE");
  line.add_option("--tls-cert", flags.tls.certificate, "the service's certificate (PEM), of `tracker init-tls`");
  line.add_option("--tls-key", flags.tls.key, "the certificate's private key");
  line.add_option("--tls-client-ca", flags.tls.client_ca, "clients must show a certificate signed by one of these CAs");
  line.add_option("--token-file", flags.token_file,
                  "accepted tokens, one `ROLE NAME TOKEN [rows=hidden]` a line, as the tracker has them; read again "
                  "when it changes");
  line.add_option("--workers", flags.workers, "threads that answer, and connections to PostgreSQL")
      .check(number_from(1, 64))
      .capture_default_str();
  line.add_flag("--insecure", flags.insecure,
                "allow addresses other than loopback, without encryption or authentication");
  line.add_flag("--exit-with-parent", flags.exit_with_parent, "stop when the process that started this one ends");
  line.add_flag("--log-json", flags.log_json, "log lines are JSON objects");
}

Status serve_tophub(const TophubServeFlags& flags, const db::PriorCheck& check_prior, std::ostream& out) {
  const SteadyClock clock;
  if (flags.log_json) log::use_json();
  auto listen = wire::Address::parse(flags.listen);
  if (!listen.ok()) return usage_error("--listen: " + message_of(listen.status()));
  HONE_ASSIGN_OR_RETURN(const gate::Security security, security_of(flags, clock));
  HONE_RETURN_IF_ERROR(wire::check_exposure(*listen, {security.tls.enabled(), !security.authority->is_open()},
                                            flags.insecure, "--listen"));
  umask(S_IRWXG | S_IRWXO);  // rows may be hidden ones
  // A database that does not answer can be given up on by any signal.
  HONE_ASSIGN_OR_RETURN(const OpenStore open, open_store(flags));
  boost::asio::io_context context{1};
  boost::asio::signal_set signals(context, SIGTERM, SIGINT);
  signals.async_wait([&](const boost::system::error_code& error, int) {
    if (!error) context.stop();
  });
  std::optional<wire::ParentWatch> parent;
  if (flags.exit_with_parent) parent.emplace(context, [&] { context.stop(); });
  hub::HubOptions options{.now_ms = [] { return db::unix_ms(); },
                          .check_prior = check_prior,
                          .scratch = fs::temp_directory_path().string(),
                          .rejections = security.rejections};
  HONE_ASSIGN_OR_RETURN(const auto server,
                        http::HttpServer::start(*listen, hub::hub_pages(*open.store, std::move(options)), clock,
                                                security, {.workers = flags.workers}));
  const std::string url = url_of(server->address(), security.tls);
  out << fmt::format("tophub: serving {} on {}\n", open.name, server->address().text())
      << fmt::format("next: give tuner, tensorc and tophub --tophub {}{}\n", url,
                     security.tls.enabled() || security.authority->asks_for_tokens()
                         ? ", and --fleet FILE of `tracker init-tls` (or --tls-ca and --token-file)"
                         : "")
      << std::flush;
  // Tokens that are withdrawn count no longer.
  boost::asio::steady_timer refresh(context);
  std::function<void()> watch = [&] {
    refresh.expires_after(std::chrono::seconds(1));
    refresh.async_wait([&](const boost::system::error_code& error) {
      if (error) return;
      security.authority->refresh();
      watch();
    });
  };
  watch();
  context.run();
  server->drain(kGrace);
  return absl::OkStatus();
}

}  // namespace hone
