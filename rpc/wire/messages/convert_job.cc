// Jobs and their results.
#include "rpc/wire/messages/convert_fields.h"

namespace hone::wire {
namespace detail {

StatusOr<Hash128> hash_from(std::string_view field, const std::string& bytes) {
  if (bytes.size() != 16) return bad(field, fmt::format("{} bytes, a hash has 16", bytes.size()));
  return Hash128::from_bytes(bytes);
}

StatusOr<Uuid> uuid_from(std::string_view field, const std::string& bytes) {
  const auto uuid = Uuid::from_bytes(bytes);
  if (!uuid || uuid->is_zero()) return bad(field, "not a uuid of 16 bytes");
  return *uuid;
}

StatusOr<ResultStatus> status_from(int value) {
  if (value < static_cast<int>(ResultStatus::kOk) || value > static_cast<int>(ResultStatus::kCancelled))
    return bad("status", fmt::format("{} is not a result status", value));
  return static_cast<ResultStatus>(value);
}

}  // namespace detail

using namespace detail;

namespace {

constexpr double kDay = 86400;

StatusOr<MeasureProfile> profile_from(const proto::MeasureProfile& in) {
  const MeasureProfile standard;
  HONE_RETURN_IF_ERROR(check_count("profile.warmup", in.warmup(), kMaxTimesPerCandidate));
  HONE_RETURN_IF_ERROR(check_count("profile.repeats", in.repeats(), kMaxTimesPerCandidate));
  HONE_RETURN_IF_ERROR(check_count("profile.refine_repeats", in.refine_repeats(), kMaxTimesPerCandidate));
  HONE_RETURN_IF_ERROR(check_count("profile.threads", in.threads(), 4096));
  HONE_RETURN_IF_ERROR(check_number("profile.min_repeat_ms", in.min_repeat_ms(), kDay));
  HONE_RETURN_IF_ERROR(check_number("profile.refine_repeat_ms", in.refine_repeat_ms(), kDay));
  HONE_RETURN_IF_ERROR(check_number("profile.best_seconds", in.best_seconds(), 1e300));
  HONE_RETURN_IF_ERROR(check_number("profile.censor_factor", in.censor_factor(), 1e300));
  HONE_RETURN_IF_ERROR(check_number("profile.refine_factor", in.refine_factor(), 1e300));
  HONE_RETURN_IF_ERROR(check_number("profile.build_timeout_s", in.build_timeout_s(), kDay));
  HONE_RETURN_IF_ERROR(check_number("profile.run_timeout_s", in.run_timeout_s(), kDay));
  MeasureProfile out;
  out.warmup = or_default(in.warmup(), standard.warmup);
  out.repeats = or_default(in.repeats(), standard.repeats);
  out.min_repeat_ms = or_default(in.min_repeat_ms(), standard.min_repeat_ms);
  out.best_seconds = in.best_seconds();
  out.censor_factor = or_default(in.censor_factor(), standard.censor_factor);
  out.refine_factor = or_default(in.refine_factor(), standard.refine_factor);
  out.refine_repeats = or_default(in.refine_repeats(), standard.refine_repeats);
  out.refine_repeat_ms = or_default(in.refine_repeat_ms(), standard.refine_repeat_ms);
  out.flush_cache = in.flush_cache();
  out.build_timeout_s = or_default(in.build_timeout_s(), standard.build_timeout_s);
  out.run_timeout_s = or_default(in.run_timeout_s(), standard.run_timeout_s);
  out.threads = in.threads();
  out.cold_constants = in.cold_constants();
  out.cold_bytes = in.cold_bytes();
  return out;
}

void profile_to(const MeasureProfile& in, proto::MeasureProfile* out) {
  out->set_warmup(in.warmup);
  out->set_repeats(in.repeats);
  out->set_min_repeat_ms(in.min_repeat_ms);
  out->set_best_seconds(in.best_seconds);
  out->set_censor_factor(finite(in.censor_factor));
  out->set_refine_factor(finite(in.refine_factor));
  out->set_refine_repeats(in.refine_repeats);
  out->set_refine_repeat_ms(in.refine_repeat_ms);
  out->set_flush_cache(in.flush_cache);
  out->set_build_timeout_s(in.build_timeout_s);
  out->set_run_timeout_s(in.run_timeout_s);
  out->set_threads(in.threads);
  out->set_cold_constants(in.cold_constants);
  out->set_cold_bytes(in.cold_bytes);
}

StatusOr<Reference> reference_from(const proto::Reference& in) {
  Reference out;
  HONE_ASSIGN_OR_RETURN(out.module_hash, hash_from("reference.module_hash", in.module_hash()));
  HONE_RETURN_IF_ERROR(check_number("reference.timeout_s", in.timeout_s(), kDay));
  HONE_RETURN_IF_ERROR(check_count("reference.samples", in.samples_size(), kMaxOutputs));
  size_t indices = 0;
  for (const proto::Samples& samples : in.samples()) indices += static_cast<size_t>(samples.indices_size());
  HONE_RETURN_IF_ERROR(check_count("reference.samples", indices, kMaxSamples));
  for (const proto::Samples& samples : in.samples()) {
    for (const int64_t index : samples.indices())
      if (index < 0) return bad("reference.samples", fmt::format("{} is negative", index));
    out.samples.emplace_back(samples.indices().begin(), samples.indices().end());
  }
  out.seed = in.seed();
  out.timeout_s = or_default(in.timeout_s(), Reference().timeout_s);
  return out;
}

StatusOr<BuildPayload> build_from(const proto::BuildPayload& in) {
  BuildPayload out;
  HONE_RETURN_IF_ERROR(check_target("job.build.target", in.target(), kMaxText));
  HONE_RETURN_IF_ERROR(check_text("job.build.codegen", in.codegen(), kMaxName));
  HONE_RETURN_IF_ERROR(check_size("job.build.nonce", in.nonce(), kNonceBytes));
  HONE_ASSIGN_OR_RETURN(out.scope, hash_from("job.build.scope", in.scope()));
  out.target = in.target(), out.codegen = in.codegen(), out.nonce = in.nonce();
  return out;
}

void build_to(const BuildPayload& in, proto::BuildPayload* out) {
  out->set_target(in.target);
  out->set_codegen(in.codegen);
  out->set_nonce(in.nonce);
  out->set_scope(in.scope.bytes());
}

StatusOr<SignedObject> object_from(const proto::SignedObject& in) {
  HONE_RETURN_IF_ERROR(check_count("result.built.object", in.object().size(), kMaxObjectBytes));
  HONE_RETURN_IF_ERROR(check_count("result.built.info", in.info().size(), kMaxObjectInfoBytes));
  HONE_RETURN_IF_ERROR(check_size("result.built.signature", in.signature(), kSignatureBytes));
  return SignedObject{in.object(), in.info(), in.expires(), in.signature()};
}

void object_to(const SignedObject& in, proto::SignedObject* out) {
  out->set_object(in.object);
  out->set_info(in.info);
  out->set_expires(in.expires);
  out->set_signature(in.signature);
}

StatusOr<CandidateResult> candidate_from(const proto::CandidateResult& in) {
  CandidateResult out;
  HONE_ASSIGN_OR_RETURN(out.status, status_from(in.status()));
  HONE_RETURN_IF_ERROR(check_text("message", in.message(), kMaxText));
  HONE_RETURN_IF_ERROR(check_count("times", in.times_size(), kMaxTimesPerCandidate));
  for (const double time : in.times()) HONE_RETURN_IF_ERROR(check_number("times", time, kDay));
  if (out.status == ResultStatus::kOk && in.times_size() == 0) return bad("times", "an ok result has at least one");
  HONE_RETURN_IF_ERROR(check_number("rel_error", in.rel_error(), 1e300));
  HONE_RETURN_IF_ERROR(check_number("max_error", in.max_error(), 1e300));
  out.message = in.message();
  out.times.assign(in.times().begin(), in.times().end());
  out.censored = in.censored();
  out.rel_error = in.rel_error();
  out.max_error = in.max_error();
  return out;
}

void candidate_to(const CandidateResult& in, proto::CandidateResult* out) {
  ResultStatus status = in.status;
  std::string message = in.message;
  for (const double time : in.times)
    if (std::isfinite(time) && time >= 0 && time <= kDay && out->times_size() < static_cast<int>(kMaxTimesPerCandidate))
      out->add_times(time);
  if (status == ResultStatus::kOk && out->times_size() == 0) {
    status = ResultStatus::kRunFailed;
    message = "the run ended without a valid time";
  }
  out->set_status(static_cast<proto::ResultStatus>(status));
  out->set_message(clean_line(message, kMaxText));
  out->set_censored(in.censored);
  out->set_rel_error(finite(in.rel_error));
  out->set_max_error(finite(in.max_error));
}

}  // namespace

StatusOr<Job> from_wire(const proto::Job& in) {
  Job out;
  out.seq = in.seq();
  switch (in.payload_case()) {
    case proto::Job::kModules:
      if (in.modules().module_hash_size() == 0) return bad("job.modules", "empty");
      HONE_RETURN_IF_ERROR(check_count("job.modules", in.modules().module_hash_size(), kMaxModulesPerJob));
      for (const std::string& bytes : in.modules().module_hash()) {
        HONE_ASSIGN_OR_RETURN(const Hash128 hash, hash_from("job.modules", bytes));
        out.modules.push_back(hash);
      }
      break;
    case proto::Job::kFake: {
      FakePayload fake;
      HONE_RETURN_IF_ERROR(check_number("job.fake.run_seconds", in.fake().run_seconds(), kDay));
      HONE_RETURN_IF_ERROR(check_count("job.fake.padding", in.fake().padding().size(), 1 << 20));
      HONE_ASSIGN_OR_RETURN(fake.status, status_from(static_cast<int>(std::min<uint32_t>(in.fake().status(), 1000))));
      fake.run_seconds = in.fake().run_seconds();
      fake.padding = in.fake().padding();
      out.fake = std::move(fake);
      break;
    }
    case proto::Job::PAYLOAD_NOT_SET: return bad("job.payload", "missing, or of a kind unknown to this version");
  }
  HONE_ASSIGN_OR_RETURN(out.profile, profile_from(in.profile()));
  if (in.has_reference()) {
    HONE_ASSIGN_OR_RETURN(out.reference, reference_from(in.reference()));
  }
  if (in.has_build()) {
    if (out.modules.size() != 1 || out.reference) return bad("job.build", "expected one module and no reference");
    HONE_ASSIGN_OR_RETURN(out.build, build_from(in.build()));
  }
  return out;
}

void to_wire(const Job& in, proto::Job* out) {
  out->set_seq(in.seq);
  if (in.fake) {
    out->mutable_fake()->set_run_seconds(in.fake->run_seconds);
    out->mutable_fake()->set_status(static_cast<uint32_t>(in.fake->status));
    out->mutable_fake()->set_padding(in.fake->padding);
  } else {
    for (const Hash128& hash : in.modules) out->mutable_modules()->add_module_hash(hash.bytes());
  }
  profile_to(in.profile, out->mutable_profile());
  if (in.reference) {
    proto::Reference& reference = *out->mutable_reference();
    reference.set_module_hash(in.reference->module_hash.bytes());
    reference.set_seed(in.reference->seed);
    for (const std::vector<int64_t>& indices : in.reference->samples)
      reference.add_samples()->mutable_indices()->Add(indices.begin(), indices.end());
    reference.set_timeout_s(in.reference->timeout_s);
  }
  if (in.build) build_to(*in.build, out->mutable_build());
}

StatusOr<JobResult> from_wire(const proto::JobResult& in) {
  JobResult out;
  HONE_ASSIGN_OR_RETURN(out.session, uuid_from("result.session", in.session()));
  if (in.candidates_size() == 0) return bad("result.candidates", "empty");
  HONE_RETURN_IF_ERROR(check_count("result.candidates", in.candidates_size(), kMaxModulesPerJob));
  for (const proto::CandidateResult& candidate : in.candidates()) {
    HONE_ASSIGN_OR_RETURN(CandidateResult one, candidate_from(candidate));
    out.candidates.push_back(std::move(one));
  }
  HONE_RETURN_IF_ERROR(check_text("result.device", in.device(), kMaxName));
  const proto::PhaseTimes& p = in.phases();
  for (const double seconds : {p.queue(), p.transfer(), p.build(), p.check(), p.run(), p.reference(), p.idle()})
    HONE_RETURN_IF_ERROR(check_number("result.phases", seconds, 1e9));
  for (const double seconds : {in.sentinel_before(), in.sentinel_after()})
    HONE_RETURN_IF_ERROR(check_number("result.sentinel", seconds, kDay));
  out.seq = in.seq();
  out.phases = {p.queue(), p.transfer(), p.build(), p.check(), p.run(), p.reference(), p.idle()};
  out.device = in.device();
  out.sentinel_before = in.sentinel_before();
  out.sentinel_after = in.sentinel_after();
  out.attempts = in.attempts();
  out.drifted = in.drifted();
  out.remeasured = in.remeasured();
  if (in.has_built()) {
    HONE_ASSIGN_OR_RETURN(out.built, object_from(in.built()));
  }
  if (in.has_machine()) {
    HONE_ASSIGN_OR_RETURN(out.machine, machine_from(in.machine()));
  }
  return out;
}

void to_wire(const JobResult& in, proto::JobResult* out) {
  const auto seconds = [](double value, double most) { return std::min(finite(value), most); };
  out->set_session(in.session.bytes());
  out->set_seq(in.seq);
  for (const CandidateResult& candidate : in.candidates) candidate_to(candidate, out->add_candidates());
  proto::PhaseTimes& p = *out->mutable_phases();
  p.set_queue(seconds(in.phases.queue, 1e9));
  p.set_transfer(seconds(in.phases.transfer, 1e9));
  p.set_build(seconds(in.phases.build, 1e9));
  p.set_check(seconds(in.phases.check, 1e9));
  p.set_run(seconds(in.phases.run, 1e9));
  p.set_reference(seconds(in.phases.reference, 1e9));
  p.set_idle(seconds(in.phases.idle, 1e9));
  out->set_device(clean_line(in.device, kMaxName));
  out->set_sentinel_before(seconds(in.sentinel_before, kDay));
  out->set_sentinel_after(seconds(in.sentinel_after, kDay));
  out->set_attempts(in.attempts);
  out->set_drifted(in.drifted);
  out->set_remeasured(in.remeasured);
  if (in.built) object_to(*in.built, out->mutable_built());
  if (in.machine) machine_to(*in.machine, out->mutable_machine());
}

}  // namespace hone::wire
