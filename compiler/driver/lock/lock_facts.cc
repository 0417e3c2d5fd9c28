#include "compiler/driver/lock/lock_facts.h"

#include <filesystem>
#include <utility>

#include "base/secure_hash.h"
#include "compiler/build/build.h"
#include "compiler/build/module_files.h"
#include "compiler/codegen/device/device_code.h"
#include "compiler/codegen/llvm/machine/host_target.h"
#include "compiler/frontend/model_reader.h"
#include "compiler/target/gpu_kinds.h"

namespace hone {
namespace {

namespace fs = std::filesystem;

std::string last_part(const std::string& path) { return fs::path(path).filename().string(); }

// Options as words of a command line; paths without their folders, which change nothing.
class Options {
 public:
  std::vector<std::string> words;

  void add(const char* flag, const std::string& text) {
    if (!text.empty()) words.push_back(std::string(flag) + " " + text);
  }
  void add_each(const char* flag, const auto& values, const auto& text) {
    for (const auto& value : values) add(flag, text(value));
  }
  void add_if(const char* flag, bool is_set) {
    if (is_set) words.emplace_back(flag);
  }
};

std::vector<std::string> options_of(const BuildRequest& r, const BuildPlace& place) {
  Options o;
  const auto words = [](const auto& choice) { return to_string(choice); };
  const auto itself = [](const std::string& text) { return text; };
  o.add_each("--bind", r.bind, words);
  o.add_each("--shape", r.shapes, words);
  if (r.model_batch != 1) o.add("--model-batch", std::to_string(r.model_batch));
  o.add_each("--input", r.formats, [](const InputFormat& f) { return f.text; });
  if (r.cache) o.add("--cache", to_string(*r.cache));
  o.add_each("--replace", r.replace, words);
  o.add("--accumulate", r.sums_in_f16 ? "f16" : "");
  if (!r.quantize.type.empty()) {
    o.add("--quantize", r.quantize.type);
    o.add_each("--keep", r.quantize.keep, itself);
  }
  if (!r.model.empty()) o.add("--optimize", std::to_string(r.optimize));
  o.add_each("--passes", r.passes, [](const UserPass& pass) { return pass.name; });
  o.add_each("--disable", r.disabled, itself);
  if (r.threads.size() > 1) o.add("--threads", threads_text(r.threads));  // else the target says it
  o.add("--denormals", std::string(name_of(place.denormals)));
  o.add_if("--assume-finite", r.assume_finite);
  o.add("--config", r.config);
  // Names in the artifact come from its own.
  const std::string form = r.emit.empty() ? "so" : r.emit;
  o.add("--emit", form);
  if (const std::string& name = r.output.empty() ? r.model : r.output; !name.empty())
    o.add("-o", entry_name(name, r.model.empty() ? 'k' : 'm'));
  o.add("--weights", last_part(r.weights));
  return o.words;
}

Status add_file(db::LockFile& lock, const std::string& name, const std::string& path) {
  HONE_ASSIGN_OR_RETURN(lock.inputs[name], sha256_of_file(path));
  return absl::OkStatus();
}

}  // namespace

StatusOr<db::LockFile> lock_facts(const BuildRequest& r, const BuildPlace& place) {
  db::LockFile lock;
  lock.hone_version = hone_version();
  lock.codegen_version = codegen_version();
  lock.target = to_string(place.target);
  if (place.target.is_gpu()) {
    lock.host = to_string(place.host);
    if (gpu_kind(place.target.kind).compiles_ahead) {
      const auto nvrtc = nvrtc_for(place.target, nvrtc_here());
      lock.device_code = nvrtc ? "NVRTC " + nvrtc->version() : "LLVM";
    }
  }
  lock.options = options_of(r, place);
  if (!r.model.empty())
    for (const std::string& path : model_files(r.model))
      HONE_RETURN_IF_ERROR(add_file(lock, path == r.model ? "model" : "model's data " + last_part(path), path));
  for (const BoundFile& file : r.bind_data)
    HONE_RETURN_IF_ERROR(add_file(lock, "--bind-data " + file.input, file.path));
  for (const std::string& path : r.operators)
    HONE_RETURN_IF_ERROR(add_file(lock, "--operators " + last_part(path), path));
  return lock;
}

}  // namespace hone
