#include "compiler/cli/run_variant.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "base/check.h"
#include "base/time_text.h"
#include "compiler/cli/check_line.h"
#include "compiler/cli/model_gpu.h"
#include "compiler/frontend/onnx/tensor_file.h"
#include "compiler/graph/extents.h"
#include "compiler/model/check_layers.h"
#include "compiler/model/check_whole.h"
#include "compiler/model/model_data.h"
#include "compiler/model/refused_branch.h"

namespace hone {
namespace {

namespace fs = std::filesystem;

std::vector<TensorData> tensors_of(const std::string& folder, const std::string& kind, int64_t wanted_bytes) {
  std::vector<TensorData> out;
  for (;;) {
    const std::string stem = fmt::format("{}/{}_{}", folder, kind, out.size());
    const std::string file = fs::exists(stem + ".npy") ? stem + ".npy" : stem + ".pb";
    if (!fs::exists(file)) return out;
    out.push_back(read_tensor_file(file, wanted_bytes));
  }
}

double seconds_from(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// What the comparison of the whole has of the time for checks, whatever the layers take.
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
  /// `told`: TensorcOptions::progress.
  VariantRun(const VariantHere& v, VariantFigures* figures, std::ostream& out, std::ostream& err,
             const std::function<void(std::string_view what, size_t done, size_t all)>& told)
      : v_(v), prefix_(v.name.empty() ? "" : v.name + ": "), figures_(*figures), out_(out), err_(err) {
    progress_ = [this, told](const CheckStep& step) {
      line_.tell(step);
      if (told) told(step.what, step.done, step.all);
    };
  }

  // Each layer against its reference, the artifact against its layers, and against the model as it was imported.
  Status check(const std::vector<TensorData>& inputs, const std::vector<TensorData>& got) {
    if (v_.gpu) {
      const GpuLayerCheck c = check_gpu_layers(v_.layers, *v_.gpu_target, v_.target.threads, *v_.gpu, progress_);
      figures_.errors = c.errors;
      if (!c.wrong.empty()) return wrong("wrong result: " + c.wrong);
      err_ << prefix_
           << fmt::format("check: {} kernels, {} elements agree with the reference (relative error {:.2g})\n",
                          c.checked, c.compared, c.rel_error);
      return check_model(inputs, got, c.checked, "kernels", c.rel_error);
    }
    const auto begin = std::chrono::steady_clock::now();
    const LayerCheck c = check_layers(
        v_.graph, v_.layers, v_.target, inputs,
        {.seconds = v_.check_seconds * (1 - kLeastOfWhole), .denormals = v_.denormals, .progress = progress_});
    check_seconds_left_ -= seconds_from(begin);
    figures_.errors = c.errors;
    if (!c.wrong.empty()) return wrong("wrong result: " + c.wrong);
    for (size_t o = 0; o < got.size(); ++o) {
      const auto a = got[o].bytes(), b = c.outputs[o].bytes();
      if (!std::equal(a.begin(), a.end(), b.begin(), b.end()))
        return wrong(fmt::format("output '{}' is not what its layers compute", v_.graph.outputs[o].name));
    }
    err_ << prefix_
         << fmt::format("check: {} layers, {} elements agree with the reference (relative error {:.2g})\n", c.checked,
                        share_text(c.compared, c.elements), c.rel_error);
    err_ << prefix_
         << fmt::format("check: {} layers agree on adversarial inputs ({} in all){}\n", c.stressed, c.rounds,
                        left_out_text(c));
    return check_model(inputs, got, c.checked, "layers", c.rel_error);
  }

  // The artifact against the model as it was imported; `checked` of its `kind` were right by themselves.
  Status check_model(const std::vector<TensorData>& inputs, const std::vector<TensorData>& got, size_t checked,
                     const char* kind, double rel_error) {
    const WholeCheck whole =
        check_whole(v_.imported, v_.graph, v_.target, inputs, got,
                    {.most_seconds = std::max(check_seconds_left_, v_.check_seconds * kLeastOfWhole),
                     .denormals = v_.denormals,
                     .progress = progress_});
    if (!whole.wrong.empty()) return wrong("wrong result: " + whole.wrong);
    const std::string found =
        whole.left_out.empty() ? fmt::format("the whole agrees with the imported model (off by {:.2g}, allowed {:.2g})",
                                             whole.error, whole.allowed)
                               : "the whole was not compared with the imported model: " + whole.left_out +
                                     (whole.is_out_of_time ? kMoreTime : "");
    err_ << prefix_ << "check: " << found << "\n";
    figures_.check =
        fmt::format("{} {} agree with their references (relative error {:.2g}); {}", checked, kind, rel_error, found);
    return absl::OkStatus();
  }

  // Prints how far each output is from the one that is wanted; which one differs, and how; empty: all are near.
  std::string compare(const std::vector<TensorData>& got, const std::vector<TensorData>& wanted) {
    constexpr double kNear = 5e-2;
    std::string differs;
    const auto tell = [&](const std::string& name, const std::string& how) {
      if (differs.empty()) differs = fmt::format("output '{}' differs from expected {}", name, how);
    };
    for (size_t i = 0; i < std::min(got.size(), wanted.size()); ++i) {
      const std::string& name = v_.graph.outputs[i].name;
      // A bool is a u8 where a model is called.
      const bool is_bool = wanted[i].type().dtype.is_bool() && got[i].type().dtype == u8;
      if (got[i].type() != TensorType{is_bool ? u8 : wanted[i].type().dtype, wanted[i].type().shape}) {
        out_ << prefix_
             << fmt::format("output {}: {} instead of {}\n", name, to_string(got[i].type()),
                            to_string(wanted[i].type()));
        tell(name,
             fmt::format("output_{}: {} instead of {}", i, to_string(got[i].type()), to_string(wanted[i].type())));
        continue;
      }
      const Difference d = difference(got[i], wanted[i]);
      out_ << prefix_
           << fmt::format("output {}: largest difference {:.2g} of the largest value, {:.2g} in all\n", name, d.largest,
                          d.frobenius);
      if (!(d.largest < kNear))
        tell(name, fmt::format("output_{}: by {:.2g} of its largest value, allowed {:.2g}", i, d.largest, kNear));
    }
    return differs;
  }

  void time(LoadedModel& loaded) {
    const BusyMachine others(v_.cpu_account);
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
      err_ << prefix_ << told << " meanwhile: the time may be too long\n";
    std::sort(times.begin(), times.end());
    figures_.median_seconds = times[times.size() / 2];
    figures_.fastest_seconds = times[0];
    out_ << prefix_
         << fmt::format("{} ms (median of {}, fastest {})\n", ms_text(times[times.size() / 2]), times.size(),
                        ms_text(times[0]));
  }

 private:
  Status wrong(const std::string& text) {
    figures_.check = text;
    figures_.is_wrong = true;
    return Status(absl::StatusCode::kInternal, prefix_ + "check: " + text);
  }

  const VariantHere& v_;
  double check_seconds_left_ = v_.check_seconds;
  const std::string prefix_;
  VariantFigures& figures_;
  std::ostream &out_, &err_;
  const SteadyClock clock_{};
  CheckLine line_{err_, prefix_, clock_};
  CheckProgress progress_;
};

}  // namespace

TestTensors read_test_tensors(const std::string& folder, int64_t wanted_bytes) {
  std::error_code ignored;
  HONE_USER_CHECK(fs::is_directory(folder, ignored)) << "--inputs " << folder << ": there is no such folder";
  return {tensors_of(folder, "input", wanted_bytes), tensors_of(folder, "output", wanted_bytes)};
}

std::string other_number_of_inputs(const std::string& folder, size_t given, size_t taken) {
  if (given == 0)
    return fmt::format("--inputs {}: it has no input_0.npy or input_0.pb; the model takes {}", folder, taken);
  return fmt::format("--inputs {}: it has {} inputs; the model takes {}", folder, given, taken);
}

namespace {

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

Status run_variant(const TensorcOptions& o, const VariantHere& v, LoadedModel loaded, const TestTensors* given,
                   VariantFigures* figures, std::ostream& out, std::ostream& err) {
  VariantRun run(v, figures, out, err, o.progress);
  std::vector<TensorData> inputs = given ? given->inputs : seeded_inputs(v.graph);
  if (v.growth) {
    inputs = with_most_rows(std::move(inputs), v.graph, *v.growth);
    loaded.join_caches(*v.growth, /*on_device=*/v.gpu != nullptr);
  }
  const std::vector<TensorData> got = with_branches(v.imported, [&] { return loaded.run(inputs); });
  if (o.check) HONE_RETURN_IF_ERROR(with_branches(v.imported, [&] { return run.check(inputs, got); }));
  const std::string differs = given ? run.compare(cut_to_extents(v.graph, got), given->outputs) : "";
  if (o.bench) run.time(loaded);
  if (differs.empty()) return absl::OkStatus();
  if (o.check) figures->check += "; " + differs;
  figures->is_wrong = true;
  return differs_error((v.name.empty() ? "" : v.name + ": ") + differs);
}

}  // namespace hone
