#include "rpc/wire/credential_flags.h"

#include <cstdlib>

namespace hone::wire {

void add_credential_flags(CLI::App& app, CredentialFiles& files) {
  // Not CLI11's envname(): several commands of a program may share `files`, and theirs would win over what was given.
  if (const char* fleet = std::getenv(kFleetVariable)) files.fleet = fleet;
  app.add_option("--fleet", files.fleet,
                 "a file of `tracker init-tls`: the tracker's address, certificates and token; flags beside it win")
      ->option_text("FILE (or HONE_FLEET)");
  app.add_option("--tls-ca", files.ca, "certificates that may have signed the tracker's: the connection is TLS");
  app.add_option("--tls-cert", files.certificate, "this program's certificate, where the tracker wants one");
  app.add_option("--tls-key", files.key, "the certificate's private key");
  app.add_option("--token-file", files.token, "file with the token to show the tracker");
}

}  // namespace hone::wire
