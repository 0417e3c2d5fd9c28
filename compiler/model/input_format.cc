#include "compiler/model/input_format.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <optional>

#include "base/check.h"
#include "compiler/ir/extents.h"
#include "compiler/ir/layout.h"
#include "compiler/model/channel_axis.h"
#include "compiler/ops/infer.h"
#include "compiler/ops/windows/physical.h"

namespace hone {
namespace {

// The axes and the rank of images in ONNX.
constexpr size_t kChannelsFirst = 1, kChannelsLast = 3, kImageRank = 4;

std::vector<std::string> parts_of(const std::string& text, char separator) {
  std::vector<std::string> out;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(separator, begin), text.size());
    out.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

std::optional<double> number(const std::string& text) {
  double v = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), v);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return v;
}

// One number, or several with colons between them; 1/255 is one, too. They are used as f32.
std::vector<double> numbers(const std::string& flag, const std::string& key, const std::string& text) {
  std::vector<double> out;
  for (const std::string& part : parts_of(text, ':')) {
    const std::vector<std::string> terms = parts_of(part, '/');
    std::optional<double> v = number(terms[0]);
    for (size_t i = 1; i < terms.size() && v; ++i) {
      const std::optional<double> by = number(terms[i]);
      v = by ? std::optional(*v / *by) : std::nullopt;
    }
    HONE_USER_CHECK(v && terms.size() <= 2 && std::abs(*v) < 1e30)
        << flag << ": " << key << " is numbers like 123.7:116.3:103.5 or 1/255, not '" << text << "'";
    out.push_back(*v);
  }
  return out;
}

std::optional<DType> type_called(const std::string& text) {
  for (const DType t : {u8, i8, u16, i16, i32, f16, f32, f64})
    if (to_string(t) == text) return t;
  return std::nullopt;
}

// Makes the nodes between an input and its readers.
class Rewriter {
 public:
  Rewriter(Graph g, const OperatorTable& operators) : g_(std::move(g)), operators_(operators) {}

  void apply(const InputFormat& f) {
    Port& port = port_of(f);
    const std::string flag = "--input " + f.text;
    const TensorType model = port.type;
    HONE_USER_CHECK(port.value != kNoValue && model.dtype.is_float())
        << flag << ": the input is " << to_string(model) << "; inputs of floats can be given otherwise";
    const Extents& s = model.shape;
    channels_ = channel_axis(g_, port.value).value_or(kChannelsFirst);
    check_layout(f, model);
    const bool by_channel = f.mean.size() > 1 || f.scale.size() > 1;
    HONE_USER_CHECK(!(by_channel || f.reverses_channels) || s.size() > channels_)
        << flag << ": the input is " << to_string(model) << " and has no channels";
    for (const auto* values : {&f.mean, &f.scale})
      HONE_USER_CHECK(values->size() <= 1 || static_cast<int64_t>(values->size()) == s[channels_])
          << flag << ": " << values->size() << " numbers for the " << s[channels_] << " channels of "
          << to_string(model);
    const DType given = f.dtype.value_or(model.dtype);
    const bool moves_first = f.layout == ImageLayout::kChannelsLast && channels_ == kChannelsFirst,
               moves_last = f.layout == ImageLayout::kChannelsFirst && channels_ == kChannelsLast;
    port.type = {given, moves_first  ? Extents{s[0], s[2], s[3], s[1]}
                        : moves_last ? Extents{s[0], s[3], s[1], s[2]}
                                     : s};
    const ValueId input = port.value;
    const TensorType inside = g_.value(input).type;  // of rank 1 at least
    g_.values[input].type = {given, port.type.shape.empty() ? inside.shape : port.type.shape};
    nodes_.clear();
    origin_ = "input " + f.input;
    ValueId v = input;
    // Elements are moved while they are bytes, which is faster than moving floats.
    if (moves_first) v = add("transpose", {{"perm", "0:3:1:2"}}, {v});
    if (moves_last) v = add("transpose", {{"perm", "0:2:3:1"}}, {v});
    if (f.reverses_channels) v = reversed(v);
    v = scaled(v, f, inside.dtype);
    HONE_ICHECK(g_.value(v).type == inside) << to_string(g_.value(v).type) << " instead of " << to_string(inside);
    if (v == input) return;
    const auto stand_in = [&](ValueId* id) {
      if (*id == input) *id = v;
    };
    for (Node& n : g_.nodes)
      for (ValueId& id : n.inputs) stand_in(&id);
    for (Port& p : g_.outputs) stand_in(&p.value);
    g_.nodes.insert(g_.nodes.begin(), nodes_.begin(), nodes_.end());
  }

  Graph take() { return std::move(g_); }

