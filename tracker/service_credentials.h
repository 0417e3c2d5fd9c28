// The server's side of TLS, and the credentials that a call shows. Internal to the service.
#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>

#include "rpc/gate/authority.h"
#include "rpc/gate/server_tls.h"

namespace hone::tracker {

/// gRPC reads the files again every few seconds; a file that cannot be read then changes nothing.
std::shared_ptr<grpc::ServerCredentials> server_credentials(const gate::ServerTls& tls);

/// The token and the certificate of a call.
gate::Shown shown_by(const grpc::CallbackServerContext& context);

/// Unauthenticated or PermissionDenied, with the judgement's text.
grpc::Status refusal_status(const gate::Judgement& judgement);

}  // namespace hone::tracker
