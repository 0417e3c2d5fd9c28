#include "rpc/wire/access/credential_flags.h"

#include <cstdlib>

namespace hone::wire {

void add_credential_flags(CommandLine& line, CredentialFiles& files) {
  // The parser does not read it: several commands of a program may share `files`, and theirs would win over a given
  // value.
  if (const char* fleet = std::getenv(kFleetVariable)) files.fleet = fleet;
  line.add_option(
          "--fleet", files.fleet,
          "a file of `tracker init-tls` with the tracker's address, certificates and token; other flags override it")
      .option_text("FILE (or HONE_FLEET)");
  line.add_option("--tls-ca", files.ca, "CA certificates that sign the tracker's; the connection uses TLS");
  line.add_option("--tls-cert", files.certificate, "this program's certificate, if the tracker asks for one");
  line.add_option("--tls-key", files.key, "the certificate's private key");
  line.add_option("--token-file", files.token, "the file with this program's token");
}

}  // namespace hone::wire
