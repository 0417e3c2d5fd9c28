#include "compiler/driver/operator_artifact.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>
#include <vector>

#include "base/atomic_file.h"
#include "base/exit_code.h"
#include "compiler/build/module_files.h"
#include "compiler/build/pass_texts.h"
#include "compiler/codegen/device/device_code.h"
#include "compiler/codegen/gpu/emit.h"
#include "compiler/codegen/llvm/compile.h"
#include "compiler/codegen/nvptx/emit.h"
#include "compiler/target/gpu_kinds.h"

namespace hone {
namespace {

class OperatorEmitter {
 public:
  OperatorEmitter(const BuildRequest& r, const PreparedOperator& op, const Module& m, CommandFiles files,
                  const Events& events)
      : r_(r),
        op_(op),
        target_(op.place.target),
        m_(m),
        name_(entry_name(r.output.empty() ? op.workload.operator_name() : r.output, 'k')),
        files_(std::move(files)),
        events_(events) {}

  StatusOr<std::string> emit() {
    const auto [form, after] = emit_form(r_.emit);
    HONE_RETURN_IF_ERROR(check_form(form));
    HONE_ASSIGN_OR_RETURN(std::string text, text_of(form, after));
    if (!text.empty() && !(r_.lock + r_.locked).empty())
      return usage_error(fmt::format("--emit {}: --lock and --locked belong to so, obj and c", r_.emit));
    if (text.empty()) {
      HONE_RETURN_IF_ERROR(write_artifact());
      return text;
    }
    files_.writes("-o", r_.output);
    HONE_RETURN_IF_ERROR(files_.check());
    if (r_.output.empty()) return text + (text.back() == '\n' ? "" : "\n");
    HONE_RETURN_IF_ERROR(write_atomically(r_.output, text));
    return std::string();
  }

 private:
  Denormals denormals() const { return op_.place.denormals; }

  Status check_form(const std::string& form) const {
    const GpuKind* const gpu = find_gpu_kind(target_.kind);
    const std::string forms =
        gpu ? fmt::format("ir, lowered, legalized, {}, {}so", gpu->texts, gpu->compiles_ahead ? "llvm, " : "")
            : "ir, lowered, legalized, llvm, asm, c, obj, so";
    if (form.empty() || (", " + forms + ",").find(", " + form + ",") == std::string::npos)
      return usage_error(fmt::format("--emit {}: for {} there is {}", r_.emit, target_.kind, forms));
    if (form != "lowered" && form != "legalized" && (form != r_.emit || !r_.disabled.empty()))
      return usage_error("--disable and :after=PASS belong to --emit lowered and --emit legalized");
    return absl::OkStatus();
  }

  // The artifact's text in the form `form`; empty when that form is not a text.
  StatusOr<std::string> text_of(const std::string& form, const std::string& after) const {
    const Config& config = op_.chosen.config;
    const PassRequest passes{after, {r_.disabled.begin(), r_.disabled.end()}};
    if (form == "ir") return scheduled_text(op_.workload, target_, op_.space, config);
    if (form == "lowered") return lowered_text(op_.workload, target_, op_.space, config, passes);
    if (form == "legalized") return legalized_text(m_, target_, passes);
    if (find_gpu_kind(form)) return gpu_text(m_, target_).text;
    if (form == "ptx") {
      PtxCode code = ptx_code(m_, target_, nvrtc_here());
      events_.tell("ptx: by " + code.by);
      return std::move(code.source.text);
    }
    if (form == "llvm")
      return target_.is_gpu() ? emit_ptx_llvm_text(m_, target_)
                              : emit_llvm_text(m_, target_, {.name = name_, .denormals = denormals()});
    if (form == "asm") return emit_asm_text(m_, target_, {.name = name_, .denormals = denormals()});
    return std::string();
  }

  // C, objects or a shared object, and the header that belongs to them.
  Status write_artifact() {
    ModuleFiles files{.target = target_, .host = op_.place.host, .name = name_};
    files.what = to_string(op_.workload);
    files.config = op_.space.print(op_.chosen.config);
    files.form = r_.emit;
    files.path = r_.output.empty() ? fmt::format("{}.{}", name_, r_.emit == "obj" ? "o" : r_.emit) : r_.output;
    files.sysroot = r_.sysroot;
    files.denormals = denormals();
    const MadeModule made = make_module(m_, files);
    if (!made.device_code_by.empty()) events_.tell("device code: by " + made.device_code_by);
    for (const std::string& file : made.paths) files_.writes(file == files.path ? "-o" : "an object beside it,", file);
    files_.writes("its header", made.header);
    if (!r_.lock.empty()) files_.writes("--lock", r_.lock);
    HONE_RETURN_IF_ERROR(files_.check());
    HONE_RETURN_IF_ERROR(write_module(
        m_, files, made, [&](FileSet& written, const auto& header) { return op_.configs->seal(written, header); }));
    events_.tell(fmt::format("wrote {} {}", fmt::join(made.paths, " "), made.header));
    return absl::OkStatus();
  }

  const BuildRequest& r_;
  const PreparedOperator& op_;
  const Target& target_;
  const Module& m_;
  const std::string name_;
  CommandFiles files_;
  const Events& events_;
};

}  // namespace

StatusOr<std::string> emit_operator(const BuildRequest& request, const PreparedOperator& op, const Module& m,
                                    CommandFiles files, const Events& events) {
  return OperatorEmitter(request, op, m, std::move(files), events).emit();
}

}  // namespace hone
