#include "compiler/ops/rewrite/changed.h"

#include <utility>

#include "compiler/ops/dtypes.h"
#include "compiler/ops/elementwise.h"
#include "compiler/ops/infer.h"

namespace hone {
namespace {

constexpr std::string_view kNothing = "none";  // of elementwise_text()

}  // namespace

Workload with(const Workload& w, std::string_view attribute, std::string_view text) {
  const std::pair<std::string, std::string> change{attribute, text};
  return Workload::changed(w, {&change, 1});
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

std::optional<Workload> elementwise_of(const OperatorTable& operators, const FunctionTable& functions,
                                       const Chain& chain, const std::vector<TensorType>& types) {
  const std::string text = elementwise_text(chain, types[0].dtype, functions);
  if (text == kNothing) return std::nullopt;
  return infer(operators, "elementwise", AttributeTexts{{"op", text}}, types).workload;
}

}  // namespace hone
