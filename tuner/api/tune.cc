// hone_tune(): a session as the program tuner has it, with the caller's options.
#include "base/cli.h"
#include "compiler/ops/operator.h"
#include "tuner/api/call.h"
#include "tuner/api/caller.h"
#include "tuner/api/model_options.h"
#include "tuner/cli/tuner_flags.h"

using namespace hone;  // NOLINT(google-build-using-namespace): below is a C function, which has none

int32_t hone_tune(const char* const* options, int32_t count, const HoneCall* given, char** output) {
  return api::call(output, [&](std::ostream& out) {
    api::Caller caller(given);
    api::CallerStream err(caller);
    api::Given asked(options, count);
    CommandLine line;
    TunerFlags f;
    const OperatorTable operators = standard_operators();
    add_tuner_flags(line, operators, f);
    line.flag("--json").add_result("true");
    for (Json& object : asked.objects) {
      api::take_model_options(object, f);
      set_options(line, object);
    }
    TunerIo io{out, err};
    io.interrupts = [&] { return caller.stops(); };
    io.on_progress = [&](const Snapshot& s) { caller.progress(s); };
    return run_command(line, asked.words, [&] {
      f.read_before = {{kFlagsFile, flags_file(line)}};
      return tune(operators, f, io);
    });
  });
}