 private:
  // Whether the input can have the layout that is asked for.
  void check_layout(const InputFormat& f, const TensorType& model) const {
    if (f.layout == ImageLayout::kModels) return;
    const char* const name = f.layout == ImageLayout::kChannelsLast ? "NHWC" : "NCHW";
    HONE_USER_CHECK(model.shape.size() == kImageRank)
        << "--input " << f.text << ": " << name << " is of four axes; the input is " << to_string(model);
    HONE_USER_CHECK(channels_ == kChannelsFirst || channels_ == kChannelsLast)
        << "--input " << f.text << ": " << name << " has its channels second or last; of " << to_string(model)
        << " the first convolution takes axis " << channels_ << ", counted from 0";
  }

  Port& port_of(const InputFormat& f) {
    std::vector<std::string> names;
    for (Port& p : g_.inputs) {
      if (p.name == f.input) return p;
      names.push_back(p.name);
    }
    throw UserError(
        fmt::format("--input {}: there is no input '{}'; there are {}", f.text, f.input, fmt::join(names, ", ")));
  }

  ValueId new_value(std::string name, TensorType type, std::optional<TensorData> constant = std::nullopt) {
    const auto is_known = [&](const std::string& other) {
      return std::any_of(g_.values.begin(), g_.values.end(), [&](const Value& v) { return v.name == other; });
    };
    const std::string base = name;
    for (int i = 1; is_known(name); ++i) name = fmt::format("{}_{}", base, i);
    g_.values.push_back({std::move(name), std::move(type), std::move(constant)});
    return static_cast<ValueId>(g_.values.size()) - 1;
  }

  ValueId add(const char* op, const AttributeTexts& given, const std::vector<ValueId>& inputs) {
    std::vector<TensorType> types;
    for (const ValueId v : inputs) types.push_back(g_.value(v).type);
    const Workload w = infer(operators_, op, given, types).workload;
    const ValueId out = new_value(op, physical_types(w).outputs[0].type);
    nodes_.push_back({w, inputs, {out}, origin_});
    return out;
  }

  ValueId reversed(ValueId v) {
    const Extents shape = g_.value(v).type.shape;
    Extents begin(shape.size(), 0), step(shape.size(), 1);
    begin[channels_] = shape[channels_] - 1;
    step[channels_] = -1;
    if (shape[channels_] == 1) return v;
    return add("slice",
               {{"begin", fmt::format("{}", fmt::join(begin, ":"))},
                {"step", fmt::format("{}", fmt::join(step, ":"))},
                {"size", fmt::format("{}", fmt::join(shape, "x"))}},
               {v});
  }

  // As a normalization is: x * scale - mean * scale. The numbers are operands, which keys do not hold.
  ValueId scaled(ValueId v, const InputFormat& f, DType to) {
    const DType from = g_.value(v).type.dtype;
    const size_t rank = g_.value(v).type.shape.size();
    // Narrow floats are computed with as f32, and rounded once.
    const DType t = to == f64 ? f64 : f32;
    std::string chain;
    std::vector<ValueId> inputs{v};
    const auto link = [&](const std::string& text) { chain += (chain.empty() ? "" : "+") + text; };
    const auto operand = [&](const char* function, const std::vector<double>& values) {
      Extents shape(rank, 1);
      if (values.size() > 1) shape[channels_] = static_cast<int64_t>(values.size());
      std::string bytes;
      for (const double value : values) {
        const auto narrow = static_cast<float>(value);
        HONE_USER_CHECK(t == f64 || (std::isfinite(narrow) && (narrow != 0 || value == 0)))
            << "--input " << f.text << ": " << value << " is beyond what a float of 32 bits holds";
        bytes.append(t == f32 ? reinterpret_cast<const char*>(&narrow) : reinterpret_cast<const char*>(&value),
                     static_cast<size_t>(t.bytes()));
      }
      inputs.push_back(new_value("c", {t, shape}, TensorData({t, shape}, std::move(bytes))));
      link(function);
    };
    if (from != t && (from != to || !f.mean.empty() || !f.scale.empty())) link("cast:" + to_string(t));
    if (!f.scale.empty()) operand("mul", f.scale);
    if (!f.mean.empty()) {
      std::vector<double> shift(std::max(f.mean.size(), f.scale.size()));
      const auto of = [](const std::vector<double>& values, size_t i) {
        return values.size() == 1 ? values[0] : values[i];
      };
      for (size_t i = 0; i < shift.size(); ++i) shift[i] = -of(f.mean, i) * (f.scale.empty() ? 1 : of(f.scale, i));
      operand("add", shift);
    }
    if (to != t && !(chain.empty() && from == to)) link("cast:" + to_string(to));
    return chain.empty() ? v : add("elementwise", {{"op", chain}}, inputs);
  }

  Graph g_;
  const OperatorTable& operators_;
  // State for the current input:
  size_t channels_ = kChannelsFirst;  ///< the axis
  std::vector<Node> nodes_;
  std::string origin_;
};

}  // namespace

