// The functions of hone_compiler.h: each is a program's command with the caller's options.
#include <cstdlib>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/cli.h"
#include "base/json_options.h"
#include "compiler/api/last_error.h"
#include "compiler/build/build.h"
#include "compiler/cli/tensorc_flags.h"
#include "tuner/api/call.h"
#include "tuner/api/caller.h"
#include "tuner/api/model_options.h"
#include "tuner/api/pass_calls.h"
#include "tuner/cli/team_flags.h"
#include "tuner/cli/tophub_hooks.h"

namespace hone::api {
namespace {

// Ends a build.
struct Stopped {};

// `what`: sets the model or the operator that is built.
int32_t build(const std::function<void(CommandLine&)>& what, const char* artifact, const char* const* options,
              int32_t count, const HoneCall* given, char** output) {
  return call(output, [&](std::ostream& out) {
    HONE_USER_CHECK(artifact && *artifact) << "there is no path for the artifact";
    Caller caller(given);
    CallerStream err(caller);
    Given asked(options, count);
    CommandLine line;
    TensorcOptions o;
    const OperatorTable operators = standard_operators();
    add_tensorc_flags(line, operators, o);
    TeamFlags team;
    add_team_access_flags(line, team);
    for (const char* name :
         {"--fleet", "--tls-ca", "--tls-cert", "--tls-key", "--token-file", "--insecure", "--tophub", "--trust-tenant"})
      line.flag(name).hide();  // groups of the program's help have more
    set_tensorc_help(line);
    what(line);
    line.flag("-o").add_result(artifact);
    for (Json& object : asked.objects) {
      take_model_options(object, o);
      take_threads(object, o.threads);
      set_options(line, object);
    }
    o.passes = passes_of(given, operators);
    o.progress = [&](std::string_view doing, size_t done, size_t all) {
      const std::string text(doing);
      caller.progress(
          {.size = sizeof(HoneProgress), .what = text.c_str(), .done = done, .all = all, .seconds_left = -1});
      if (caller.stops() > 0) throw Stopped();
    };
    if (caller.defines())
      o.define = [&](const std::string& question) {
        std::optional<std::string> answer = caller.define(question);
        if (!answer) throw Stopped();
        return *std::move(answer);
      };
    return run_command(line, asked.words, [&]() -> Status {
      o.read_before = {{kFlagsFile, flags_file(line)}};
      HONE_ASSIGN_OR_RETURN(const Team opened, open_team(team, team.credentials, team.insecure));
      o.team = opened.source;
      try {
        return run_tensorc(operators, o, out, err);
      } catch (const Stopped&) {
        return interrupted_error("stopped; nothing was written");
      } catch (const PassStopped&) {
        return interrupted_error("a graph pass stopped it; nothing was written");
      }
    });
  });
}

}  // namespace
}  // namespace hone::api

using namespace hone;  // NOLINT(google-build-using-namespace): below are C functions, which have none

int32_t hone_compiler_version(void) { return HONE_COMPILER_VERSION; }

const char* hone_version(void) {
  static const std::string version = hone::hone_version();
  return version.c_str();
}

int32_t hone_compile(const char* model, const char* artifact, const char* const* options, int32_t count,
                     const HoneCall* call, char** output) {
  if (output) *output = nullptr;
  if (!model || !*model) return hone_fail(HONE_BAD_INPUT, "there is no path of a model");
  const auto what = [&](CommandLine& line) {
    line.flag("model").add_result(model);
    line.flag("--json").add_result("true");
  };
  return api::build(what, artifact, options, count, call, output);
}

int32_t hone_compile_operator(const char* workload, const char* artifact, const char* const* options, int32_t count,
                              const HoneCall* call, char** output) {
  if (output) *output = nullptr;
  if (!workload || !*workload) return hone_fail(HONE_BAD_INPUT, "there is no workload");
  const auto what = [&](CommandLine& line) {
    line.flag("--workload").add_result(workload);
    line.flag("--emit").add_result("so");
  };
  return api::build(what, artifact, options, count, call, output);
}

int32_t hone_tophub(const char* const* words, int32_t count, char** output) {
  return api::call(output, [&](std::ostream& out) {
    api::Given asked(words, count);
    const OperatorTable operators = standard_operators();
    db::CompilerHooks hooks = tophub_hooks(operators);
    std::istringstream nothing;
    hooks.in = &nothing;
    return db::run_tophub(asked.words, asked.objects, hooks, out);
  });
}

void hone_free_text(char* text) { free(text); }
