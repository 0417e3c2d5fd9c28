#include "tests/unit/layering/layering.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <regex>
#include <set>
#include <sstream>

namespace hone::layering {

// The arrows of the architecture, below before above.
const std::vector<Room>& rooms() {
  static const std::vector<Room> table = {
      {"base", {}},
      {"db", {"base"}},
      {"compiler/ir", {"base"}},
      {"compiler/arith", {"compiler/ir"}},
      {"compiler/check", {"compiler/ir"}},
      {"compiler/te", {"compiler/arith"}},
      {"compiler/target", {"base"}},
      {"compiler/schedule", {"compiler/te", "compiler/target"}},
      // C that users get: no more than the ABI below it.
      {"compiler/runtime/include", {}},
      {"compiler/runtime/host_functions", {"compiler/runtime/include"}},
      // Texts of keys, and functions of elements; the operator as a type; the operators by kind; their spaces.
      {"compiler/ops/attributes", {"compiler/ir"}},
      {"compiler/ops/functions", {"compiler/ops/attributes", "compiler/te"}},
      {"compiler/ops", {"compiler/schedule", "compiler/runtime/host_functions", "compiler/ops/functions"}},
      {"compiler/ops/movement", {"compiler/ops"}},
      {"compiler/ops/by_row", {"compiler/ops"}},
      {"compiler/ops/host", {"compiler/ops/movement"}},
      {"compiler/ops/products", {"compiler/ops/movement"}},
      {"compiler/ops/windows", {"compiler/ops/products"}},
      {"compiler/ops/rewrite", {"compiler/ops/windows"}},
      {"compiler/ops/templates",
       {"compiler/ops/windows", "compiler/ops/by_row", "compiler/ops/host", "compiler/ops/rewrite"}},
      {"compiler/ops/templates/cpu", {"compiler/ops/templates"}},
      {"compiler/ops/templates/gpu", {"compiler/ops/templates"}},
      {"compiler/lower", {"compiler/schedule"}},
      // Definitions that users give, for the nodes of models.
      {"compiler/users", {"compiler/ops/rewrite", "compiler/lower"}},
      {"compiler/reference", {"compiler/ops/templates", "compiler/lower"}},
      {"compiler/graph", {"compiler/ops/templates", "compiler/users"}},
      // The passes by their purpose; the room over them knows their order alone, from one header.
      {"compiler/graph/passes", {"compiler/graph"}},
      {"compiler/graph/passes/movement", {"compiler/graph/passes"}},
      {"compiler/graph/passes/fuse", {"compiler/graph/passes"}},
      {"compiler/graph/passes/bytes", {"compiler/graph/passes"}},
      {"compiler/graph/passes/layouts", {"compiler/graph/passes"}},
      {"compiler/graph/batch", {"compiler/graph/passes"}},
      // Code that every reader of a format needs; a room for each format; and their table over them.
      {"compiler/frontend/lowering", {"compiler/graph/batch"}},
      {"compiler/frontend/lowering/operators", {"compiler/frontend/lowering"}},
      {"compiler/frontend/onnx/file", {"compiler/frontend/lowering/operators"}},
      {"compiler/frontend/onnx/node", {"compiler/frontend/onnx/file"}},
      {"compiler/frontend/onnx/operators", {"compiler/frontend/onnx/node"}},
      {"compiler/frontend/onnx/ragged", {"compiler/frontend/onnx/node"}},
      {"compiler/frontend/onnx", {"compiler/frontend/onnx/operators", "compiler/frontend/onnx/ragged"}},
      {"compiler/frontend/tflite/file", {"compiler/frontend/lowering/operators"}},
      {"compiler/frontend/tflite/node", {"compiler/frontend/tflite/file"}},
      {"compiler/frontend/tflite/operators", {"compiler/frontend/tflite/node"}},
      {"compiler/frontend/tflite/metadata", {"compiler/frontend/tflite/file"}},
      {"compiler/frontend/tflite", {"compiler/frontend/tflite/operators", "compiler/frontend/tflite/metadata"}},
      {"compiler/frontend", {"compiler/frontend/onnx", "compiler/frontend/tflite"}},
      {"compiler/runtime/pool", {"compiler/runtime/include"}},
      {"compiler/runtime/weights", {"compiler/runtime/include"}},
      {"compiler/runtime/variants", {"compiler/runtime/include"}},
      {"compiler/runtime/entry", {"compiler/runtime/include"}},
      {"compiler/runtime/denormals", {"compiler/runtime/include"}},
      {"compiler/runtime/launcher", {"compiler/runtime/include"}},
      {"compiler/api", {"compiler/runtime/pool", "compiler/runtime/variants"}},
      {"compiler/api/gpu", {"compiler/api", "compiler/runtime/launcher", "compiler/runtime/entry"}},
      {"compiler/runtime", {"compiler/target", "compiler/runtime/pool", "compiler/runtime/denormals"}},
      {"compiler/runtime/gpu", {"compiler/runtime", "compiler/runtime/launcher"}},
      {"compiler/codegen/legalize", {"compiler/arith", "compiler/target"}},
      {"compiler/codegen/artifact", {"compiler/ir", "compiler/target"}},
      {"compiler/codegen/llvm/machine", {"compiler/target"}},
      {"compiler/codegen/llvm/link", {"base"}},
      {"compiler/codegen/llvm/kernel", {"compiler/codegen/llvm/machine", "compiler/codegen/legalize"}},
      {"compiler/codegen/llvm/artifact", {"compiler/codegen/llvm/kernel", "compiler/codegen/artifact"}},
      {"compiler/codegen/llvm", {"compiler/codegen/llvm/artifact", "compiler/codegen/llvm/link"}},
      {"compiler/codegen/text", {"compiler/ir"}},
      {"compiler/codegen/gpu", {"compiler/codegen/legalize", "compiler/codegen/text"}},
      {"compiler/codegen/c", {"compiler/codegen/legalize", "compiler/codegen/text", "compiler/codegen/artifact"}},
      {"compiler/codegen/nvptx", {"compiler/codegen/llvm", "compiler/codegen/gpu"}},
      {"compiler/codegen/device", {"compiler/codegen/nvptx", "compiler/runtime/gpu"}},
      {"compiler/build",
       {"compiler/ops/templates/cpu", "compiler/ops/templates/gpu", "compiler/lower", "compiler/codegen/device",
        "compiler/codegen/c", "db"}},
      {"compiler/host", {"compiler/build", "compiler/reference", "compiler/check"}},
      {"compiler/model/pack", {"compiler/host", "compiler/frontend/lowering"}},
      {"compiler/model/plan", {"compiler/model/pack"}},
      {"compiler/model", {"compiler/model/plan"}},
      {"compiler/model/check", {"compiler/model"}},
      {"compiler/quantize", {"compiler/model/check", "compiler/frontend"}},
      {"compiler/report", {"base"}},
      // The request, as types; and the code that serves it.
      {"compiler/driver/request", {"compiler/quantize", "compiler/report"}},
      // Where a build runs; where its configs are from, and the lock that says so.
      {"compiler/driver/place", {"compiler/driver/request"}},
      {"compiler/driver/lock", {"compiler/driver/place"}},
      {"compiler/driver", {"compiler/driver/lock"}},
      {"compiler/cli", {"compiler/driver"}},
      {"rpc/wire/messages", {"base"}},
      {"rpc/wire/access", {"rpc/wire/messages"}},
      {"rpc/wire", {"rpc/wire/access"}},
      // Who gets in; an HTTP server and client behind it.
      {"rpc/gate", {"rpc/wire"}},
      {"rpc/http", {"rpc/gate"}},
      // A team's tophub over these: service and client, and its page.
      {"rpc/hub/web", {"rpc/http"}},
      {"rpc/hub", {"rpc/hub/web", "db"}},
      // Places of packages over the network.
      {"rpc/packages", {"rpc/http", "db"}},
      {"rpc/ir", {"compiler/arith"}},
      {"rpc/agent/sandbox", {"rpc/wire", "compiler/ir"}},
      {"rpc/agent/pipe", {"rpc/agent/sandbox", "compiler/runtime"}},
      {"rpc/agent/build", {"rpc/agent/pipe", "rpc/ir", "compiler/codegen/device"}},
      {"rpc/agent/run", {"rpc/agent/pipe", "compiler/check"}},
      {"rpc/agent/device", {"rpc/agent/run", "compiler/runtime/gpu"}},
      {"rpc/agent/supervise", {"rpc/agent/run", "rpc/wire", "compiler/target"}},
      // The programs.
      {"rpc/agent", {"rpc/agent/build", "rpc/agent/device", "rpc/agent/supervise"}},
      // The state of a tracker, below the rooms that change it.
      {"tracker/state", {"rpc/gate"}},
      {"tracker/jobs", {"tracker/state"}},
      {"tracker/fleet", {"tracker/jobs"}},
      {"tracker/dispatch", {"tracker/fleet"}},
      {"tracker/web", {"rpc/http"}},
      {"tracker", {"tracker/dispatch", "tracker/web"}},
      {"tracker/cli", {"tracker"}},
      // The search knows no wire and no database, so that it can be replayed without them.
      {"tuner/features", {"compiler/arith", "compiler/target"}},
      {"tuner/cost", {"base"}},
      {"tuner/search", {"tuner/features", "tuner/cost", "compiler/schedule"}},
      // How earlier trials and other tuners' logs teach a search; tophub does it without a wire too.
      {"tuner/transfer", {"tuner/search", "compiler/build"}},
      {"tuner/plot", {"db"}},
      {"tuner/measure", {"tuner/search", "compiler/host", "rpc/wire", "rpc/ir"}},
      {"tuner/session", {"tuner/measure", "tuner/transfer", "tuner/plot"}},
      {"tuner/driver", {"tuner/session", "compiler/driver"}},
      {"tuner/cli", {"tuner/driver", "compiler/cli", "rpc/hub", "rpc/packages"}},
      // libhone and the Python package: over everything, under nothing.
      {"tuner/api", {"tuner/cli", "compiler/api"}},
  };
  return table;
}

namespace {

// Files that one room may include of another that is closed to it otherwise.
const std::map<std::string_view, std::set<std::string_view>>& single_files() {
  static const std::map<std::string_view, std::set<std::string_view>> table = {
      // The artifact's ABI and its file of weights: plain C types that generated code must lay out alike.
      {"compiler/codegen/llvm/kernel", {"compiler/runtime/include/hone_runtime.h"}},
      {"compiler/codegen/llvm/artifact",
       {"compiler/runtime/include/hone_runtime.h", "compiler/runtime/entry/entry.h", "compiler/runtime/gpu_launch.h",
        "compiler/runtime/weights/weights_file.h"}},
      {"compiler/codegen/artifact", {"compiler/runtime/include/hone_runtime.h"}},
      // `tensorc run` describes a file before it is loaded in the same words as hone_open().
      {"compiler/cli", {"compiler/api/cpu_features.h", "compiler/api/shared_object.h"}},
      {"compiler/codegen/c", {"compiler/runtime/weights/weights_file.h"}},
      // A plain struct that emitters write and drivers read.
      {"compiler/codegen/gpu", {"compiler/runtime/gpu_launch.h"}},
      {"compiler/codegen/nvptx", {"compiler/runtime/gpu_launch.h"}},
  };
  return table;
}

struct ThirdParty {
  std::string_view header;               ///< a regular expression for all of the include's name
  std::vector<std::string_view> places;  ///< path prefixes of the files that may include it
};

const std::vector<ThirdParty>& third_parties() {
  static const std::vector<ThirdParty> table = {
      // LLVM's list of code generators has no lock: one place enters them.
      {"llvm/Support/TargetSelect.h", {"compiler/codegen/llvm/machine/llvm_targets.cc"}},
      {"(llvm|llvm-c|lld)/.*", {"compiler/codegen/llvm/", "compiler/codegen/nvptx/"}},
      {"sqlite3\\.h", {"db/sqlite.cc", "db/sqlite_watch.cc"}},
      {"pqxx/.*", {"db/team/postgres_"}},
      {"xgboost/.*", {"tuner/cost/xgb_model.cc"}},
      {"(grpc|grpcpp|google/protobuf)/.*", {"rpc/", "tracker/service", "compiler/frontend/onnx/"}},
      {"(.*/)?[a-z_]+(\\.grpc)?\\.pb\\.h", {"rpc/", "tracker/service", "compiler/frontend/onnx/"}},
      {"flatbuffers/.*", {"compiler/frontend/tflite/"}},
      {"(.*/)?[a-z_]+_generated\\.h", {"compiler/frontend/tflite/"}},
      {"boost/beast.*", {"rpc/http/"}},
      {"boost/.*", {"rpc/", "tracker/", "tuner/"}},
      {"prometheus/.*", {"tracker/metrics.cc"}},
      {"seccomp\\.h", {"rpc/agent/sandbox/syscall_filter.cc"}},
      {"openssl/.*", {"base/secure_hash.cc", "rpc/wire/", "rpc/gate/", "rpc/http/", "tracker/cli/"}},
      {"xxhash\\.h", {"base/hash.cc"}},
      {"zlib\\.h", {"compiler/frontend/tflite/metadata/zip.cc", "db/package/gzip.cc"}},
      // Types only: drivers are looked for at run time. No file may include CUDA's headers: the few declarations needed
      // are our own.
      {"CL/.*", {"compiler/runtime/gpu/opencl_", "compiler/api/gpu/opencl.c"}},
      {"(cuda.*|nvrtc)\\.h", {}},
      {"nlohmann/.*", {"base/json.h"}},
      {"spdlog/.*", {"base/log.", "base/log_fields.cc"}},
      // It takes seconds to compile.
      {"CLI/.*", {"base/command_line.cc", "base/cli.cc", "base/help.cc"}},
      {"pybind11/.*", {"tuner/api/python/"}},
      {"(dnnl|dnnl\\..*|cblas\\.h|benchmark/.*|gtest/.*|gmock/.*)", {}},
  };
  return table;
}

const Room* find_room(std::string_view name) {
  for (const Room& r : rooms())
    if (r.name == name) return &r;
  return nullptr;
}

void collect(std::string_view name, std::set<std::string_view>& out) {
  if (!out.insert(name).second) return;
  for (const std::string_view below : find_room(name)->may_include) collect(below, out);
}

struct Include {
  std::string name;
  bool quoted;
  int line;
};

std::vector<Include> includes_of(std::string_view text) {
  static const std::regex directive(R"(^\s*#\s*include\s*(["<])([^">]+)[">].*)");
  std::vector<Include> found;
  std::istringstream lines{std::string(text)};
  std::string line;
  std::smatch match;
  for (int number = 1; std::getline(lines, line); ++number)
    if (std::regex_match(line, match, directive)) found.push_back({match[2], match[1] == "\"", number});
  return found;
}

bool starts_with_any(std::string_view path, const std::vector<std::string_view>& prefixes) {
  for (const std::string_view prefix : prefixes)
    if (path.substr(0, prefix.size()) == prefix) return true;
  return false;
}

}  // namespace

