#include "tests/replay/recording.h"

#include <fmt/format.h>
#include <zstd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/json.h"

namespace hone::replay {
namespace {

constexpr int kLevel = 19;

std::string compressed(const std::string& text) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), text.data(), text.size(), kLevel));
  return out;
}

StatusOr<std::string> decompressed(const std::string& bytes, const std::string& path) {
  const unsigned long long size = ZSTD_getFrameContentSize(bytes.data(), bytes.size());
  if (size == ZSTD_CONTENTSIZE_ERROR || size == ZSTD_CONTENTSIZE_UNKNOWN || size > (1ULL << 30))
    return absl::DataLossError(fmt::format("{} is no recording", path));
  std::string text(size, '\0');
  const size_t n = ZSTD_decompress(text.data(), text.size(), bytes.data(), bytes.size());
  if (ZSTD_isError(n)) return absl::DataLossError(fmt::format("{}: {}", path, ZSTD_getErrorName(n)));
  return text;
}

template <class F>
OrderedJson column(const Recording& r, const F& value) {
  OrderedJson out = OrderedJson::array();
  for (const RecordedConfig& c : r.configs) out.push_back(value(c));
  return out;
}

// Six digits say more than a feature knows, and compress to half.
double shortened(float x) { return std::stod(fmt::format("{:.6g}", x)); }

}  // namespace

double Recording::best_seconds() const {
  double best = 0;
  for (const RecordedConfig& c : configs)
    if (c.seconds > 0 && !c.censored && (best == 0 || c.seconds < best)) best = c.seconds;
  return best;
}

Status save(const Recording& r, const std::string& path) {
  OrderedJson j;
  j["name"] = r.name;
  j["workload"] = r.workload;
  j["target"] = r.target;
  j["device"] = r.device;
  j["template"] = r.template_name;
  j["revision"] = r.template_revision;
  j["fingerprint"] = r.fingerprint;
  j["command"] = r.command;
  j["version"] = r.version;
  j["date"] = r.date;
  j["flops"] = r.flops;
  j["schema"] = r.schema;
  j["default"] = r.default_config;
  for (size_t k = 0; k < r.knobs.size(); ++k) {
    OrderedJson knob;
    knob["name"] = r.knobs[k].name;
    knob["choices"] = r.knobs[k].choices;
    knob["default"] = r.knobs[k].default_choice;
    knob["of_config"] = column(r, [k](const RecordedConfig& c) { return c.choices[k]; });
    j["knobs"].push_back(std::move(knob));
  }
  j["status"] = column(r, [](const RecordedConfig& c) { return c.status; });
  j["seconds"] = column(r, [](const RecordedConfig& c) { return std::stod(fmt::format("{:.5g}", c.seconds)); });
  j["censored"] = column(r, [](const RecordedConfig& c) { return c.censored ? 1 : 0; });
  j["measured"] = column(r, [](const RecordedConfig& c) { return c.measured; });
  j["program"] = column(r, [](const RecordedConfig& c) { return c.program; });
  for (size_t f = 0; f < feature_names().size(); ++f)
    j["features"][feature_names()[f]] = column(r, [f](const RecordedConfig& c) { return shortened(c.features[f]); });
  const std::string temporary = path + ".tmp";
  std::ofstream(temporary, std::ios::binary) << compressed(j.dump());
  std::error_code error;
  std::filesystem::rename(temporary, path, error);
  return error ? absl::UnavailableError(fmt::format("cannot write {}: {}", path, error.message())) : absl::OkStatus();
}

StatusOr<Recording> load_recording(const std::string& path, bool with_features) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return absl::NotFoundError(fmt::format("cannot read {}", path));
  std::ostringstream bytes;
  bytes << file.rdbuf();
  HONE_ASSIGN_OR_RETURN(const std::string text, decompressed(bytes.str(), path));
  try {
    const OrderedJson j = OrderedJson::parse(text);
    Recording r;
    r.name = j.at("name"), r.workload = j.at("workload"), r.target = j.at("target"), r.device = j.at("device");
    r.template_name = j.at("template"), r.template_revision = j.at("revision"), r.fingerprint = j.at("fingerprint");
    r.command = j.at("command"), r.version = j.at("version"), r.date = j.at("date");
    r.flops = j.at("flops"), r.schema = j.at("schema"), r.default_config = j.at("default");
    r.configs.resize(j.at("status").size());
    for (RecordedConfig& c : r.configs) c.choices.resize(j.at("knobs").size());
    for (size_t k = 0; k < j.at("knobs").size(); ++k) {
      const OrderedJson& knob = j["knobs"][k];
      r.knobs.push_back({knob.at("name"), knob.at("choices").get<std::vector<std::string>>(), knob.at("default")});
      for (size_t i = 0; i < r.configs.size(); ++i) r.configs[i].choices[k] = knob.at("of_config").at(i);
    }
    for (size_t i = 0; i < r.configs.size(); ++i) {
      RecordedConfig& c = r.configs[i];
      c.status = j["status"][i], c.seconds = j.at("seconds").at(i), c.censored = j.at("censored").at(i) != 0;
      c.measured = j.at("measured").at(i), c.program = j.at("program").at(i);
    }
    if (!with_features) return r;
    if (r.schema != feature_schema().hex())
      return absl::FailedPreconditionError(fmt::format(
          "{}: its features are of another schema; `bench_search --refresh {}` computes them again", path, r.name));
    for (size_t f = 0; f < feature_names().size(); ++f) {
      const OrderedJson& values = j.at("features").at(feature_names()[f]);
      for (size_t i = 0; i < r.configs.size(); ++i) r.configs[i].features[f] = values.at(i);
    }
    return r;
  } catch (const std::exception& e) {
    return absl::DataLossError(fmt::format("{} is no recording: {}", path, e.what()));
  }
}

std::string recordings_folder() { return HONE_RECORDINGS; }

}  // namespace hone::replay
