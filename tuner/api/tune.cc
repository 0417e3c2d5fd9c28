// hone_tune() and hone_tune_template(): a session as the program tuner has it, with the caller's options.
#include <algorithm>

#include "base/cli.h"
#include "compiler/ops/operator.h"
#include "tuner/api/call.h"
#include "tuner/api/caller.h"
#include "tuner/api/model_options.h"
#include "tuner/api/pass_calls.h"
#include "tuner/api/template_calls.h"
#include "tuner/cli/tuner_flags.h"
#include "tuner/measure/core_sharing.h"

namespace hone::api {
namespace {

// `calls`: a template, instead of what the options say is tuned; may be null.
CommandEnd tune_what(TemplateCalls* calls, const char* const* options, int32_t count, const HoneCall* given,
                     std::ostream& out) {
  Caller caller(given);
  CallerStream err(caller);
  Given asked(options, count);
  CommandLine line;
  TunerFlags f;
  const OperatorTable operators = standard_operators();
  add_tuner_flags(line, operators, f);
  line.flag("--json").add_result("true");
  for (Json& object : asked.objects) {
    take_model_options(object, f);
    set_options(line, object);
  }
  f.passes = passes_of(given, operators);
  TunerIo io{out, err};
  io.interrupts = [&] { return std::max(caller.stops(), calls && calls->is_stopped() ? 1 : 0); };
  io.on_progress = [&](const Snapshot& s) { caller.progress(s); };
  if (caller.defines())
    f.define = [&](const std::string& question) {
      std::optional<std::string> answer = caller.define(question);
      if (!answer) throw WorkStopped();
      return *std::move(answer);
    };
  return run_command(line, asked.words, [&]() -> Status {
    f.read_before = {{kFlagsFile, flags_file(line)}};
    if (calls) f.make_workload = [&](const Target& target) { return calls->workload(target); };
    HONE_USER_CHECK(!calls ||
                    (f.model.empty() && f.task.empty() && f.workload.empty() && f.args.empty() && f.tasks.empty()))
        << "a template is what is tuned: --model, --task, --workload, --args and --tasks exclude it";
    try {
      return tune(operators, f, io);
    } catch (const PassStopped&) {
      return interrupted_error("a graph pass stopped it; what was measured is kept");
    } catch (const WorkStopped&) {
      // By the template or an operator, before there was a session, or outside of its search.
      return interrupted_error("stopped; what was measured is kept, and the same call goes on from there");
    }
  });
}

}  // namespace
}  // namespace hone::api

using namespace hone;  // NOLINT(google-build-using-namespace): below are C functions, which have none

int32_t hone_tune(const char* const* options, int32_t count, const HoneCall* given, char** output) {
  return api::call(output, [&](std::ostream& out) { return api::tune_what(nullptr, options, count, given, out); });
}

int32_t hone_tune_template(const HoneTemplate* given, const char* const* options, int32_t count, const HoneCall* call,
                           char** output) {
  return api::call(output, [&](std::ostream& out) {
    HONE_USER_CHECK(given) << "there is no template";
    api::TemplateCalls calls(*given);
    return api::tune_what(&calls, options, count, call, out);
  });
}
