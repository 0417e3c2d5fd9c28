#include "tuner/transfer/foreign_workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/check.h"
#include "base/json.h"

namespace hone {
namespace {

struct Known {
  std::string_view name;
  ForeignTemplate kind;
  std::string_view layout;  // of the activations, in our words; empty: none
};
constexpr Known kKnown[] = {
    {"conv2d_NCHWc.x86", ForeignTemplate::kConvBlocked, "NCHWc"},
    {"conv2d_NCHWc_int8.x86", ForeignTemplate::kConvBlocked, "NCHWc"},
    {"conv2d_nchw_spatial_pack.arm_cpu", ForeignTemplate::kConvSpatialPack, "NCHW"},
    {"conv2d_nhwc_spatial_pack.arm_cpu", ForeignTemplate::kConvSpatialPack, "NHWC"},
    {"conv2d_nchw_winograd.arm_cpu", ForeignTemplate::kConvWinograd, "NCHW"},
    {"depthwise_conv2d_NCHWc.x86", ForeignTemplate::kDepthwiseBlocked, "NCHWc"},
    {"depthwise_conv2d_nchw.arm_cpu", ForeignTemplate::kDepthwisePlain, "NCHW"},
    {"dense_nopack.x86", ForeignTemplate::kDense, ""},
    {"dense_pack.x86", ForeignTemplate::kDense, ""},
};

const Known* find_template(std::string_view name) {
  const auto it = std::find_if(std::begin(kKnown), std::end(kKnown), [&](const Known& k) { return k.name == name; });
  return it == std::end(kKnown) ? nullptr : it;
}

// For messages without numbers: records are counted by them.
struct NoCounterpart {
  std::string why;
};

// The most elements of a tensor, and the largest number in a record: with it no product below overflows, and nothing
// larger is ever tuned.
constexpr int64_t kLargestNumber = int64_t{1} << 31;

struct Tensor {
  std::vector<int64_t> shape;
  std::string dtype;
};

// ["TENSOR", [shape], dtype]
Tensor tensor_of(const Json& arguments, size_t at) {
  if (at >= arguments.size()) throw NoCounterpart{"tensors are missing"};
  const Json& t = arguments[at];
  if (!t.is_array() || t.size() != 3 || t[0] != "TENSOR" || !t[1].is_array() || !t[2].is_string())
    throw NoCounterpart{"an argument is no tensor"};
  Tensor out{{}, t[2].get<std::string>()};
  int64_t elements = 1;
  for (const Json& n : t[1]) {
    if (!n.is_number_integer() || n.get<int64_t>() < 1) throw NoCounterpart{"a tensor's shape is not known"};
    if (n.get<int64_t>() > kLargestNumber || (elements *= n.get<int64_t>()) > kLargestNumber)
      throw NoCounterpart{"a tensor of more than 2^31 elements"};
    out.shape.push_back(n.get<int64_t>());
  }
  return out;
}

// A number or a list of numbers.
std::vector<int64_t> numbers_of(const Json& arguments, size_t at, const char* what) {
  if (at >= arguments.size()) throw NoCounterpart{fmt::format("{} is missing", what)};
  const Json& x = arguments[at];
  std::vector<int64_t> out;
  for (const Json& n : x.is_array() ? x : Json::array({x})) {
    if (!n.is_number_integer()) throw NoCounterpart{fmt::format("{} is not given in numbers", what)};
    if (n.get<int64_t>() < -kLargestNumber || n.get<int64_t>() > kLargestNumber)
      throw NoCounterpart{fmt::format("{} beyond 2^31", what)};
    out.push_back(n.get<int64_t>());
  }
  return out;
}

std::string pair_text(const std::vector<int64_t>& n, const char* what) {
  if (n.size() == 1) return fmt::format("{}", n[0]);
  if (n.size() == 2) return fmt::format("{}x{}", n[0], n[1]);
  throw NoCounterpart{fmt::format("{} has neither one nor two numbers", what)};
}

std::string dtype_text(const std::string& in, const std::string& weight, const std::string& out) {
  if (in == weight && in == out && in == "float32") return "f32";
  if (in == weight && in == out && in == "float64") return "f64";
  if ((in == "uint8" || in == "int8") && weight == "int8" && out == "int32")
    return fmt::format("{}:s8:s32:s32", in == "int8" ? "s8" : "u8");
  throw NoCounterpart{fmt::format("types {} x {} -> {} have no counterpart here", in, weight, out)};
}

// The last argument that is a type: layouts are words too, in capitals.
std::string result_type(const Json& arguments) {
  for (size_t i = arguments.size(); i-- > 0;)
    if (arguments[i].is_string()) {
      auto text = arguments[i].get<std::string>();
      if (!text.empty() && std::islower(static_cast<unsigned char>(text[0]))) return text;
    }
  throw NoCounterpart{"the result's type is missing"};
}

// data, weight, strides, padding, dilation, [layouts,] type. Tensors that are packed already have one more axis, their
// blocks.
Workload convolution_of(const OperatorTable& operators, const Json& a, const Known& known, bool depthwise) {
  Tensor data = tensor_of(a, 0), weight = tensor_of(a, 1);
  std::vector<int64_t>&d = data.shape, &k = weight.shape;
  if (d.size() == 5) d = {d[0], d[1] * d[4], d[2], d[3]};
  if (k.size() == 6) k = {k[0] * k[5], k[1] * k[4], k[2], k[3]};
  if (d.size() != 4 || k.size() != 4) throw NoCounterpart{"tensors packed in a way that is not known here"};
  if (known.layout == "NHWC") d = {d[0], d[3], d[1], d[2]}, k = {k[3], k[2], k[0], k[1]};
  std::vector<int64_t> pad = numbers_of(a, 3, "padding");
  const std::string padding =
      pad.size() == 4 ? fmt::format("{}:{}:{}:{}", pad[0], pad[1], pad[2], pad[3]) : pair_text(pad, "padding");
  std::string shape;
  if (depthwise) {
    if (k[1] != 1 || k[0] != d[1]) throw NoCounterpart{"a depthwise convolution of several results a channel"};
    shape = fmt::format("n={},c={},h={},w={}", d[0], d[1], d[2], d[3]);
  } else {
    if (k[1] != d[1]) throw NoCounterpart{"a grouped convolution"};
    shape = fmt::format("n={},ci={},h={},w={},co={}", d[0], d[1], d[2], d[3], k[0]);
  }
  return Workload::parse(operators, depthwise ? "depthwise_conv2d" : "conv2d",
                         fmt::format("{},kh={},kw={},stride={},pad={},dilation={},layout={},dtype={}", shape, k[2],
                                     k[3], pair_text(numbers_of(a, 2, "stride"), "stride"), padding,
                                     pair_text(numbers_of(a, 4, "dilation"), "dilation"), known.layout,
                                     dtype_text(data.dtype, weight.dtype, result_type(a))));
}

// a[m,k], b[n,k] or in panels [n/p,k,p], bias, type.
Workload dense_of(const OperatorTable& operators, const Json& arguments) {
  const Tensor a = tensor_of(arguments, 0), b = tensor_of(arguments, 1);
  if (a.shape.size() != 2 || (b.shape.size() != 2 && b.shape.size() != 3))
    throw NoCounterpart{"tensors packed in a way that is not known here"};
  const bool packed = b.shape.size() == 3;
  const int64_t n = packed ? b.shape[0] * b.shape[2] : b.shape[0];
  if (b.shape[1] != a.shape[1]) throw NoCounterpart{"a dense layer whose tensors do not fit"};
  const std::string epilogue =
      arguments.size() > 2 && arguments[2].is_array() && !arguments[2].empty() ? "bias" : "none";
  return Workload::parse(operators, "dense",
                         fmt::format("m={},n={},k={},dtype={},epilogue={}", a.shape[0], n, a.shape[1],
                                     dtype_text(a.dtype, b.dtype, result_type(arguments)), epilogue));
}

}  // namespace

StatusOr<ForeignTemplate> foreign_template(std::string_view name) {
  if (const Known* known = find_template(name)) return known->kind;
  return absl::NotFoundError(fmt::format("template {} has no counterpart here", std::string(name)));
}

StatusOr<Workload> foreign_workload(const OperatorTable& operators, const db::ForeignRow& record) {
  HONE_ASSIGN_OR_RETURN(const ForeignTemplate kind, foreign_template(record.template_name));
  const Known& known = *find_template(record.template_name);
  const Json arguments = Json::parse(record.arguments, nullptr, /*allow_exceptions=*/false);
  if (!arguments.is_array()) return absl::InvalidArgumentError("arguments that are no list");
  try {
    if (kind == ForeignTemplate::kDense) return dense_of(operators, arguments);
    return convolution_of(operators, arguments, known,
                          kind == ForeignTemplate::kDepthwiseBlocked || kind == ForeignTemplate::kDepthwisePlain);
  } catch (const NoCounterpart& e) {
    return absl::InvalidArgumentError(e.why);
  } catch (const UserError&) {
    return absl::InvalidArgumentError(fmt::format("shapes of {} that are no workload here", record.template_name));
  }
}

}  // namespace hone
