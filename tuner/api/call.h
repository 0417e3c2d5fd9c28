// How a C function of hone_compiler.h runs a command.
#pragma once

#include <cxxabi.h>

#include <cstdlib>
#include <cstring>
#include <new>
#include <sstream>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/exit_code.h"
#include "base/json_options.h"
#include "base/log.h"
#include "base/text.h"
#include "compiler/api/last_error.h"
#include "tuner/api/hone_compiler.h"
#include "tuner/api/no_signals.h"

namespace hone::api {

/// The caller's arguments: words as command lines have them, and JSON objects. UserError where they are none.
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

/// A command's exit code for callers of C.
inline int32_t code_of(int exit_code) {
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

/// Runs a command, whose output is handed over also where it ends with HONE_STOPPED, cleaned as programs' streams are.
/// Nothing is thrown.
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

}  // namespace hone::api
