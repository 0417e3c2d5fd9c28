#include "compiler/cli/tensorc_model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "base/atomic_file.h"
#include "base/clock.h"
#include "base/exit_code.h"
#include "base/shell_command.h"
#include "base/time_text.h"
#include "compiler/build/pass_texts.h"
#include "compiler/build/reproducer.h"
#include "compiler/cli/check_line.h"
#include "compiler/cli/model_flags.h"
#include "compiler/cli/result_text.h"
#include "compiler/cli/tensorc_files.h"
#include "compiler/driver/build_report.h"
#include "compiler/driver/model_artifact.h"
#include "compiler/driver/model_layers.h"
#include "compiler/driver/prepared_model.h"
#include "compiler/driver/remote_layers.h"
#include "compiler/driver/run_variant.h"
#include "compiler/frontend/model_reader.h"
#include "compiler/report/report_files.h"

namespace hone {
namespace {

class ModelCommand {
 public:
  ModelCommand(const OperatorTable& operators, const TensorcOptions& o, std::ostream& out, std::ostream& err)
      : operators_(operators),
        o_(o),
        out_(out),
        err_(err),
        others_(o.cpu_account),
        events_{[&err](const std::string& line) { err << line << std::endl; }, o.progress} {}

  Status run() {
    HONE_ASSIGN_OR_RETURN(place_, find_build_place(o_, events_));
    HONE_ASSIGN_OR_RETURN(hub_, db::TopHub::open(o_.hub()));
    model_.emplace(operators_, o_, place_, *hub_, events_,
                   [this](const auto& binding, std::string_view pass, const Graph& g, bool in_check) {
                     keep(binding, pass, g, in_check);
                   });
    if (const auto [form, after] = emit_form(o_.emit); form == "graph") {
      HONE_ASSIGN_OR_RETURN(const std::string text, model_->graph_text(after));
      out_ << text;
      return absl::OkStatus();
    }
    if (o_.emit == "operators") return write_operators();
    HONE_ASSIGN_OR_RETURN(before_, check_report_flags(o_.reports, o_.compare));
    HONE_RETURN_IF_ERROR(artifact_.check(files_read(o_)));
    model_->prepare();
    model_->check_passes();
    if (!o_.inputs.empty()) {
      std::vector<VariantPorts> ports;
      for (const ModelVariant& v : model_->variants()) ports.push_back({v.graph, v.growth});
      HONE_ASSIGN_OR_RETURN(given_, GivenInputs::read(o_.inputs, ports, model_input_names(o_.model)));
    }
    HONE_RETURN_IF_ERROR(artifact_.build(model_->variants(), model_->configs(), model_->metadata()));
    if (model_->quantizer()) HONE_RETURN_IF_ERROR(report_quantization());
    return o_.reports.empty() ? answer() : answer_and_report();
  }

 private:
  Status write_operators() {
    CommandFiles files = files_read(o_);
    files.writes("-o", o_.output);
    HONE_RETURN_IF_ERROR(files.check());
    const std::string text = model_->operators_text();
    if (!o_.output.empty()) return write_atomically(o_.output, text);
    out_ << text;
    return absl::OkStatus();
  }

  const BuiltVariant& built(size_t v) const { return artifact_.built().variants[v]; }
  bool is_gpu() const { return place_.target.is_gpu(); }

  Status report_quantization() {
    const ChooseConfig choose = model_->configs();
    const ModelVariant& first = model_->variants()[0];
    const ModelQuantizer::Built as_built{*first.graph, built(0).layers, choose};
    const bool is_timed = place_.is_here() && !is_gpu() && first.target.threads == place_.here.threads;
    if (!is_timed) events_.tell("--quantize: no times, as what was built runs elsewhere");
    HONE_ASSIGN_OR_RETURN(const auto report, model_->quantizer()->report(is_timed ? &as_built : nullptr));
    if (report) out_ << quantization_text(*report);
    return absl::OkStatus();
  }

  // Does the requested work with the artifact, variant by variant.
  Status answer() {
    if (o_.json) out_ << artifact_.built().json << "\n";
    figures_.resize(model_->variants().size());
    for (size_t v = 0; v < figures_.size(); ++v) HONE_RETURN_IF_ERROR(answer_of_layers(v));
    if (place_.remote || !(o_.bench || o_.check || given_)) return absl::OkStatus();
    for (size_t v = 0; v < figures_.size(); ++v)
      if (given_.are_for(v)) HONE_RETURN_IF_ERROR(run_here(v));
    return absl::OkStatus();
  }

  Status answer_of_layers(size_t v) {
    const Graph& g = *model_->variants()[v].graph;
    const BuiltVariant& variant = built(v);
    if (!variant.name.empty() && (o_.explain || o_.profile)) out_ << variant.name << ":\n";
    if (o_.explain) out_ << layers_text(g, variant.layers, model_->of(v).notes, is_gpu());
    if (place_.remote) return o_.runs() || !o_.reports.empty() ? run_remotely(v) : absl::OkStatus();
    if (o_.profile || (!o_.reports.empty() && place_.is_here())) {
      const BusyMachine others(o_.cpu_account);
      HONE_ASSIGN_OR_RETURN(figures_[v].kernel_seconds, kernel_seconds(variant.layers, model_->variants()[v].target,
                                                                       place_.gpu.device(), place_.denormals));
      const std::string told = (others.seconds() < kEnoughToKnow ? others_ : others).told();
      if (!is_gpu() && !told.empty()) events_.tell(told + " while layers were timed: their times may be too long");
    }
    if (o_.profile) out_ << profile_text(g, variant.layers, figures_[v].kernel_seconds);
    return absl::OkStatus();
  }

