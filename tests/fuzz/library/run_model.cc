#include <algorithm>
#include <climits>
#include <cmath>
#include <cstring>
#include <deque>

#include "tests/fuzz/library/odd_text.h"
#include "tests/fuzz/library/running.h"
#include "tests/fuzz/library/trace.h"

namespace hone::fuzz {
namespace {

constexpr char kUnwritten = 0x5a;

// A tensor of its own memory, which ends where the tensor does.
struct Tensor {
  Tensor(const HoneParam* p, bool output) : is_output(output) {
    shape.assign(p->plain.shape, p->plain.shape + p->plain.ndim);
    size_t elements = 1;
    for (const int64_t n : shape) elements *= static_cast<size_t>(n);
    bytes = elements * (p->plain.dtype.bits / 8);
    memory = std::make_unique<char[]>(bytes);
    t.data = memory.get(), t.device = {kDLCPU, 0}, t.dtype = p->plain.dtype;
    t.ndim = p->plain.ndim, t.shape = shape.data();
    fill(elements);
  }
  // Small whole numbers: sums of them are exact in any order.
  void fill(size_t elements) {
    if (is_output) {
      std::memset(memory.get(), kUnwritten, bytes);
      return;
    }
    for (size_t i = 0; i < elements; ++i) {
      const float value = static_cast<float>(i % 7);
      if (t.dtype.code == kDLFloat && t.dtype.bits == 32) std::memcpy(memory.get() + 4 * i, &value, 4);
      if (t.dtype.bits == 8) memory[i] = static_cast<char>(i % 7);
    }
  }
  std::string content() const { return {memory.get(), bytes}; }

