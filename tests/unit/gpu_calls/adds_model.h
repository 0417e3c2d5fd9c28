// Models for the CUDA driver that only adds, as artifacts hold them: each layer adds two buffers of floats into a
// third, copies one, or doubles one on the host.
#pragma once

#include <hone_gpu.h>

#include <algorithm>
#include <deque>
#include <string>
#include <vector>

namespace hone {

/// Where an operand lies: a tensor of the call, or a buffer of the arena.
struct AddsPlace {
  int32_t in, number;
};
inline AddsPlace tensor(int32_t number) { return {HONE_GPU_TENSOR, number}; }
inline AddsPlace arena(int32_t number) { return {HONE_GPU_ARENA, number}; }

class AddsModel {
 public:
  /// Tensors of as many floats, inputs before outputs.
  AddsModel(int64_t elements, int inputs, int outputs) : elements_(elements), inputs_(inputs) {
    for (int i = 0; i < inputs + outputs; ++i) {
      names_.push_back((i < inputs ? "in" : "out") + std::to_string(i < inputs ? i : i - inputs));
      params_.push_back({names_.back().c_str(), i >= inputs, {kDLFloat, 32, 1}, elements, elements, nullptr, nullptr});
    }
    launch_ = {"add", elements / 32, 32, 0};
    program_ = {
        HONE_RUNTIME_ABI, kDLCUDA, "cuda -arch=sm_90", "sm_90", nullptr, 0, "adds", 4, &launch_, 1, nullptr, 3, 0};
  }
  AddsModel(const AddsModel&) = delete;
  AddsModel& operator=(const AddsModel&) = delete;

  AddsModel& add(AddsPlace a, AddsPlace b, AddsPlace sum) { return step(&program_, nullptr, {a, b, sum}); }
  AddsModel& copy(AddsPlace from, AddsPlace to) { return step(nullptr, nullptr, {from, to}); }
  AddsModel& on_host(AddsPlace from, AddsPlace twice) { return step(nullptr, &host_, {from, twice}); }

  /// The model as an artifact has it.
  const HoneGpuProgram* head() {
    model_ = {};
    model_.head = {HONE_GPU_MODEL_ABI, kDLCUDA, "cuda -arch=sm_90", "sm_90", nullptr, 0, "", 0, nullptr, 0,
                   params_.data(),     count(), arena_bytes_};
    model_.alignment = 512;
    model_.steps = steps_.data();
    model_.step_count = static_cast<int64_t>(steps_.size());
    return &model_.head;
  }
  int64_t count() const { return static_cast<int64_t>(params_.size()); }
  int inputs() const { return inputs_; }
  size_t elements() const { return static_cast<size_t>(elements_); }
  int64_t arena_bytes() const { return arena_bytes_; }

  /// The outputs for these inputs.
  std::vector<std::vector<float>> run(const std::vector<std::vector<float>>& inputs) const {
    std::vector<std::vector<float>> tensors = inputs, arena;
    tensors.resize(params_.size());
    arena.resize(static_cast<size_t>(arena_bytes_ / bytes()) + 1);
    const auto at = [&](const HoneGpuPlace& p) -> std::vector<float>& {
      return p.in == HONE_GPU_TENSOR ? tensors[static_cast<size_t>(p.tensor)]
                                     : arena[static_cast<size_t>(p.offset / bytes())];
    };
    for (const HoneGpuStep& s : steps_) {
      const std::vector<float> a = at(s.places[0]), b = s.program ? at(s.places[1]) : a;
      std::vector<float>& out = at(s.places[s.place_count - 1]);
      out.resize(elements());
      for (size_t i = 0; i < out.size(); ++i) out[i] = s.program || s.host ? a[i] + b[i] : a[i];
    }
    return {tensors.begin() + inputs_, tensors.end()};
  }

 private:
  int64_t bytes() const { return elements_ * 4; }

  AddsModel& step(const HoneGpuProgram* program, const HoneGpuHostFunction* host, std::vector<AddsPlace> operands) {
    places_.emplace_back();
    for (const AddsPlace& p : operands) {
      const bool in_arena = p.in == HONE_GPU_ARENA;
      if (in_arena) arena_bytes_ = std::max(arena_bytes_, (p.number + 1) * bytes());
      places_.back().push_back({p.in, in_arena ? 0 : p.number, in_arena ? p.number * bytes() : 0, bytes()});
    }
    numbers_[0] = elements_;
    host_ = {&twice, numbers_, 1, 0};
    steps_.push_back({"layer", "add", program, host, places_.back().data(), static_cast<int64_t>(operands.size())});
    return *this;
  }
  static int32_t twice(const int64_t* numbers, void* const* tensors, void*) {
    for (int64_t i = 0; i < numbers[0]; ++i)
      static_cast<float*>(tensors[1])[i] = 2 * static_cast<const float*>(tensors[0])[i];
    return HONE_OK;
  }

  int64_t elements_;
  int inputs_;
  std::deque<std::string> names_;
  std::vector<HoneGpuParam> params_;
  HoneGpuLaunch launch_{};
  HoneGpuProgram program_{};
  int64_t numbers_[1] = {};
  HoneGpuHostFunction host_{};
  std::deque<std::vector<HoneGpuPlace>> places_;
  std::vector<HoneGpuStep> steps_;
  int64_t arena_bytes_ = 0;
  HoneGpuModel model_{};
};

}  // namespace hone
