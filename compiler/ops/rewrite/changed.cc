#include "compiler/ops/rewrite/changed.h"

#include <absl/strings/str_join.h>
#include <fmt/format.h>

#include <utility>

#include "compiler/ops/dtypes.h"
#include "compiler/ops/elementwise.h"
#include "compiler/ops/infer.h"
#include "compiler/ops/operators.h"
#include "compiler/ops/windows/conv_shape.h"

namespace hone {
namespace {

constexpr std::string_view kNothing = "none";  // of elementwise_text()

}  // namespace

Workload with(const Workload& w, std::string_view attribute, std::string_view text) {
  const std::pair<std::string, std::string> change{attribute, text};
  return Workload::changed(w, {&change, 1});
}

Workload with_elements(const Workload& w, DType t) { return with(w, "dtype", to_string(t)); }

Workload with_output_channels(const Workload& w, int64_t channels) {
  return with(w, is<ops::Dense>(w) ? "n" : "co", std::to_string(channels));
}

Workload with_padding_for(const Workload& w, const Pads& ends) {
  const ConvShape& s = conv_shape(w);
  const std::pair<std::string, std::string> changes[] = {
      {"h", std::to_string(s.h - ends.top - ends.bottom)},
      {"w", std::to_string(s.w - ends.left - ends.right)},
      {"pad", fmt::format("{}:{}:{}:{}", s.pad_top + ends.top, s.pad_left + ends.left, s.pad_bottom + ends.bottom,
                          s.pad_right + ends.right)}};
  return Workload::changed(w, changes);
}

std::optional<Workload> with_sums_in_f16(const Workload& w) {
  constexpr std::string_view kWide = "f16:f16:f32:", kNarrow = "f16:f16:f16:";
  if (!w.attributes.has("dtype")) return std::nullopt;
  const std::string_view types = w.attributes.text("dtype");
  if (!types.starts_with(kWide)) return std::nullopt;
  return with(w, "dtype", fmt::format("{}{}", kNarrow, types.substr(kWide.size())));
}

std::optional<Workload> with_weights_in_f32(const Workload& w) {
  const DTypes& t = dtypes_of(w);
  if (!t.weight.is_narrow_float() || t.in != t.weight || t.f16_runs) return std::nullopt;
  return with(w, "dtype", fmt::format("{}:f32:f32:{}", to_string(t.in), to_string(t.out)));
}

Workload with_blocks(const Workload& w, int64_t in, int64_t out, int64_t input_channels, int64_t output_channels) {
  std::vector<std::pair<std::string, std::string>> changes{
      {"layout", in == out ? fmt::format("NCHW{}c", in) : fmt::format("NCHW{}c:{}c", in, out)}};
  if (w.attributes.has("c")) {
    changes.emplace_back("c", std::to_string(output_channels));
  } else {
    changes.emplace_back("ci", std::to_string(input_channels));
    changes.emplace_back("co", std::to_string(output_channels));
  }
  return Workload::changed(w, changes);
}

Workload with_picture(const Workload& w, DType given, bool is_interleaved, const Chain& chain,
                      const FunctionTable& functions) {
  const ConvShape& s = conv_shape(w);
  const auto value = [&] { return std::vector<int64_t>{s.n, s.ci, s.h, s.w}; };
  const std::pair<std::string, std::string> changes[] = {
      {"layout",
       is_interleaved ? fmt::format("NCHW{}c:{}c", s.ci, layout_of(w).out_block) : w.attributes.text("layout")},
      {"dtype", given == f32 ? "f32" : fmt::format("{}:f32:f32:f32", to_string(given))},
      {"prologue", to_text(canonical(chain, f32, f32, functions), {functions, "prologue", value, 1, false})}};
  return Workload::changed(w, changes);
}

Workload with_epilogue(const Workload& w, const Chain& chain, const std::vector<int64_t>& value,
                       const FunctionTable& functions) {
  const DTypes& t = w.attributes.get<DTypes>("dtype");
  return with(w, "epilogue",
              to_text(canonical(chain, t.accumulate, t.out, functions),
                      {functions, "epilogue", [&] { return value; }, std::nullopt, false}));
}

Workload with_prologue(const Workload& w, const Chain& chain, const std::vector<int64_t>& value,
                       const FunctionTable& functions, std::optional<size_t> channel_axis) {
  return with(w, "prologue",
              to_text(canonical(chain, f32, f32, functions),
                      {functions, "prologue", [&] { return value; }, channel_axis, false}));
}

std::optional<Workload> with_functions(const Workload& w, const Chain& chain, DType x, const FunctionTable& functions) {
  const std::string text = elementwise_text(chain, x, functions);
  if (text == kNothing) return std::nullopt;
  return with(w, "op", text);
}

Workload reshape_of(const OperatorTable& operators, const TensorType& x, const std::vector<int64_t>& to) {
  return infer(operators, "reshape", AttributeTexts{{"to", text_of_extents(to)}}, {&x, 1}).workload;
}

Workload transpose_of(const OperatorTable& operators, const TensorType& x, const std::vector<int64_t>& perm) {
  return infer(operators, "transpose", AttributeTexts{{"perm", absl::StrJoin(perm, ":")}}, {&x, 1}).workload;
}

Workload reduction_of_planes(const OperatorTable& operators, const Workload& w, const TensorType& x) {
  AttributeTexts given{{"op", w.attributes.text("op")}, {"axes", "2:3"}, {"keepdims", "1"}};
  if (w.attributes.text("epilogue") != "none") given.emplace_back("epilogue", w.attributes.text("epilogue"));
  return infer(operators, "reduce", given, {&x, 1}).workload;
}

Workload pad_of(const OperatorTable& operators, const Workload& w, const TensorType& x,
                const std::vector<int64_t>& before, const std::vector<int64_t>& after) {
  AttributeTexts given{{"mode", w.attributes.text("mode")}};
  if (w.attributes.text("mode") == "constant") given.emplace_back("value", w.attributes.text("value"));
  given.emplace_back("before", absl::StrJoin(before, ":"));
  given.emplace_back("after", absl::StrJoin(after, ":"));
  return infer(operators, "pad", given, {&x, 1}).workload;
}

Workload resize_of(const OperatorTable& operators, const Workload& w, const TensorType& x,
                   const std::vector<int64_t>& size) {
  AttributeTexts given;
  for (const Attributes::Item& a : w.attributes)
    if (a.name != "shape" && a.name != "size" && a.name != "scales" && a.name != "dtype")
      given.emplace_back(a.name, a.text);
  std::string scales = w.attributes.text("scales");
  for (size_t d = w.attributes.get<std::vector<int64_t>>("shape").size(); d < size.size(); ++d) scales += ":1/1";
  given.emplace_back("size", text_of_extents(size));
  given.emplace_back("scales", scales);
  return infer(operators, "resize", given, {&x, 1}).workload;
}

Workload product_of(const OperatorTable& operators, const Workload& w, const std::vector<TensorType>& types) {
  const AttributeTexts given{{"dtype", w.attributes.text("dtype")}};
  return infer(operators, "batch_matmul", given, types).workload;
}

std::optional<Workload> elementwise_of(const OperatorTable& operators, const FunctionTable& functions,
                                       const Chain& chain, const std::vector<TensorType>& types) {
  const std::string text = elementwise_text(chain, types[0].dtype, functions);
  if (text == kNothing) return std::nullopt;
  return infer(operators, "elementwise", AttributeTexts{{"op", text}}, types).workload;
}

}  // namespace hone