  Status run_here(size_t v) {
    const ModelVariant& variant = model_->variants()[v];
    const std::string prefix = variant.name.empty() ? "" : variant.name + ": ";
    const int threads = o_.threads.empty() || is_gpu() ? place_.threads : variant.target.threads;
    const SteadyClock clock;
    CheckLine line(err_, prefix, clock);
    const CheckProgress progress = [&](const CheckStep& step) {
      line.tell(step);
      if (o_.progress) o_.progress(step.what, step.done, step.all);
    };
    const Status ran = run_variant(
        {variant.name, *variant.graph, model_->of(v).imported, built(v).layers, is_gpu() ? place_.here : variant.target,
         variant.growth, place_.denormals, place_.gpu.device(), &place_.target, &model_->metadata()},
        {o_.check, o_.bench, o_.check_seconds / static_cast<double>(figures_.size()), given_.tensors(), o_.cpu_account,
         progress},
        LoadedModel(artifact_.path(), artifact_.name(), threads, artifact_.weights(), v, place_.gpu.device()),
        &figures_[v], events_);
    out_ << run_text(figures_[v], prefix);
    return ran;
  }

  // The report includes a failure: to find a wrong layer, its error, config and neighbours are needed most.
  Status answer_and_report() {
    Status answered;
    try {
      answered = answer();
    } catch (const UserError& e) {
      tell_failure(e.what());
      report_beside_failure();
      throw;
    }
    if (answered.ok()) return report();
    tell_failure(message_of(answered));
    report_beside_failure();
    return answered;
  }

  // Notes the failure in variants without a result of --check yet: the first of them is the one that failed.
  void tell_failure(const std::string& what) {
    if (!o_.check) return;
    const auto is_told = [](const VariantFigures& f) { return f.is_wrong; };
    bool is_known = std::any_of(figures_.begin(), figures_.end(), is_told);
    for (VariantFigures& f : figures_)
      if (f.check.empty()) f.check = std::exchange(is_known, true) ? "not done: another variant failed" : what;
  }

  // The command returns the original error; if the report cannot be written, a note says so.
  void report_beside_failure() {
    if (const Status written = report(); !written.ok()) events_.tell(message_of(written));
  }

  Status report() {
    HONE_RETURN_IF_ERROR(
        write_reports(model_report(o_, place_, *model_, artifact_, figures_, events_), before_, o_.reports));
    events_.tell(fmt::format("wrote {}", fmt::join(o_.reports, " ")));
    return absl::OkStatus();
  }

  // The variant's layers on the fleet's device.
  Status run_remotely(size_t v) {
    const BuiltVariant& variant = built(v);
    const std::string device = place_.remote->name(), prefix = variant.name.empty() ? "" : variant.name + ": ";
    HONE_ASSIGN_OR_RETURN(const RemoteLayers r, measure_layers(variant.layers, *place_.remote, events_));
    figures_[v].kernel_seconds = r.seconds;
    const std::string in_c = r.in_c == 0 ? "" : fmt::format("; {} in C were not run", r.in_c);
    if (o_.check) {
      figures_[v].check = fmt::format("{} kernels agree with their references on {} (relative error {:.2g}){}",
                                      r.checked, device, r.rel_error, in_c);
      events_.tell(prefix + "check: " + figures_[v].check);
    }
    if (r.disturbed > 0 && (o_.bench || o_.profile))
      events_.tell(prefix + fmt::format("others used {} while {} of {} kernels were timed: the times may be too long",
                                        device, r.disturbed, r.checked));
    if (o_.profile) out_ << profile_text(*model_->variants()[v].graph, variant.layers, r.seconds);
    if (o_.bench)
      out_ << prefix
           << fmt::format("{} ms (the sum of {} layers, each by itself on {}{})\n", ms_text(r.sum),
                          variant.layers.calls.size(), device, in_c);
    return absl::OkStatus();
  }

  // Called when a pass fails, which is a bug of Hone or of a user's pass: writes a file that shows it.
  void keep(const ModelBinding& binding, std::string_view pass, const Graph& g, bool in_check) {
    const std::string error = fmt::format("a pass {} the graph of {}", in_check ? "changed" : "failed over", o_.model);
    const std::string emit = in_check ? "" : fmt::format("graph:after={}", pass);
    const auto written = write_reproducer(".", {std::string(pass), error, to_string(g)},
                                          graph_command(of_binding(o_, binding), emit), files_read(o_));
    events_.tell(written.ok() ? "what is needed to see this error again is in " + *written
                              : message_of(written.status()));
  }

  const OperatorTable& operators_;
  const TensorcOptions& o_;
  std::ostream &out_, &err_;
  const BusyMachine others_;  ///< since the command began
  const Events events_;
  BuildPlace place_;
  std::unique_ptr<db::TopHub> hub_;
  std::optional<PreparedModel> model_;
  ModelArtifact artifact_{o_, place_, events_};
  GivenInputs given_;
  std::vector<VariantFigures> figures_;  ///< of each variant
  std::optional<ModelReport> before_;    ///< of --compare
};

}  // namespace

Status run_tensorc_model(const OperatorTable& operators, const TensorcOptions& o, std::ostream& out,
                         std::ostream& err) {
  return ModelCommand(operators, o, out, err).run();
}

}  // namespace hone
