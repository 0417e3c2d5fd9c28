// The flags of every program that dials a tracker.
#pragma once

#include "base/cli.h"
#include "rpc/wire/credentials.h"

namespace hone::wire {

/// A file that this variable names is as if --fleet named it; `--fleet ''`: none.
inline constexpr char kFleetVariable[] = "HONE_FLEET";

/// --fleet, which kFleetVariable stands for, --tls-ca, --tls-cert, --tls-key, --token-file.
void add_credential_flags(CLI::App& app, CredentialFiles& files);

}  // namespace hone::wire
