// The messages of the two streams as variants, one per direction; proto/tracker.proto says what each means.
#pragma once

#include <variant>
#include <vector>

#include "rpc/wire/messages/messages.h"

namespace hone::wire {

struct AgentHello {
  uint32_t protocol = kProtocolVersion;
  std::string name;
  Uuid instance;
  std::vector<DeviceInfo> devices;
  std::vector<LeaseId> held;
  uint32_t unacked_results = 0;
  std::vector<std::string> held_devices;  ///< as long as `held`
  std::vector<std::string> drained;       ///< its devices that people drained
};
struct Want {
  std::string device;
  uint32_t slots = 0;
};
struct Heartbeat {
  std::vector<LeaseId> working;
  std::vector<DeviceHealth> health;
};
/// The two lists are equally long.
struct AgentResults {
  std::vector<JobResult> results;
  std::vector<LeaseId> leases;
};
struct BlobRequest {
  std::vector<Hash128> hashes;
};
struct GiveBack {
  std::vector<LeaseId> leases;
  std::string reason;
};
/// rpc/wire/access/key_proof.h makes and checks it.
struct KeyProof {
  std::string device;
  std::string public_key;  ///< kPublicKeyBytes, Ed25519
  std::string signature;   ///< kSignatureBytes
};
using FromAgent = std::variant<AgentHello, Want, Heartbeat, AgentResults, BlobRequest, GiveBack, KeyProof>;

struct AgentWelcome {
  double heartbeat_s = 0;
  double lease_s = 0;
  std::vector<LeaseId> forget;
  std::string challenge;  ///< kNonceBytes: devices' keys are to be proved; empty: they need not be
  double now = 0;         ///< seconds since 1970, by the tracker's clock; 0: it does not tell
};
struct Leases {
  std::vector<Lease> leases;
};
struct ResultAck {
  std::vector<LeaseId> leases;
};
struct Blobs {
  std::vector<Blob> blobs;
  std::vector<Hash128> missing;
};
struct Cancel {
  std::vector<LeaseId> leases;
};
struct TakeBack {
  std::vector<LeaseId> leases;
};
/// All of the agent's devices that are drained by hand.
struct Drained {
  std::vector<std::string> devices;
};
struct Refused {
  std::string reason;
  bool retry = false;
};
using ToAgent = std::variant<AgentWelcome, Leases, ResultAck, Blobs, Cancel, TakeBack, Refused, Drained>;

struct Submit {
  std::vector<Job> jobs;
};
struct SessionAck {
  std::vector<uint64_t> seqs;
};
struct CancelJobs {
  std::vector<uint64_t> seqs;
};
struct SessionClose {
  std::string reason;
};
using FromSession = std::variant<SessionOpen, Submit, Blobs, SessionAck, CancelJobs, Summary, SessionClose>;

struct SessionOpened {
  uint32_t window = 0;
  std::vector<DeviceInfo> devices;
  std::vector<uint64_t> known;
  std::vector<std::string> notes;  ///< for people, a line each
  double now = 0;                  ///< as of AgentWelcome
};
struct SessionResults {
  std::vector<JobResult> results;
};
struct Devices {
  std::vector<DeviceInfo> devices;
};
using ToSession = std::variant<SessionOpened, SessionResults, BlobRequest, Refused, Devices>;

}  // namespace hone::wire
