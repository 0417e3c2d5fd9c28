// The flags of every program that dials a tracker.
#pragma once

#include "base/command_line.h"
#include "rpc/wire/access/credentials.h"

namespace hone::wire {

/// --fleet, which kFleetVariable stands for, --tls-ca, --tls-cert, --tls-key, --token-file.
void add_credential_flags(CommandLine& line, CredentialFiles& files);

}  // namespace hone::wire