  bool is_output;
  std::vector<int64_t> shape, strides;
  size_t bytes;
  std::unique_ptr<char[]> memory;
  DLTensor t{};
};

// Makes one property of a tensor wrong, and says which; empty: it is as right as before.
std::string spoil(Tensor* a, std::mt19937_64& rng) {
  static constexpr int64_t kExtents[] = {0, -1, 2, 5, INT64_MAX, INT64_MIN, INT64_MAX / 4 + 1};
  DLTensor& t = a->t;
  switch (rng() % 9) {
    case 0: t.data = nullptr; return "no data";
    case 1: t.device.device_type = rng() % 2 ? kDLCUDA : static_cast<DLDeviceType>(77); return "device";
    case 2: t.dtype.bits = static_cast<uint8_t>(t.dtype.bits * 2); return "bits";
    case 3: t.dtype.lanes = static_cast<uint16_t>(2 + rng() % 1000); return "lanes";
    case 4: t.ndim = rng() % 2 ? INT32_MAX : -1; return "rank";
    case 5:
      if (t.ndim == 0) return "";
      t.shape = nullptr;
      return "no shape";
    case 6: {
      if (a->shape.empty()) return "";
      int64_t& extent = a->shape[rng() % a->shape.size()];
      const int64_t other = kExtents[rng() % std::size(kExtents)];
      if (other == extent) return "";
      extent = other;
      return "extent " + std::to_string(other);
    }
    case 7: {
      if (a->shape.empty()) return "";
      a->strides.assign(a->shape.size(), 1);
      for (size_t d = a->shape.size(); d-- > 1;)
        a->strides[d - 1] =
            static_cast<int64_t>(static_cast<uint64_t>(a->strides[d]) * static_cast<uint64_t>(a->shape[d]));
      t.strides = a->strides.data();
      const size_t d = rng() % a->shape.size();
      if (rng() % 2 || a->shape[d] <= 1) return "";
      a->strides[d] = -a->strides[d];
      return "stride";
    }
    default:
      if (t.dtype.bits <= 8) return "";
      t.byte_offset = 1;
      return "misaligned";
  }
}

}  // namespace

std::string run_model(HoneModel* m, const HoneRuntime* pool, std::mt19937_64& rng) {
  const auto variant = static_cast<int32_t>(rng() % static_cast<uint64_t>(hone_variant_count(m)));
  std::deque<Tensor> tensors;
  std::vector<const DLTensor*> in, out;
  for (int32_t i = 0; i < hone_input_count(m); ++i)
    in.push_back(&tensors.emplace_back(hone_variant_input(m, variant, i), false).t);
  for (int32_t i = 0; i < hone_output_count(m); ++i)
    out.push_back(&tensors.emplace_back(hone_variant_output(m, variant, i), true).t);
  auto inputs = static_cast<int32_t>(in.size()), outputs = static_cast<int32_t>(out.size());
  const DLTensor* const* first_in = in.data();
  const DLTensor* const* first_out = out.data();

  std::string wrong;
  switch (rng() % 12) {
    case 0:
      inputs = rng() % 2 ? -1 : inputs + 1;
      wrong = "number of inputs";
      break;
    case 1:
      outputs = rng() % 2 ? INT32_MIN : outputs - 1;
      wrong = "number of outputs";
      break;
    case 2:
      first_in = nullptr;
      wrong = "no inputs";
      break;
    case 3:
      first_out = nullptr;
      wrong = "no outputs";
      break;
    case 4:
      in[rng() % in.size()] = nullptr;
      wrong = "an input is null";
      break;
    case 5:
      out[rng() % out.size()] = nullptr;
      wrong = "an output is null";
      break;
    case 6:
    case 7:
    case 8: wrong = spoil(&tensors[rng() % tensors.size()], rng); break;
    default: break;
  }
  const int32_t layers =
      hone_variant_layer_count(m, hone_find_variant(m, in.data(), static_cast<int32_t>(in.size()), pool));
  const bool is_timed = rng() % 3 == 0;
  const bool is_other_room = is_timed && rng() % 4 == 0;
  const int32_t room = is_other_room ? (rng() % 2 ? layers + 1 : -1) : layers;
  std::vector<double> seconds(static_cast<size_t>(std::max(layers, 1)), -1);
  const bool has_room = !is_timed || layers == 0 || rng() % 8 != 0;
  trace(std::string(is_timed ? "hone_run_timed(" : "hone_run(") + hone_artifact(m)->name + " variant " +
        std::to_string(variant) + (pool ? ", pool" : "") + (wrong.empty() ? "" : ", wrong: " + wrong) +
        (is_timed ? ", room for " + std::to_string(room) + (has_room ? "" : ", null") : "") + ")");
  const int32_t code = is_timed ? hone_run_timed(m, first_in, inputs, first_out, outputs, pool,
                                                 has_room ? seconds.data() : nullptr, room)
                                : hone_run(m, first_in, inputs, first_out, outputs, pool);
  trace_end(code);
  const bool is_right = wrong.empty() && !is_other_room && has_room;
  const std::string told = " (" + std::to_string(code) + ": " + quoted(hone_last_error()) + ")";
  if (is_right != (code == HONE_OK)) return "it returned otherwise" + told;
  if (code != HONE_OK) {
    if ((code & 0xff) != HONE_BAD_ARGUMENTS) return "it returned another code" + told;
    if (const std::string w = wrong_with_text(hone_last_error(), false); !w.empty() || *hone_last_error() == '\0')
      return "the error has " + w + told;
    for (const Tensor& t : tensors)
      if (t.is_output && t.content().find_first_not_of(kUnwritten) != std::string::npos) return "it wrote, and failed";
    if (is_timed && seconds != std::vector<double>(seconds.size(), -1)) return "it wrote times, and failed";
    return "";
  }
  if (is_timed && layers > 0)
    for (const double s : seconds)
      if (!(s >= 0) || !std::isfinite(s)) return "a layer has no time";
  // Written whole: once more gives the same, and other bytes below do not shine through.
  for (Tensor& t : tensors) {
    if (!t.is_output) continue;
    const std::string once = t.content();
    std::memset(t.memory.get(), ~kUnwritten, t.bytes);
    if (hone_run(m, first_in, inputs, first_out, outputs, nullptr) != HONE_OK) return "it runs once only";
    if (t.content() != once) return "an output is not written whole, or another one the second time";
  }
  return "";
}

}  // namespace hone::fuzz
