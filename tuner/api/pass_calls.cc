#include "tuner/api/pass_calls.h"

#include <fmt/format.h>

#include <charconv>
#include <cstddef>
#include <optional>

#include "base/check.h"
#include "base/json.h"
#include "base/text.h"
#include "compiler/graph/text.h"

namespace hone::api {
namespace {

// DLPack's type of a graph's elements: bools are bytes.
DLDataType type_of(DType t) {
  const uint8_t code = t.is_bool()                 ? kDLUInt
                       : t == bf16                 ? kDLBfloat
                       : t.is_float()              ? kDLFloat
                       : t.code == TypeCode::kUInt ? kDLUInt
                                                   : kDLInt;
  return {code, static_cast<uint8_t>(t.is_bool() ? 8 : t.bits), 1};
}

// Tensors of the graph for the caller: views.
struct Views {
  explicit Views(const std::vector<TensorData>& data) {
    for (const TensorData& t : data) {
      DLTensor& v = tensors.emplace_back();
      v.data =
          const_cast<char*>(t.bytes().data());  // NOLINT(cppcoreguidelines-pro-type-const-cast): DLPack has no const
      v.device = {kDLCPU, 0};
      v.ndim = static_cast<int32_t>(t.type().shape.size());
      v.dtype = type_of(t.type().dtype);
      v.shape = const_cast<int64_t*>(t.type().shape.data());  // NOLINT(cppcoreguidelines-pro-type-const-cast)
    }
  }
  std::vector<DLTensor> tensors;
};

// The type whose elements these are.
std::optional<DType> dtype_of(DLDataType t) {
  for (const DType known : {f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64}) {
    const DLDataType own = type_of(known);
    if (t.lanes == 1 && t.code == own.code && t.bits == own.bits) return known;
  }
  return std::nullopt;
}

// The graph that a pass has written.
struct Made {
  std::string text;
  std::vector<TensorData> tensors;
  std::string wrong;

  void take(const char* graph, const DLTensor* made, int32_t count) {
    text = graph ? graph : "";
    for (int32_t i = 0; i < count && wrong.empty(); ++i) {
      const DLTensor& t = made[i];
      const std::optional<DType> dtype = dtype_of(t.dtype);
      if (!dtype || t.device.device_type != kDLCPU || t.strides || t.ndim < 1) {
        wrong = fmt::format("made tensor {} is no row-major tensor of numbers in memory", i);
        return;
      }
      const TensorType type{*dtype, {t.shape, t.shape + t.ndim}};
      const char* const begin = static_cast<const char*>(t.data) + t.byte_offset;
      tensors.emplace_back(type, std::string(begin, static_cast<size_t>(bytes_of(type))));
    }
  }
};

// The line of a graph's text that an error of parse_graph() begins with: `12:8: what`.
std::string with_line(std::string_view text, const std::string& error) {
  int number = 0;
  const auto [end, failed] = std::from_chars(error.data(), error.data() + error.size(), number);
  const size_t what = error.find(": ");
  if (failed != std::errc() || *end != ':' || what == std::string::npos) return error;
  std::string_view line;
  for (int i = 0; i < number; ++i) {
    line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
  }
  constexpr size_t kMost = 200;
  return fmt::format("{}: {}: `{}{}`", error.substr(0, what), error.substr(what + 2), line.substr(0, kMost),
                     line.size() > kMost ? "…" : "");
}

Graph run(const HoneGraphPasses& passes, int32_t number, const std::string& name, const OperatorTable& operators,
          const Graph& g) {
  std::vector<TensorData> given;
  const std::string text = text_beside(g, &given);
  const Views views(given);
  Made made;
  const auto write = [](void* to, const char* graph, const DLTensor* tensors, int32_t count) {
    static_cast<Made*>(to)->take(graph, tensors, count);
  };
  const int32_t code = passes.run(passes.data, number, text.c_str(), views.tensors.data(),
                                  static_cast<int32_t>(given.size()), &made, write);
  if (code == HONE_STOPPED) throw PassStopped();
  const std::string prefix = fmt::format("graph pass '{}': ", name);
  if (code != HONE_OK) throw UserError(prefix + (made.text.empty() ? "it failed" : clean_line(made.text)));
  HONE_USER_CHECK(made.wrong.empty()) << prefix << made.wrong;
  HONE_USER_CHECK(!made.text.empty()) << prefix << "it wrote no graph";
  for (TensorData& t : made.tensors) given.push_back(std::move(t));
  try {
    return parse_graph(operators, made.text, given);
  } catch (const UserError& e) {
    throw UserError(prefix + clean_line(with_line(made.text, e.what())));
  }
}

}  // namespace

std::vector<UserPass> passes_of(const HoneCall* call, const OperatorTable& operators) {
  if (!call || call->size < offsetof(HoneCall, passes) + sizeof call->passes || !call->passes) return {};
  const HoneGraphPasses& passes = *call->passes;
  HONE_USER_CHECK(passes.size >= sizeof(HoneGraphPasses) && passes.list && passes.run)
      << "graph passes without their list, or without the function that runs them";
  std::vector<UserPass> out;
  try {
    for (const Json& j : Json::parse(passes.list)) {
      UserPass pass{j.at("name").get<std::string>()};
      pass.is_before = j.contains("before");
      HONE_USER_CHECK(pass.is_before != j.contains("after"))
          << "graph pass '" << clean_line(pass.name) << "': it runs after a pass, or before one";
      j.at(pass.is_before ? "before" : "after").get_to(pass.place);
      pass.file = j.value("file", "");
      const auto number = static_cast<int32_t>(out.size());
      pass.run = [&passes, number, name = pass.name, &operators](const Graph& g) {
        return run(passes, number, name, operators, g);
      };
      out.push_back(std::move(pass));
    }
  } catch (const Json::exception& e) {
    throw UserError("the list of graph passes is none: " + clean_line(e.what()));
  }
  return out;
}

}  // namespace hone::api
