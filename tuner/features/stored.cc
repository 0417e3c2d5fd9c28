#include "tuner/features/stored.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace hone {
namespace {

constexpr size_t kSchemaBytes = 16, kMaskBytes = (kFeatureCount + 7) / 8;

// The schema of this program's features, cached: hashing their names takes longer than everything else here.
const std::string& own_schema(FeatureSet set) {
  static const std::string cpu = feature_schema(FeatureSet::kCpu).bytes(),
                           gpu = feature_schema(FeatureSet::kGpu).bytes();
  return set == FeatureSet::kCpu ? cpu : gpu;
}

void append_float(float value, std::string* out) {
  const auto bits = std::bit_cast<uint32_t>(value);
  for (int shift = 0; shift < 32; shift += 8) out->push_back(static_cast<char>(bits >> shift & 0xff));
}

float float_at(const char* bytes) {
  uint32_t bits = 0;
  for (int i = 3; i >= 0; --i) bits = bits << 8 | static_cast<unsigned char>(bytes[i]);
  return std::bit_cast<float>(bits);
}

}  // namespace

std::string store_features(const Features& features, FeatureSet set) {
  std::string out = own_schema(set);
  out.resize(kSchemaBytes + kMaskBytes, '\0');
  for (size_t i = 0; i < features.size(); ++i) {
    if (features[i] == 0) continue;
    out[kSchemaBytes + i / 8] = static_cast<char>(static_cast<unsigned char>(out[kSchemaBytes + i / 8]) | 1u << i % 8);
    append_float(features[i], &out);
  }
  return out;
}

StatusOr<Features> stored_features(std::string_view bytes, FeatureSet set) {
  if (bytes.size() < kSchemaBytes) return absl::InvalidArgumentError("stored features: cut short");
  if (bytes.substr(0, kSchemaBytes) != own_schema(set))
    return absl::FailedPreconditionError("stored features: of another schema");
  if (bytes.size() < kSchemaBytes + kMaskBytes) return absl::InvalidArgumentError("stored features: cut short");
  Features features{};
  size_t at = kSchemaBytes + kMaskBytes;
  for (size_t i = 0; i < features.size(); ++i) {
    if ((static_cast<unsigned char>(bytes[kSchemaBytes + i / 8]) >> i % 8 & 1) == 0) continue;
    if (bytes.size() - at < sizeof(float)) return absl::InvalidArgumentError("stored features: cut short");
    features[i] = float_at(bytes.data() + at);
    if (!std::isfinite(features[i])) return absl::InvalidArgumentError("stored features: not finite");
    at += sizeof(float);
  }
  if (at != bytes.size()) return absl::InvalidArgumentError("stored features: bytes left over");
  return features;
}

}  // namespace hone