std::string room_of(std::string_view path) {
  for (size_t slash = path.rfind('/'); slash != std::string_view::npos && slash > 0; slash = path.rfind('/', slash - 1))
    if (const std::string_view folder = path.substr(0, slash); find_room(folder)) return std::string(folder);
  return "";
}

const std::vector<std::string>& modules() {
  static const std::vector<std::string> folders = {"base", "db", "compiler", "rpc", "tracker", "tuner"};
  return folders;
}

std::vector<std::string> violations(std::string_view path, std::string_view text) {
  const std::string room = room_of(path);
  if (room.empty())
    return {fmt::format("{}: is in no room of the architecture; add its folder to the table in layering.cc", path)};
  std::set<std::string_view> allowed;
  collect(room, allowed);
  const auto single = single_files().find(room);

  std::vector<std::string> found;
  for (const Include& include : includes_of(text)) {
    const ThirdParty* third = nullptr;
    for (const ThirdParty& t : third_parties())
      if (!third && std::regex_match(include.name, std::regex(t.header.begin(), t.header.end()))) third = &t;
    if (third) {
      if (!starts_with_any(path, third->places))
        found.push_back(
            fmt::format("{}:{}: includes {}, which only {} may", path, include.line, include.name,
                        third->places.empty() ? "tests" : fmt::format("{}", fmt::join(third->places, ", "))));
      continue;
    }
    const std::string other = room_of(include.name);
    if (other.empty()) {
      // <vector>, <fmt/format.h> and "absl/…" belong to no room; any other quoted name is not written from the root.
      if (include.quoted && include.name.rfind("absl/", 0) != 0)
        found.push_back(
            fmt::format("{}:{}: includes \"{}\", which names no module: includes are written from the repository root",
                        path, include.line, include.name));
      continue;
    }
    if (allowed.count(other)) continue;
    if (single != single_files().end() && single->second.count(include.name)) continue;
    found.push_back(fmt::format("{}:{}: includes {}, but {} may not include {}; it may include {}", path, include.line,
                                include.name, room, other, fmt::join(allowed, ", ")));
  }
  return found;
}

}  // namespace hone::layering
