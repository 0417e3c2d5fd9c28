#include "rpc/wire/credential_flags.h"

namespace hone::wire {

void add_credential_flags(CLI::App& app, CredentialFiles& files) {
  app.add_option("--tls-ca", files.ca, "certificates that may have signed the tracker's: the connection is TLS");
  app.add_option("--tls-cert", files.certificate, "this program's certificate, where the tracker wants one");
  app.add_option("--tls-key", files.key, "the certificate's private key");
  app.add_option("--token-file", files.token, "file with the token to show the tracker");
}

}  // namespace hone::wire
