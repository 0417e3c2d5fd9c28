#include "compiler/driver/run_variant.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/check.h"
#include "base/exit_code.h"
#include "compiler/driver/best_labels.h"
#include "compiler/driver/check_gpu_layers.h"
#include "compiler/driver/place/build_gpu.h"
#include "compiler/graph/extents.h"
#include "compiler/model/check/check_layers.h"
#include "compiler/model/check/check_whole.h"
#include "compiler/model/model_data.h"
#include "compiler/model/refused_branch.h"

namespace hone {
namespace {

double seconds_from(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// The share of the check's time that is kept for comparing the whole model, whatever the layers take.
constexpr double kLeastOfWhole = 0.25;
constexpr const char* kMoreTime = " (--check-seconds gives more)";

std::string share_text(int64_t compared, int64_t elements) {
  if (compared == elements) return fmt::format("{}", compared);
  const double percent = 100 * static_cast<double>(compared) / static_cast<double>(elements);
  return fmt::format("{} of {} ({:.2g} %)", compared, elements, std::min(percent, 99.0));
}

std::string left_out_text(const LayerCheck& c) {
  if (c.rounds_left_out == 0) return "";
  return fmt::format("; no time for {} more{}{}", c.rounds_left_out,
                     c.stress_left_out == 0 ? "" : fmt::format(", nor any for {} layers", c.stress_left_out),
                     kMoreTime);
}

class VariantRun {
 public:
  VariantRun(const VariantHere& v, const RunRequest& request, VariantFigures* figures, const Events& events)
      : v_(v), request_(request), prefix_(v.name.empty() ? "" : v.name + ": "), figures_(*figures), events_(events) {}

  // Each layer against its reference, the artifact against its layers, and against the model as it was imported.
  Status check(const std::vector<TensorData>& inputs, const std::vector<TensorData>& got) {
    if (v_.gpu) {
      const GpuLayerCheck c =
          check_gpu_layers(v_.layers, *v_.gpu_target, v_.target.threads, *v_.gpu, request_.check_progress);
      figures_.errors = c.errors;
      if (!c.wrong.empty()) return wrong("wrong result: " + c.wrong);
      events_.tell(prefix_ +
                   fmt::format("check: {} kernels, {} elements agree with the reference (relative error {:.2g})",
                               c.checked, c.compared, c.rel_error));
      return check_model(inputs, got, c.checked, "kernels", c.rel_error);
    }
    const auto begin = std::chrono::steady_clock::now();
    const LayerCheck c = check_layers(v_.graph, v_.layers, v_.target, inputs,
                                      {.seconds = request_.check_seconds * (1 - kLeastOfWhole),
                                       .denormals = v_.denormals,
                                       .progress = request_.check_progress});
    check_seconds_left_ -= seconds_from(begin);
    figures_.errors = c.errors;
    if (!c.wrong.empty()) return wrong("wrong result: " + c.wrong);
    for (size_t o = 0; o < got.size(); ++o) {
      const auto a = got[o].bytes(), b = c.outputs[o].bytes();
      if (!std::equal(a.begin(), a.end(), b.begin(), b.end()))
        return wrong(fmt::format("output '{}' is not what its layers compute", v_.graph.outputs[o].name));
    }
    events_.tell(prefix_ + fmt::format("check: {} layers, {} elements agree with the reference (relative error {:.2g})",
                                       c.checked, share_text(c.compared, c.elements), c.rel_error));
    events_.tell(prefix_ + fmt::format("check: {} layers agree on adversarial inputs ({} in all){}", c.stressed,
                                       c.rounds, left_out_text(c)));
    return check_model(inputs, got, c.checked, "layers", c.rel_error);
  }

  // The artifact against the model as it was imported; `checked` of its `kind` were right by themselves.
  Status check_model(const std::vector<TensorData>& inputs, const std::vector<TensorData>& got, size_t checked,
                     const char* kind, double rel_error) {
    const WholeCheck whole =
        check_whole(v_.imported, v_.graph, v_.target, inputs, got,
                    {.most_seconds = std::max(check_seconds_left_, request_.check_seconds * kLeastOfWhole),
                     .denormals = v_.denormals,
                     .progress = request_.check_progress});
    if (!whole.wrong.empty()) return wrong("wrong result: " + whole.wrong);
    const std::string found =
        whole.left_out.empty() ? fmt::format("the whole agrees with the imported model (off by {:.2g}, allowed {:.2g})",
                                             whole.error, whole.allowed)
                               : "the whole was not compared with the imported model: " + whole.left_out +
                                     (whole.is_out_of_time ? kMoreTime : "");
    events_.tell(prefix_ + "check: " + found);
    figures_.check =
        fmt::format("{} {} agree with their references (relative error {:.2g}); {}", checked, kind, rel_error, found);
    return absl::OkStatus();
  }

  // Which output is not near the one that is wanted, and how; empty: all are.
  std::string compare(const std::vector<TensorData>& got, const std::vector<TensorData>& wanted) {
    constexpr double kNear = 5e-2;
    std::string differs;
    for (size_t i = 0; i < std::min(got.size(), wanted.size()); ++i) {
      OutputDifference& o = figures_.outputs.emplace_back(OutputDifference{v_.graph.outputs[i].name, "", ""});
      // A bool is a u8 where a model is called.
      const bool is_bool = wanted[i].type().dtype.is_bool() && got[i].type().dtype == u8;
      std::string how;
      if (got[i].type() != TensorType{is_bool ? u8 : wanted[i].type().dtype, wanted[i].type().shape}) {
        o.type = to_string(got[i].type()), o.wanted_type = to_string(wanted[i].type());
        how = fmt::format("{} instead of {}", o.type, o.wanted_type);
      } else {
        const Difference d = difference(got[i], wanted[i]);
        o.largest = d.largest, o.in_all = d.frobenius;
        if (!(d.largest < kNear)) how = fmt::format("by {:.2g} of its largest value, allowed {:.2g}", d.largest, kNear);
      }
      if (differs.empty() && !how.empty())
        differs = fmt::format("output '{}' differs from expected output_{}: {}", o.name, i, how);
    }
    return differs;
  }

  void time(LoadedModel& loaded) {
    const BusyMachine others(request_.cpu_account);
    const auto time_runs = [&](int runs) {
      const auto start = std::chrono::steady_clock::now();
      for (int i = 0; i < runs; ++i) loaded.run_again();
      return seconds_from(start);
    };
    // Runs as short as the clock's own call are timed many at once.
    constexpr double kLeastSeconds = 5e-4;
    int runs = 1;
    while (time_runs(runs) < kLeastSeconds && runs < (1 << 16)) runs *= 2;
    std::vector<double> times;
    const auto begin = std::chrono::steady_clock::now();
    while (times.size() < 5 || (seconds_from(begin) < 2 && times.size() < 1000))
      times.push_back(time_runs(runs) / runs);
    if (const std::string told = v_.gpu ? "" : others.told(); !told.empty())
      events_.tell(prefix_ + told + " meanwhile: the time may be too long");
    std::sort(times.begin(), times.end());
    figures_.median_seconds = times[times.size() / 2];
    figures_.fastest_seconds = times[0];
    figures_.times = times.size();
  }

 private:
  Status wrong(const std::string& text) {
    figures_.check = text;
    figures_.is_wrong = true;
    return Status(absl::StatusCode::kInternal, prefix_ + "check: " + text);
  }

  const VariantHere& v_;
  const RunRequest& request_;
  double check_seconds_left_ = request_.check_seconds;
  const std::string prefix_;
  VariantFigures& figures_;
  const Events& events_;
};

// f(); where the inputs lead to a branch without a result, the error says which inputs decide that.
template <class F>
auto with_branches(const Graph& imported, const F& f) {
  try {
    return f();
  } catch (const UserError& e) {
    const std::string bind = bindings_for_branches(imported), what = e.what();
    if (bind.empty() || what.find("takes a branch") == std::string::npos) throw;
    throw UserError(fmt::format("{}; its inputs decide that: {}", what, bind));
  }
}

}  // namespace

Status run_variant(const VariantHere& v, const RunRequest& request, LoadedModel loaded, VariantFigures* figures,
                   const Events& events) {
  VariantRun run(v, request, figures, events);
  std::vector<TensorData> inputs = request.given ? request.given->inputs : seeded_inputs(v.graph);
  if (v.growth) {
    inputs = with_most_rows(std::move(inputs), v.graph, *v.growth);
    loaded.join_caches(*v.growth, /*on_device=*/v.gpu != nullptr);
  }
  const std::vector<TensorData> got = with_branches(v.imported, [&] { return loaded.run(inputs); });
  if (request.check) HONE_RETURN_IF_ERROR(with_branches(v.imported, [&] { return run.check(inputs, got); }));
  if (request.given && v.metadata) figures->labels = best_labels(v.graph, got, *v.metadata);
  const std::string differs = request.given ? run.compare(cut_to_extents(v.graph, got), request.given->outputs) : "";
  if (request.bench) run.time(loaded);
  if (differs.empty()) return absl::OkStatus();
  if (request.check) figures->check += "; " + differs;
  figures->is_wrong = true;
  return differs_error((v.name.empty() ? "" : v.name + ": ") + differs);
}

}  // namespace hone
