#include <fmt/format.h>
#include <hone.h>

#include <algorithm>
#include <chrono>

#include "tests/bench/models/engine.h"

namespace hone::bench {
namespace {

struct CloseModel {
  void operator()(HoneModel* model) const { hone_close(model); }
};
struct FreePool {
  void operator()(HoneRuntime* pool) const { hone_pool_free(pool); }
};

class HoneEngine final : public Engine {
 public:
  Status open(const SideCase& c, const Buffers& buffers) {
    HoneModel* model = nullptr;
    if (hone_open(c.model.c_str(), &model) != HONE_OK) return absl::InternalError(hone_last_error());
    model_.reset(model);
    if (c.threads > 1) {
      pool_.reset(hone_pool_new(c.threads));
      if (!pool_) return absl::InternalError(hone_last_error());
    }
    if (hone_input_count(model) != static_cast<int32_t>(c.inputs.size()) ||
        hone_output_count(model) != static_cast<int32_t>(c.outputs.size()))
      return absl::InternalError(fmt::format("{}: has {} inputs and {} outputs, the case {} and {}", c.model,
                                             hone_input_count(model), hone_output_count(model), c.inputs.size(),
                                             c.outputs.size()));
    for (size_t i = 0; i < c.inputs.size(); ++i) add(*hone_input(model, static_cast<int32_t>(i)), buffers.inputs[i]);
    for (size_t o = 0; o < c.outputs.size(); ++o) add(*hone_output(model, static_cast<int32_t>(o)), buffers.outputs[o]);
    for (const DLTensor& t : tensors_) (inputs_.size() < c.inputs.size() ? inputs_ : outputs_).push_back(&t);
    return absl::OkStatus();
  }

  Status run() override {
    const int32_t code = hone_run(model_.get(), inputs_.data(), static_cast<int32_t>(inputs_.size()), outputs_.data(),
                                  static_cast<int32_t>(outputs_.size()), pool_.get());
    return code == HONE_OK ? absl::OkStatus() : absl::InternalError(hone_last_error());
  }

  StatusOr<std::vector<LayerTime>> layers(const TurnRules& rules) override {
    // These are the layers of the variant that a call takes; bench_models builds artifacts with a single variant.
    const int32_t count = hone_layer_count(model_.get());
    std::vector<std::vector<double>> seconds(static_cast<size_t>(count));
    std::vector<double> of_run(seconds.size());
    const auto run_timed = [&] {
      const int32_t code =
          hone_run_timed(model_.get(), inputs_.data(), static_cast<int32_t>(inputs_.size()), outputs_.data(),
                         static_cast<int32_t>(outputs_.size()), pool_.get(), of_run.data(), count);
      return code == HONE_OK ? absl::OkStatus() : absl::InternalError(hone_last_error());
    };
    const auto begin = std::chrono::steady_clock::now();
    const auto elapsed_ms = [&] {
      return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
    };
    for (int runs = 0; runs < rules.least_runs || elapsed_ms() < rules.least_ms; ++runs) {
      HONE_RETURN_IF_ERROR(run_timed());
      for (size_t i = 0; i < seconds.size(); ++i) seconds[i].push_back(of_run[i]);
    }
    std::vector<LayerTime> layers;
    for (int32_t i = 0; i < count; ++i) {
      std::vector<double>& times = seconds[static_cast<size_t>(i)];
      const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
      std::nth_element(times.begin(), middle, times.end());
      const HoneLayer& layer = *hone_layer(model_.get(), i);
      const std::string workload = layer.workload;
      layers.push_back({layer.name, workload.substr(0, workload.find('(')), *middle * 1e3});
    }
    return layers;
  }

 private:
  void add(const HoneParam& p, const Memory& memory) {
    DLTensor t{};
    t.data = memory.get();
    t.device = {kDLCPU, 0};
    t.dtype = p.plain.dtype;
    t.ndim = p.plain.ndim;
    t.shape = const_cast<int64_t*>(p.plain.shape);  // DLPack's is not const; nobody writes it
    tensors_.push_back(t);
  }

  std::unique_ptr<HoneModel, CloseModel> model_;
  std::unique_ptr<HoneRuntime, FreePool> pool_;
  std::vector<DLTensor> tensors_;
  std::vector<const DLTensor*> inputs_, outputs_;
};

}  // namespace

StatusOr<Opened> open_hone(const SideCase& c, const Buffers& buffers) {
  const auto start = std::chrono::steady_clock::now();
  auto engine = std::make_unique<HoneEngine>();
  HONE_RETURN_IF_ERROR(engine->open(c, buffers));
  const std::chrono::duration<double, std::milli> open = std::chrono::steady_clock::now() - start;
  return Opened{std::move(engine), "", 0, open.count()};
}

}  // namespace hone::bench
