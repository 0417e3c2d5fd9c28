#include "compiler/check/inputs.h"

#include <fmt/format.h>

#include "base/narrow_floats.h"
#include "compiler/check/mix.h"
#include "compiler/ir/dtype.h"

namespace hone {
namespace {

template <class T, class F>
void fill(void* data, int64_t count, uint64_t stream, const F& value) {
  T* out = static_cast<T*>(data);
  bool nonzero = false;
  for (int64_t i = 0; i < count; ++i) {
    out[i] = value(mix(stream + static_cast<uint64_t>(i) * kGolden));
    nonzero |= out[i] != T(0);
  }
  if (!nonzero && count > 0) out[0] = T(1);
}

}  // namespace

Status fill_input(void* data, DType t, int64_t count, uint64_t seed, uint32_t param) {
  const uint64_t stream = mix(mix(seed + kGolden) + (param + 1) * kGolden);
  // Conversions that are exact in the target type, so that no rounding mode or compiler can matter.
  const auto small = [](uint64_t x) { return static_cast<int64_t>(x >> 56) - 128; };
  const auto byte = [](uint64_t x) { return x >> 56; };
  if (t == f32) {
    fill<float>(data, count, stream,
                [](uint64_t x) { return static_cast<float>(static_cast<int32_t>(x >> 40) - (1 << 23)) * 0x1p-23f; });
  } else if (t == f64) {
    fill<double>(data, count, stream, [](uint64_t x) {
      return static_cast<double>(static_cast<int64_t>(x >> 11) - (int64_t{1} << 52)) * 0x1p-52;
    });
  } else if (t.is_narrow_float()) {
    // Multiples of 2^-7: they and their products are normal numbers of both types, so that rounding errors are
    // relative.
    fill<uint16_t>(data, count, stream, [&](uint64_t x) {
      const float value = static_cast<float>(small(x)) * 0x1p-7f;
      return t == f16 ? f16_of_float(value) : bf16_of_float(value);
    });
  } else if (t == i8 || t == u8) {
    fill<uint8_t>(data, count, stream, byte);
  } else if (t == i16 || t == u16) {
    fill<uint16_t>(data, count, stream, [](uint64_t x) { return x >> 48; });
  } else if (t == i32) {
    fill<int32_t>(data, count, stream, small);
  } else if (t == i64) {
    fill<int64_t>(data, count, stream, small);
  } else if (t == u32) {
    fill<uint32_t>(data, count, stream, byte);
  } else if (t == u64) {
    fill<uint64_t>(data, count, stream, byte);
  } else if (t == boolean) {
    fill<uint8_t>(data, count, stream, [](uint64_t x) { return x >> 63; });
  } else {
    return absl::UnimplementedError(fmt::format("tensors of type {} cannot be filled yet", to_string(t)));
  }
  return absl::OkStatus();
}

}  // namespace hone
