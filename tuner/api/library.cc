// The functions of hone_compiler.h: each is a program's command with the caller's options.
#include <cxxabi.h>

#include <cstdlib>
#include <cstring>
#include <functional>
#include <new>
#include <sstream>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/cli.h"
#include "base/json_options.h"
#include "base/log.h"
#include "base/text.h"
#include "compiler/api/last_error.h"
#include "compiler/build/build.h"
#include "compiler/cli/tensorc_flags.h"
#include "tuner/api/caller.h"
#include "tuner/api/model_options.h"
#include "tuner/api/no_signals.h"
#include "tuner/cli/tophub_hooks.h"
#include "tuner/cli/tuner_flags.h"

namespace hone::api {
namespace {

// Ends a build.
struct Stopped {};

// The caller's arguments: words as command lines have them, and JSON objects.
struct Given {
  std::vector<std::string> words;
  std::vector<Json> objects;

  Given(const char* const* options, int32_t count) {
    HONE_USER_CHECK(count >= 0 && (count == 0 || options)) << count << " options, and no list of them";
    for (int32_t i = 0; i < count; ++i) {
      HONE_USER_CHECK(options[i]) << "option " << i << " is null";
      words.emplace_back(options[i]);
    }
    objects = take_json(words);
  }
};

int32_t code_of(int exit_code) {
  switch (exit_code) {
    case kExitDone: return HONE_OK;
    case kExitUsage:
    case kExitDiffers: return HONE_BAD_INPUT;  // an expected output that was given
    case kExitNoDevice: return HONE_NO_DEVICE;
    case kExitAllFailed: return HONE_ALL_FAILED;
    case kExitDatabase: return HONE_BAD_DATABASE;
    case kExitInterrupted: return HONE_STOPPED;
    default: return HONE_INTERNAL;
  }
}

// Runs a command, whose output is handed over also where it ends with HONE_STOPPED, cleaned as programs' streams are.
// Nothing is thrown.
template <class F>
int32_t call(char** output, const F& command) {
  if (output) *output = nullptr;
  try {
    const NoSignals none;
    init_library_log("hone");
    std::ostringstream out;
    const CommandEnd end = command(out);
    const int32_t code = code_of(end.code);
    if (code == HONE_OK || code == HONE_STOPPED) {
      // The text of --help is output, too.
      const std::string text = clean_lines(out.str() + (code == HONE_OK ? end.text : ""));
      if (output && !(*output = strdup(text.c_str()))) throw std::bad_alloc();
    }
    return code == HONE_OK ? code : hone_fail(code, "%s", end.text.c_str());
  } catch (const UserError& e) {
    return hone_fail(HONE_BAD_INPUT, "%s", clean_lines(e.what()).c_str());
  } catch (const std::bad_alloc&) {
    return hone_fail(HONE_NO_MEMORY, "not enough memory");
  } catch (const std::exception& e) {
    return hone_fail(HONE_INTERNAL, "internal error: %s; this is a bug: please report it with this text", e.what());
  } catch (const abi::__forced_unwind&) {
    throw;  // the thread is being ended
  } catch (...) {
    return hone_fail(HONE_INTERNAL, "internal error: something unknown was thrown; this is a bug");
  }
}

// `what`: sets the model or the operator that is built.
int32_t build(const std::function<void(CLI::App&)>& what, const char* artifact, const char* const* options,
              int32_t count, const HoneCall* given, char** output) {
  return call(output, [&](std::ostream& out) {
    HONE_USER_CHECK(artifact && *artifact) << "there is no path for the artifact";
    Caller caller(given);
    CallerStream err(caller);
    Given asked(options, count);
    CLI::App app;
    TensorcOptions o;
    const OperatorTable operators = standard_operators();
    add_tensorc_flags(app, operators, o);
    set_tensorc_help(app);
    what(app);
    app.get_option("-o")->add_result(artifact);
    for (Json& object : asked.objects) {
      take_model_options(object, o);
      take_threads(object, o.threads);
      set_options(app, object);
    }
    o.progress = [&](std::string_view doing, size_t done, size_t all) {
      const std::string text(doing);
      caller.progress(
          {.size = sizeof(HoneProgress), .what = text.c_str(), .done = done, .all = all, .seconds_left = -1});
      if (caller.stops() > 0) throw Stopped();
    };
    return run_command(app, asked.words, [&]() -> Status {
      o.read_before = {{kFlagsFile, flags_file(app)}};
      try {
        return run_tensorc(operators, o, out, err);
      } catch (const Stopped&) {
        return interrupted_error("stopped; nothing was written");
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
  const auto what = [&](CLI::App& app) {
    app.get_option("model")->add_result(model);
    app.get_option("--json")->add_result("true");
  };
  return api::build(what, artifact, options, count, call, output);
}

int32_t hone_compile_operator(const char* workload, const char* artifact, const char* const* options, int32_t count,
                              const HoneCall* call, char** output) {
  if (output) *output = nullptr;
  if (!workload || !*workload) return hone_fail(HONE_BAD_INPUT, "there is no workload");
  const auto what = [&](CLI::App& app) {
    app.get_option("--workload")->add_result(workload);
    app.get_option("--emit")->add_result("so");
  };
  return api::build(what, artifact, options, count, call, output);
}

int32_t hone_tune(const char* const* options, int32_t count, const HoneCall* given, char** output) {
  return api::call(output, [&](std::ostream& out) {
    api::Caller caller(given);
    api::CallerStream err(caller);
    api::Given asked(options, count);
    CLI::App app;
    TunerFlags f;
    const OperatorTable operators = standard_operators();
    add_tuner_flags(app, operators, f);
    app.get_option("--json")->add_result("true");
    for (Json& object : asked.objects) {
      api::take_model_options(object, f);
      set_options(app, object);
    }
    TunerIo io{out, err};
    io.interrupts = [&] { return caller.stops(); };
    io.on_progress = [&](const Snapshot& s) { caller.progress(s); };
    return run_command(app, asked.words, [&] {
      f.read_before = {{kFlagsFile, flags_file(app)}};
      return tune(operators, f, io);
    });
  });
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
