#include "compiler/build/pass_texts.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "base/exit_code.h"
#include "compiler/codegen/gpu/emit.h"
#include "compiler/codegen/legalize/legalize.h"
#include "compiler/ir/printer.h"
#include "compiler/lower/lower.h"

namespace hone {
namespace {

// Null when there is no pass of that name.
template <class P>
const Pass<P>* find_pass(const std::vector<Pass<P>>& passes, const std::string& name) {
  const auto it = std::find_if(passes.begin(), passes.end(), [&](const Pass<P>& p) { return p.name == name; });
  return it == passes.end() ? nullptr : &*it;
}

// `first` is a name beside those of the list, or empty.
template <class P>
Status check(const PassRequest& request, const std::vector<Pass<P>>& passes, std::string_view first) {
  const std::string known = first.empty() ? names_of(passes) : fmt::format("{}, {}", first, names_of(passes));
  if (!request.after.empty() && request.after != first && !find_pass(passes, request.after))
    return usage_error(fmt::format(":after={}: there is no such pass; there are {}", request.after, known));
  for (const std::string& name : request.left_out) {
    const Pass<P>* pass = find_pass(passes, name);
    if (!pass) return usage_error(fmt::format("--disable {}: there is no such pass; there are {}", name, known));
    if (pass->is_needed) return usage_error(fmt::format("--disable {}: what follows relies on it", name));
  }
  if (!request.after.empty() && request.left_out.contains(request.after))
    return usage_error(fmt::format(":after={}: --disable leaves that pass out", request.after));
  return absl::OkStatus();
}

// The program as it was after the pass.
Stmt run_until(const std::vector<Pass<Stmt>>& passes, const Stmt& body, const PassRequest& request) {
  Stmt seen;
  PassHooks<Stmt> hooks;
  hooks.left_out = request.left_out;
  hooks.after = [&](std::string_view pass, const Stmt& s, double) {
    if (pass == request.after) seen = s;
  };
  const Stmt all = run_passes(passes, body, hooks);
  return request.after.empty() ? all : seen;
}

}  // namespace

EmitForm emit_form(const std::string& text) {
  constexpr std::string_view kAfter = ":after=";
  const size_t at = text.find(kAfter);
  if (at == std::string::npos) return {text, ""};
  HONE_USER_CHECK(at + kAfter.size() < text.size())
      << "--emit " << text << ": a pass's name follows, " << text << "PASS";
  return {text.substr(0, at), text.substr(at + kAfter.size())};
}

StatusOr<std::string> lowered_text(const Workload& w, const Target& target, const Space& space, const Config& config,
                                   const PassRequest& request) {
  int64_t bytes = 0;
  HONE_RETURN_IF_ERROR(check(request, lower_passes(target.threads, &bytes), kLowerBlocks));
  std::string text;
  PassHooks<Function> hooks;
  hooks.left_out = request.left_out;
  hooks.after = [&](std::string_view pass, const Function& f, double) {
    if (pass == request.after) text += to_string(f) + "\n";
  };
  const Module m = lower_config(w, target, space, config, hooks);
  return request.after.empty() ? to_string(m) : text;
}

StatusOr<std::string> legalized_text(const Module& m, const Target& target, const PassRequest& request) {
  const auto passes = [&](int vector_bits) { return target.is_gpu() ? gpu_passes() : legalize_passes(vector_bits); };
  HONE_RETURN_IF_ERROR(check(request, passes(target.vector_bits), ""));
  Module out = m;
  const int bits = m.vector_bits > 0 ? m.vector_bits : target.vector_bits;
  for (Function& f : out.kernels) f.body = run_until(passes(bits), f.body, request);
  for (Prepack& p : out.prepacks) p.function.body = run_until(passes(target.vector_bits), p.function.body, request);
  return to_string(out);
}

}  // namespace hone
