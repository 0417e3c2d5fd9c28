// gRPC channels to the tracker. Only files that speak gRPC include this.
#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>

#include "rpc/wire/access/address.h"
#include "rpc/wire/access/credentials.h"

namespace hone::wire {

/// A new connection of its own to `address`: message cap, keepalive (a dead peer is noticed within about 20 s), no
/// reconnecting behind our back. TLS when `credentials` name a CA; the tracker's certificate must then name the host
/// dialled (localhost for a Unix socket).
std::shared_ptr<grpc::Channel> make_channel(const Address& address, const Credentials& credentials = {});

/// Adds the token, if any, to a call before it starts.
void show_token(grpc::ClientContext& context, const Credentials& credentials);

/// One line why a connection to `tracker` failed or ended, when more is known than that there was no answer; else
/// empty. If the tracker's certificate was not accepted, it is asked for once more, which may take two seconds: gRPC
/// does not distinguish an expired certificate from a foreign one.
std::string connection_problem(const grpc::Status& status, const Address& tracker, const Credentials& credentials);

/// The same for someone who asks after the attempts of a while, so there always is a reason: `name not resolved`,
/// `connection refused`, `TLS: …`, `no answer` or the answer of a program that is no tracker. `problem`: of
/// connection_problem().
std::string unreachable_reason(const grpc::Status& status, const std::string& problem);

/// Sets up a process that speaks gRPC: log lines of gRPC and protobuf become debug lines of ours (a Status tells what
/// matters, and a peer that sends malformed messages must not fill the log), and abseil's search for lock cycles is
/// turned off. Idempotent.
void prepare_grpc();

/// The name under which gRPC dials it, or listens there.
std::string grpc_name(const Address& address);

}  // namespace hone::wire
