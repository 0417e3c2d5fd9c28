#include "tuner/measure/reference_job.h"

#include <algorithm>

#include "compiler/reference/reference.h"
#include "rpc/ir/encode.h"

namespace hone {
namespace {

// Seed of the inputs on which candidates and reference are compared, and of the samples.
constexpr uint64_t kInputSeed = 1;
// A reference that is computed beside a GPU takes all of the host's cores, up to this many.
constexpr int kMostReferenceThreads = 16;

}  // namespace

ReferenceJob reference_job(const Definition& d, const Target& target, double timeout_s) {
  ReferenceJob job;
  for (size_t o = 0; o < d.outputs.size(); ++o) job.reference.samples.push_back(reference_samples(d, o, kInputSeed));
  job.module = encode(reference_module(d, sample_counts(d, job.reference.samples),
                                       target.is_gpu() ? kMostReferenceThreads : target.threads));
  job.reference.seed = kInputSeed;
  job.reference.timeout_s = std::max(60.0, timeout_s);
  return job;
}

}  // namespace hone
