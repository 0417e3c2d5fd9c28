#include "compiler/build/reproducer.h"

#include <fmt/format.h>

#include "base/atomic_file.h"
#include "compiler/codegen/gpu/emit.h"
#include "compiler/codegen/legalize/legalize.h"
#include "compiler/ir/printer.h"

namespace hone {
namespace {

template <class P>
PassHooks<P> keep_failure(std::optional<PassFailure>* failure) {
  PassHooks<P> hooks;
  hooks.on_failure = [failure](std::string_view pass, const P& program) {
    failure->emplace(PassFailure{std::string(pass), "", to_string(program)});
  };
  return hooks;
}

}  // namespace

std::optional<PassFailure> failure_of(const std::vector<Pass<Stmt>>& passes, const Stmt& program) {
  std::optional<PassFailure> failure;
  try {
    run_passes(passes, program, keep_failure<Stmt>(&failure));
  } catch (const InternalError& e) {
    if (failure) failure->error = e.what();
  }
  return failure;
}

std::optional<PassFailure> find_failure(const Workload& w, const Target& target, const Space& space,
                                        const Config& config) {
  std::optional<PassFailure> failure;
  try {
    const Module m = lower_config(w, target, space, config, keep_failure<Function>(&failure));
    const int bits = m.vector_bits > 0 ? m.vector_bits : target.vector_bits;
    for (const Function& f : m.kernels)
      if (auto found = failure_of(target.is_gpu() ? gpu_passes() : legalize_passes(bits), f.body)) return found;
  } catch (const InternalError& e) {
    if (failure) failure->error = e.what();
  }
  return failure;
}

StatusOr<std::string> write_reproducer(const std::string& folder, const PassFailure& failure,
                                       const std::string& command, CommandFiles files) {
  const std::string path = fmt::format("{}/tensorc-{}.txt", folder, failure.pass);
  files.writes("what shows the error", path);
  HONE_RETURN_IF_ERROR(files.check());
  HONE_RETURN_IF_ERROR(write_atomically(path, fmt::format("{}\n\nShown by:\n{}\n\nWhat the pass was given:\n{}\n",
                                                          failure.error, command, failure.program)));
  return path;
}

}  // namespace hone