InputFormat input_format(const std::string& text) {
  const size_t at = text.find('=');
  HONE_USER_CHECK(at != std::string::npos && at > 0 && at + 1 < text.size())
      << "--input " << text << ": expected NAME=TYPE:LAYOUT,mean=…,scale=…, like images=u8:NHWC,scale=1/255";
  return input_format(text.substr(0, at), text.substr(at + 1));
}

InputFormat input_format(const std::string& input, const std::string& format) {
  const std::string text = input + "=" + format, flag = "--input " + text;
  InputFormat f{text, input, std::nullopt, ImageLayout::kModels, false, {}, {}, false};
  std::vector<std::string> known;
  const auto take = [&](const std::string& what) {
    HONE_USER_CHECK(std::find(known.begin(), known.end(), what) == known.end())
        << flag << ": it says the " << what << " twice";
    known.push_back(what);
  };
  std::vector<double> deviation;
  for (const std::string& item : parts_of(format, ',')) {
    if (const size_t equal = item.find('='); equal != std::string::npos) {
      const std::string key = item.substr(0, equal);
      HONE_USER_CHECK(key == "mean" || key == "scale" || key == "std")
          << flag << ": " << key << " is none of mean, scale, std";
      take(key);
      (key == "mean" ? f.mean : key == "scale" ? f.scale : deviation) = numbers(flag, key, item.substr(equal + 1));
      continue;
    }
    for (const std::string& word : parts_of(item, ':')) {
      if (const auto type = type_called(word)) {
        take("type");
        f.dtype = *type;
      } else if (word == "NHWC" || word == "NCHW") {
        take("layout");
        f.layout = word == "NHWC" ? ImageLayout::kChannelsLast : ImageLayout::kChannelsFirst;
      } else if (word == "bgr") {
        take("order of channels");
        f.reverses_channels = true;
      } else if (word == "normalized") {
        take("normalization");
        f.is_normalized = true;
      } else {
        throw UserError(
            fmt::format("{}: '{}' is neither a type (u8, s8, u16, s16, s32, f16, f32, f64), a layout (NHWC, NCHW), "
                        "bgr, nor normalized",
                        flag, word));
      }
    }
  }
  HONE_USER_CHECK(f.scale.empty() || deviation.empty()) << flag << ": scale and std exclude each other";
  HONE_USER_CHECK(!f.is_normalized || (f.mean.empty() && f.scale.empty() && deviation.empty()))
      << flag << ": normalized takes mean and std from the model's file; give them, or that";
  for (const double v : f.scale) HONE_USER_CHECK(v != 0) << flag << ": a scale of 0";
  for (const double v : deviation) {
    HONE_USER_CHECK(v != 0) << flag << ": a std of 0";
    f.scale.push_back(1 / v);
  }
  return f;
}

std::vector<InputFormat> normalized_by(std::vector<InputFormat> formats, const ModelMetadata& metadata) {
  for (InputFormat& f : formats) {
    if (!f.is_normalized) continue;
    const auto found = metadata.inputs.find(f.input);
    HONE_USER_CHECK(found != metadata.inputs.end() && !(found->second.mean.empty() && found->second.std.empty()))
        << "--input " << f.text << ": the model's file does not say how '" << f.input
        << "' is normalized; give mean=… and std=…";
    f.mean = found->second.mean;
    for (const double v : found->second.std) {
      HONE_USER_CHECK(std::isfinite(static_cast<float>(1 / v)))
          << "--input " << f.text << ": the model's file divides by " << v << "; give mean=… and std=…";
      f.scale.push_back(1 / v);
    }
    f.is_normalized = false;
  }
  return formats;
}

ModelMetadata with_input_formats(ModelMetadata metadata, const std::vector<InputFormat>& formats) {
  for (const InputFormat& f : formats) {
    const auto found = metadata.inputs.find(f.input);
    if (found == metadata.inputs.end()) continue;
    TensorMetadata& m = found->second;
    if (f.reverses_channels) {
      for (auto* numbers : {&m.mean, &m.std, &m.min, &m.max}) std::reverse(numbers->begin(), numbers->end());
      if (m.colors == "rgb") m.colors = "bgr";
    }
    if (f.mean.empty() && f.scale.empty()) continue;
    m.mean.clear(), m.std.clear(), m.min.clear(), m.max.clear();
  }
  return metadata;
}

Graph with_input_formats(Graph g, const std::vector<InputFormat>& formats, const OperatorTable& operators) {
  for (size_t i = 0; i < formats.size(); ++i)
    for (size_t before = 0; before < i; ++before)
      HONE_USER_CHECK(formats[before].input != formats[i].input)
          << "--input " << formats[i].text << ": the input is given twice";
  for (const InputFormat& f : formats) HONE_ICHECK(!f.is_normalized) << "normalized_by() comes first: " << f.text;
  if (formats.empty()) return g;
  Rewriter rewriter(std::move(g), operators);
  for (const InputFormat& f : formats) rewriter.apply(f);
  return rewriter.take();
}

}  // namespace hone
