// The messages of the two streams.
#include "rpc/wire/messages/convert_fields.h"

namespace hone::wire {

using namespace detail;

namespace {

constexpr size_t kMaxDevices = 256;  // of one agent
constexpr size_t kMaxNotes = 16;

template <class... F>
struct Overloaded : F... {
  using F::operator()...;
};
template <class... F>
Overloaded(F...) -> Overloaded<F...>;

StatusOr<LeaseId> lease_from(const proto::LeaseId& in) {
  HONE_ASSIGN_OR_RETURN(const Uuid session, uuid_from("lease.session", in.session()));
  return LeaseId{session, in.seq(), in.epoch()};
}

void lease_to(const LeaseId& in, proto::LeaseId* out) {
  out->set_session(in.session.bytes());
  out->set_seq(in.seq);
  out->set_epoch(in.epoch);
}

template <class Repeated>
StatusOr<std::vector<LeaseId>> leases_from(const Repeated& in) {
  HONE_RETURN_IF_ERROR(check_count("leases", in.size(), kMaxLeasesPerMessage));
  std::vector<LeaseId> out;
  out.reserve(in.size());
  for (const proto::LeaseId& id : in) {
    HONE_ASSIGN_OR_RETURN(const LeaseId lease, lease_from(id));
    out.push_back(lease);
  }
  return out;
}

template <class Repeated>
void leases_to(const std::vector<LeaseId>& in, Repeated* out) {
  out->Reserve(static_cast<int>(in.size()));
  for (const LeaseId& id : in) lease_to(id, out->Add());
}

template <class Repeated>
StatusOr<std::vector<Hash128>> hashes_from(const Repeated& in) {
  HONE_RETURN_IF_ERROR(check_count("hashes", in.size(), kMaxHashesPerMessage));
  std::vector<Hash128> out;
  for (const std::string& bytes : in) {
    HONE_ASSIGN_OR_RETURN(const Hash128 hash, hash_from("hashes", bytes));
    out.push_back(hash);
  }
  return out;
}

template <class Repeated>
StatusOr<std::vector<DeviceInfo>> devices_from(const Repeated& in) {
  HONE_RETURN_IF_ERROR(check_count("devices", in.size(), 100000));
  std::vector<DeviceInfo> out;
  for (const proto::DeviceInfo& device : in) {
    HONE_ASSIGN_OR_RETURN(DeviceInfo info, device_from(device));
    out.push_back(std::move(info));
  }
  return out;
}

template <class Repeated>
StatusOr<std::vector<JobResult>> results_from(const Repeated& in) {
  HONE_RETURN_IF_ERROR(check_count("results", in.size(), kMaxLeasesPerMessage));
  std::vector<JobResult> out;
  out.reserve(in.size());
  for (const proto::JobResult& result : in) {
    HONE_ASSIGN_OR_RETURN(JobResult one, from_wire(result));
    out.push_back(std::move(one));
  }
  return out;
}

StatusOr<std::vector<uint64_t>> seqs_from(const google::protobuf::RepeatedField<uint64_t>& in) {
  HONE_RETURN_IF_ERROR(check_count("seqs", in.size(), kMaxLeasesPerMessage));
  return std::vector<uint64_t>(in.begin(), in.end());
}

StatusOr<Blobs> blobs_from(proto::Blobs&& in) {
  Blobs out;
  HONE_RETURN_IF_ERROR(check_count("blobs", in.blobs_size(), kMaxHashesPerMessage));
  for (proto::Blob& blob : *in.mutable_blobs()) {
    HONE_ASSIGN_OR_RETURN(const Hash128 hash, hash_from("blob.hash", blob.hash()));
    HONE_RETURN_IF_ERROR(check_count("blob.data", blob.data().size(), kMaxBlobBytes));
    if (blob_id(blob.data()) != hash) return bad("blob.data", "its hash is not the one that was announced");
    out.blobs.push_back({hash, std::move(*blob.mutable_data())});
  }
  HONE_ASSIGN_OR_RETURN(out.missing, hashes_from(in.missing()));
  return out;
}

void blobs_to(Blobs&& in, proto::Blobs* out) {
  for (Blob& blob : in.blobs) {
    proto::Blob& one = *out->add_blobs();
    one.set_hash(blob.hash.bytes());
    one.set_data(std::move(blob.data));
  }
  for (const Hash128& hash : in.missing) out->add_missing(hash.bytes());
}

StatusOr<std::vector<std::string>> drained_from(std::string_view field,
                                                const google::protobuf::RepeatedPtrField<std::string>& in) {
  HONE_RETURN_IF_ERROR(check_count(field, in.size(), kMaxDevices));
  for (const std::string& device : in) HONE_RETURN_IF_ERROR(check_text(field, device, kMaxName));
  return std::vector<std::string>(in.begin(), in.end());
}

StatusOr<AgentHello> hello_from(const proto::AgentHello& in) {
  AgentHello out;
  out.protocol = in.protocol();
  HONE_RETURN_IF_ERROR(check_text("hello.name", in.name(), kMaxName));
  if (in.name().empty()) return bad("hello.name", "empty");
  out.name = in.name();
  HONE_ASSIGN_OR_RETURN(out.instance, uuid_from("hello.instance", in.instance()));
  HONE_RETURN_IF_ERROR(check_count("hello.devices", in.devices_size(), kMaxDevices));
  HONE_ASSIGN_OR_RETURN(out.devices, devices_from(in.devices()));
  HONE_ASSIGN_OR_RETURN(out.held, leases_from(in.held()));
  if (in.held_devices_size() != in.held_size())
    return bad("hello.held_devices", "expected one device for each held lease");
  for (const std::string& device : in.held_devices())
    HONE_RETURN_IF_ERROR(check_text("hello.held_devices", device, kMaxName));
  out.held_devices = {in.held_devices().begin(), in.held_devices().end()};
  out.unacked_results = in.unacked_results();
  HONE_ASSIGN_OR_RETURN(out.drained, drained_from("hello.drained", in.drained()));
  return out;
}

StatusOr<SessionOpen> open_from(const proto::SessionOpen& in) {
  SessionOpen out;
  out.protocol = in.protocol();
  HONE_ASSIGN_OR_RETURN(out.session, uuid_from("open.session", in.session()));
  HONE_RETURN_IF_ERROR(check_text("open.title", in.title(), kMaxText));
  HONE_RETURN_IF_ERROR(check_text("open.target_kind", in.target_kind(), kMaxName));
  HONE_RETURN_IF_ERROR(check_text("open.device_key", in.device_key(), kMaxName));
  HONE_RETURN_IF_ERROR(check_target("open.target", in.target(), kMaxText));
  HONE_RETURN_IF_ERROR(check_number("open.weight", in.weight(), 1e6));
  out.weight = or_default(in.weight(), 1.0);
  HONE_ASSIGN_OR_RETURN(out.labels, names_from("open.labels", in.labels()));
  for (const std::string& label : out.labels)
    if (label.find('=') == std::string::npos)
      return bad("open.labels", fmt::format("expected k=v, not '{}'", clean_line(label, kMaxName)));
  if (out.weight < 1e-6) return bad("open.weight", "smaller than 0.000001");
  out.title = in.title();
  out.target_kind = in.target_kind();
  out.device_key = in.device_key();
  out.priority = in.priority();
  out.target = in.target();
  return out;
}

Refused refused_from(const proto::Refused& in) { return {clean_line(in.reason(), kMaxText), in.retry()}; }

void refused_to(const Refused& in, proto::Refused* out) {
  out->set_reason(clean_line(in.reason, kMaxText));
  out->set_retry(in.retry);
}

}  // namespace

StatusOr<FromAgent> from_wire(proto::AgentToTracker&& in) {
  switch (in.kind_case()) {
    case proto::AgentToTracker::kHello: return hello_from(in.hello());
    case proto::AgentToTracker::kWant:
      HONE_RETURN_IF_ERROR(check_text("want.device", in.want().device(), kMaxName));
      HONE_RETURN_IF_ERROR(check_count("want.slots", in.want().slots(), kMaxLeasesPerMessage));
      return Want{in.want().device(), in.want().slots()};
    case proto::AgentToTracker::kHeartbeat: {
      HONE_ASSIGN_OR_RETURN(auto leases, leases_from(in.heartbeat().working()));
      Heartbeat out{std::move(leases), {}};
      HONE_RETURN_IF_ERROR(check_count("heartbeat.health", in.heartbeat().health_size(), kMaxDevices));
      for (const proto::DeviceHealth& health : in.heartbeat().health()) {
        HONE_ASSIGN_OR_RETURN(DeviceHealth one, health_from(health));
        out.health.push_back(std::move(one));
      }
      return out;
    }
    case proto::AgentToTracker::kResults: {
      AgentResults out;
      HONE_ASSIGN_OR_RETURN(out.results, results_from(in.results().results()));
      HONE_ASSIGN_OR_RETURN(out.leases, leases_from(in.results().leases()));
      if (out.results.size() != out.leases.size())
        return bad("results", fmt::format("{} results for {} leases", out.results.size(), out.leases.size()));
      for (size_t i = 0; i < out.results.size(); ++i)
        if (out.results[i].session != out.leases[i].session || out.results[i].seq != out.leases[i].seq)
          return bad("results", "a result is not for the job that its lease names");
      return out;
    }
    case proto::AgentToTracker::kBlobs: {
      HONE_ASSIGN_OR_RETURN(auto hashes, hashes_from(in.blobs().hashes()));
      return BlobRequest{std::move(hashes)};
    }
    case proto::AgentToTracker::kGiveBack: {
      HONE_ASSIGN_OR_RETURN(auto leases, leases_from(in.give_back().leases()));
      return GiveBack{std::move(leases), clean_line(in.give_back().reason(), kMaxText)};
    }
    case proto::AgentToTracker::kProof: {
      const proto::KeyProof& proof = in.proof();
      HONE_RETURN_IF_ERROR(check_text("proof.device", proof.device(), kMaxName));
      HONE_RETURN_IF_ERROR(check_size("proof.public_key", proof.public_key(), kPublicKeyBytes));
      HONE_RETURN_IF_ERROR(check_size("proof.signature", proof.signature(), kSignatureBytes));
      return KeyProof{proof.device(), proof.public_key(), proof.signature()};
    }
    case proto::AgentToTracker::KIND_NOT_SET: break;
  }
  return bad("kind", "missing, or unknown to this version");
}

StatusOr<ToAgent> from_wire(proto::TrackerToAgent&& in) {
  switch (in.kind_case()) {
    case proto::TrackerToAgent::kWelcome: {
      const proto::AgentWelcome& w = in.welcome();
      HONE_RETURN_IF_ERROR(check_number("welcome.heartbeat_s", w.heartbeat_s(), 3600));
      HONE_RETURN_IF_ERROR(check_number("welcome.lease_s", w.lease_s(), 86400));
      HONE_ASSIGN_OR_RETURN(auto forget, leases_from(w.forget()));
      if (!w.challenge().empty()) HONE_RETURN_IF_ERROR(check_size("welcome.challenge", w.challenge(), kNonceBytes));
      HONE_RETURN_IF_ERROR(check_number("welcome.now", w.now(), kMaxUnixSeconds));
      return AgentWelcome{w.heartbeat_s(), w.lease_s(), std::move(forget), w.challenge(), w.now()};
    }
    case proto::TrackerToAgent::kLeases: {
      Leases out;
      HONE_RETURN_IF_ERROR(check_count("leases", in.leases().leases_size(), kMaxLeasesPerMessage));
      for (const proto::Lease& lease : in.leases().leases()) {
        Lease one;
        HONE_ASSIGN_OR_RETURN(one.id, lease_from(lease.id()));
        HONE_ASSIGN_OR_RETURN(one.job, from_wire(lease.job()));
        HONE_RETURN_IF_ERROR(check_text("lease.device", lease.device(), kMaxName));
        one.device = lease.device();
        out.leases.push_back(std::move(one));
      }
      return out;
    }
    case proto::TrackerToAgent::kAck: {
      HONE_ASSIGN_OR_RETURN(auto leases, leases_from(in.ack().leases()));
      return ResultAck{std::move(leases)};
    }
    case proto::TrackerToAgent::kBlobs: return blobs_from(std::move(*in.mutable_blobs()));
    case proto::TrackerToAgent::kCancel: {
      HONE_ASSIGN_OR_RETURN(auto leases, leases_from(in.cancel().leases()));
      return Cancel{std::move(leases)};
    }
    case proto::TrackerToAgent::kTakeBack: {
      HONE_ASSIGN_OR_RETURN(auto leases, leases_from(in.take_back().leases()));
      return TakeBack{std::move(leases)};
    }
    case proto::TrackerToAgent::kRefused: return refused_from(in.refused());
    case proto::TrackerToAgent::kDrained: {
      HONE_ASSIGN_OR_RETURN(auto devices, drained_from("drained", in.drained().devices()));
      return Drained{std::move(devices)};
    }
    case proto::TrackerToAgent::KIND_NOT_SET: break;
  }
  return bad("kind", "missing, or unknown to this version");
}

StatusOr<FromSession> from_wire(proto::SessionToTracker&& in) {
  switch (in.kind_case()) {
    case proto::SessionToTracker::kOpen: return open_from(in.open());
    case proto::SessionToTracker::kSubmit: {
      Submit out;
      HONE_RETURN_IF_ERROR(check_count("submit.jobs", in.submit().jobs_size(), kMaxJobsPerMessage));
      for (const proto::Job& job : in.submit().jobs()) {
        HONE_ASSIGN_OR_RETURN(Job one, from_wire(job));
        out.jobs.push_back(std::move(one));
      }
      return out;
    }
    case proto::SessionToTracker::kBlobs: return blobs_from(std::move(*in.mutable_blobs()));
    case proto::SessionToTracker::kAck: {
      HONE_ASSIGN_OR_RETURN(auto seqs, seqs_from(in.ack().seqs()));
      return SessionAck{std::move(seqs)};
    }
    case proto::SessionToTracker::kCancel: {
      HONE_ASSIGN_OR_RETURN(auto seqs, seqs_from(in.cancel().seqs()));
      return CancelJobs{std::move(seqs)};
    }
    case proto::SessionToTracker::kSummary: return summary_from(in.summary());
    case proto::SessionToTracker::kClose: return SessionClose{clean_line(in.close().reason(), kMaxText)};
    case proto::SessionToTracker::KIND_NOT_SET: break;
  }
  return bad("kind", "missing, or unknown to this version");
}

StatusOr<ToSession> from_wire(proto::TrackerToSession&& in) {
  switch (in.kind_case()) {
    case proto::TrackerToSession::kOpened: {
      SessionOpened out;
      out.window = in.opened().window();
      if (out.window == 0) return bad("opened.window", "0");
      HONE_ASSIGN_OR_RETURN(out.devices, devices_from(in.opened().devices()));
      HONE_ASSIGN_OR_RETURN(out.known, seqs_from(in.opened().known()));
      HONE_RETURN_IF_ERROR(check_count("opened.notes", in.opened().notes_size(), kMaxNotes));
      for (const std::string& note : in.opened().notes()) out.notes.push_back(clean_line(note, kMaxText));
      HONE_RETURN_IF_ERROR(check_number("opened.now", in.opened().now(), kMaxUnixSeconds));
      out.now = in.opened().now();
      return out;
    }
    case proto::TrackerToSession::kResults: {
      HONE_ASSIGN_OR_RETURN(auto results, results_from(in.results().results()));
      return SessionResults{std::move(results)};
    }
    case proto::TrackerToSession::kBlobs: {
      HONE_ASSIGN_OR_RETURN(auto hashes, hashes_from(in.blobs().hashes()));
      return BlobRequest{std::move(hashes)};
    }
    case proto::TrackerToSession::kRefused: return refused_from(in.refused());
    case proto::TrackerToSession::kDevices: {
      HONE_ASSIGN_OR_RETURN(auto devices, devices_from(in.devices().devices()));
      return Devices{std::move(devices)};
    }
    case proto::TrackerToSession::KIND_NOT_SET: break;
  }
  return bad("kind", "missing, or unknown to this version");
}

void to_wire(FromAgent&& in, proto::AgentToTracker* out) {
  std::visit(Overloaded{
                 [&](AgentHello& m) {
                   proto::AgentHello& hello = *out->mutable_hello();
                   hello.set_protocol(m.protocol);
                   hello.set_name(clean_line(m.name, kMaxName));
                   hello.set_instance(m.instance.bytes());
                   for (const DeviceInfo& device : m.devices) device_to(device, hello.add_devices());
                   leases_to(m.held, hello.mutable_held());
                   hello.set_unacked_results(m.unacked_results);
                   for (const std::string& device : m.held_devices)
                     hello.add_held_devices(clean_line(device, kMaxName));
                   for (const std::string& device : m.drained) hello.add_drained(clean_line(device, kMaxName));
                 },
                 [&](Want& m) {
                   out->mutable_want()->set_device(clean_line(m.device, kMaxName));
                   out->mutable_want()->set_slots(m.slots);
                 },
                 [&](Heartbeat& m) {
                   leases_to(m.working, out->mutable_heartbeat()->mutable_working());
                   for (const DeviceHealth& health : m.health)
                     health_to(health, out->mutable_heartbeat()->add_health());
                 },
                 [&](AgentResults& m) {
                   for (const JobResult& result : m.results) to_wire(result, out->mutable_results()->add_results());
                   leases_to(m.leases, out->mutable_results()->mutable_leases());
                 },
                 [&](BlobRequest& m) {
                   out->mutable_blobs();
                   for (const Hash128& hash : m.hashes) out->mutable_blobs()->add_hashes(hash.bytes());
                 },
                 [&](GiveBack& m) {
                   leases_to(m.leases, out->mutable_give_back()->mutable_leases());
                   out->mutable_give_back()->set_reason(clean_line(m.reason, kMaxText));
                 },
                 [&](KeyProof& m) {
                   out->mutable_proof()->set_device(clean_line(m.device, kMaxName));
                   out->mutable_proof()->set_public_key(m.public_key);
                   out->mutable_proof()->set_signature(m.signature);
                 },
             },
             in);
}

void to_wire(ToAgent&& in, proto::TrackerToAgent* out) {
  std::visit(Overloaded{
                 [&](AgentWelcome& m) {
                   out->mutable_welcome()->set_heartbeat_s(m.heartbeat_s);
                   out->mutable_welcome()->set_lease_s(m.lease_s);
                   leases_to(m.forget, out->mutable_welcome()->mutable_forget());
                   out->mutable_welcome()->set_challenge(m.challenge);
                   out->mutable_welcome()->set_now(m.now);
                 },
                 [&](Leases& m) {
                   out->mutable_leases();
                   for (const Lease& lease : m.leases) {
                     proto::Lease& one = *out->mutable_leases()->add_leases();
                     lease_to(lease.id, one.mutable_id());
                     one.set_device(clean_line(lease.device, kMaxName));
                     to_wire(lease.job, one.mutable_job());
                   }
                 },
                 [&](ResultAck& m) { leases_to(m.leases, out->mutable_ack()->mutable_leases()); },
                 [&](Blobs& m) { blobs_to(std::move(m), out->mutable_blobs()); },
                 [&](Cancel& m) { leases_to(m.leases, out->mutable_cancel()->mutable_leases()); },
                 [&](TakeBack& m) { leases_to(m.leases, out->mutable_take_back()->mutable_leases()); },
                 [&](Refused& m) { refused_to(m, out->mutable_refused()); },
                 [&](Drained& m) {
                   out->mutable_drained();
                   for (const std::string& device : m.devices)
                     out->mutable_drained()->add_devices(clean_line(device, kMaxName));
                 },
             },
             in);
}

void to_wire(FromSession&& in, proto::SessionToTracker* out) {
  std::visit(Overloaded{
                 [&](SessionOpen& m) {
                   proto::SessionOpen& open = *out->mutable_open();
                   open.set_protocol(m.protocol);
                   open.set_session(m.session.bytes());
                   open.set_title(clean_line(m.title, kMaxText));
                   open.set_target_kind(clean_line(m.target_kind, kMaxName));
                   open.set_device_key(clean_line(m.device_key, kMaxName));
                   open.set_weight(m.weight);
                   open.set_priority(m.priority);
                   open.set_target(clean_line(m.target, kMaxText));
                   for (const std::string& label : m.labels) open.add_labels(clean_line(label, kMaxName));
                 },
                 [&](Submit& m) {
                   out->mutable_submit();
                   for (const Job& job : m.jobs) to_wire(job, out->mutable_submit()->add_jobs());
                 },
                 [&](Blobs& m) { blobs_to(std::move(m), out->mutable_blobs()); },
                 [&](SessionAck& m) { out->mutable_ack()->mutable_seqs()->Add(m.seqs.begin(), m.seqs.end()); },
                 [&](CancelJobs& m) { out->mutable_cancel()->mutable_seqs()->Add(m.seqs.begin(), m.seqs.end()); },
                 [&](Summary& m) { summary_to(m, out->mutable_summary()); },
                 [&](SessionClose& m) { out->mutable_close()->set_reason(clean_line(m.reason, kMaxText)); },
             },
             in);
}

void to_wire(ToSession&& in, proto::TrackerToSession* out) {
  std::visit(Overloaded{
                 [&](SessionOpened& m) {
                   out->mutable_opened()->set_window(m.window);
                   for (const DeviceInfo& device : m.devices) device_to(device, out->mutable_opened()->add_devices());
                   out->mutable_opened()->mutable_known()->Add(m.known.begin(), m.known.end());
                   for (const std::string& note : m.notes) out->mutable_opened()->add_notes(clean_line(note, kMaxText));
                   out->mutable_opened()->set_now(m.now);
                 },
                 [&](SessionResults& m) {
                   out->mutable_results();
                   for (const JobResult& result : m.results) to_wire(result, out->mutable_results()->add_results());
                 },
                 [&](BlobRequest& m) {
                   out->mutable_blobs();
                   for (const Hash128& hash : m.hashes) out->mutable_blobs()->add_hashes(hash.bytes());
                 },
                 [&](Refused& m) { refused_to(m, out->mutable_refused()); },
                 [&](Devices& m) {
                   out->mutable_devices();
                   for (const DeviceInfo& device : m.devices) device_to(device, out->mutable_devices()->add_devices());
                 },
             },
             in);
}

}  // namespace hone::wire
