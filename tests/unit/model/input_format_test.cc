// Inputs as cameras and microphones give them.
#include "compiler/model/input_format.h"

#include <gmock/gmock.h>

#include <cmath>

#include "base/check.h"
#include "compiler/codegen/llvm/machine/host_target.h"
#include "compiler/graph/evaluate.h"
#include "compiler/graph/text.h"
#include "compiler/model/build_model.h"
#include "compiler/model/check/check_whole.h"
#include "compiler/model/model_data.h"
#include "compiler/model/prepare.h"
#include "compiler/model/run_model.h"
#include "tests/fakes/workloads.h"

namespace hone {
namespace {

using testing::HasSubstr;

// A convolution with borders, which the mean must not reach.
const std::string kModel = R"(graph g
input "image" %image f32[2, 3, 6, 5]
%w = constant f32[4, 3, 3, 3] fill 5
%y = conv2d(n=2,ci=3,h=6,w=5,co=4,kh=3,kw=3,stride=1,pad=1,dilation=1,groups=1,layout=NCHW,dtype=f32,epilogue=relu) %image %w
output "y" %y f32[2, 4, 6, 5]
)";

Graph graph(const std::string& text) { return parse_graph(test_operators(), text); }
std::vector<InputFormat> formats_of(const std::vector<std::string>& texts) {
  std::vector<InputFormat> out;
  for (const std::string& text : texts) out.push_back(input_format(text));
  return out;
}
Graph formatted(const Graph& g, const std::vector<std::string>& formats) {
  Graph made = with_input_formats(g, formats_of(formats), test_operators());
  verify(made);
  return made;
}
TensorData bytes_like(const TensorType& t) {
  std::string bytes(static_cast<size_t>(bytes_of(t)), '\0');
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 83 % 251);
  return {t, bytes};
}
TensorData floats(const std::vector<int64_t>& shape, const std::vector<float>& v) {
  return {{f32, shape}, std::string(reinterpret_cast<const char*>(v.data()), v.size() * sizeof(float))};
}

// The plain model's input for [2, 6, 5, 3] bytes.
TensorData preprocessed(const TensorData& bytes, const std::vector<double>& mean, const std::vector<double>& scale,
                        bool is_bgr) {
  const std::vector<double> v = bytes.values();
  std::vector<float> out;
  for (size_t n = 0; n < 2; ++n)
    for (size_t c = 0; c < 3; ++c)
      for (size_t p = 0; p < 30; ++p)
        out.push_back(static_cast<float>((v[(n * 30 + p) * 3 + (is_bgr ? 2 - c : c)] - mean[c]) * scale[c]));
  return floats({2, 3, 6, 5}, out);
}

BuiltModel built_in_input_format(const Graph& g) {
  ModelOptions options{"m", host_target(1), {}};
  options.choose = [](const Workload&, const Target&, const Space& space) {
    return ChosenConfig{space.default_config(), "", ""};
  };
  return build_model(g, options);
}

TEST(InputFormat, BytesWithChannelsLastGiveWhatThePlainModelGives) {
  const Graph plain = graph(kModel);
  struct Case {
    std::string format;
    std::vector<double> mean, scale;
    bool is_bgr;
  };
  const std::vector<Case> cases = {
      {"image=u8:NHWC,mean=123.7:116.3:103.5,scale=0.017", {123.7, 116.3, 103.5}, {0.017, 0.017, 0.017}, false},
      {"image=u8:NHWC:bgr,mean=127.5,std=58:57:57.5", {127.5, 127.5, 127.5}, {1 / 58.0, 1 / 57.0, 1 / 57.5}, true},
      {"image=NHWC,u8,scale=0.0039", {0, 0, 0}, {0.0039, 0.0039, 0.0039}, false}};
  for (const Case& c : cases) {
    const Graph made = formatted(plain, {c.format});
    EXPECT_EQ(made.inputs[0].type, (TensorType{u8, {2, 6, 5, 3}}));
    const TensorData bytes = bytes_like(made.inputs[0].type);
    const std::vector<double> wanted =
        interpret(plain, {preprocessed(bytes, c.mean, c.scale, c.is_bgr)}, &evaluate)[0].values();
    const auto near = testing::Pointwise(testing::DoubleNear(2e-5), wanted);
    EXPECT_THAT(interpret(made, {bytes}, &evaluate)[0].values(), near) << c.format;
    const Graph prepared = prepare_graph(made, {test_operators(), test_functions()}, host_target(1));
    EXPECT_THAT(LoadedModel(built_in_input_format(prepared), "m", 1).run({bytes})[0].values(), near) << c.format;
  }
}

TEST(InputFormat, TheArtifactSaysTypeAndShape) {
  const BuiltModel m = built_in_input_format(formatted(graph(kModel), {"image=u8:NHWC,scale=0.5"}));
  EXPECT_THAT(m.header, HasSubstr("u8 [2, 6, 5, 3]"));
  EXPECT_THAT(m.json, HasSubstr("\"u8\""));
}

TEST(InputFormat, SamplesOfSound) {
  const Graph plain = graph(R"(graph g
input "wave" %wave f32[1, 64]
%y = elementwise(op=tanh,shape=1x64,dtype=f32) %wave
output "y" %y f32[1, 64]
)");
  const Graph made = formatted(plain, {"wave=s16,scale=1/32768"});
  EXPECT_EQ(made.inputs[0].type, (TensorType{i16, {1, 64}}));
  const TensorData samples = bytes_like(made.inputs[0].type);
  std::vector<double> wanted;
  for (const double v : samples.values()) wanted.push_back(std::tanh(v / 32768));
  EXPECT_THAT(interpret(made, {samples}, &evaluate)[0].values(), testing::Pointwise(testing::DoubleNear(1e-6), wanted));
}

TEST(InputFormat, ALayoutAloneKeepsTheTypeAndOutputsThatAreTheInputAreWhatTheModelTakes) {
  const Graph made =
      formatted(graph("graph g\ninput \"x\" %x f16[1, 2, 2, 1]\noutput \"y\" %x f16[1, 2, 2, 1]\n"), {"x=NHWC"});
  EXPECT_EQ(made.inputs[0].type, (TensorType{f16, {1, 2, 1, 2}}));
  const TensorData x({f16, {1, 2, 1, 2}}, std::string("\0\74\0\100\0\102\0\104", 8));  // 1, 2, 3, 4
  EXPECT_EQ(interpret(made, {x}, &evaluate)[0].values(), (std::vector<double>{1, 3, 2, 4}));
}

TEST(InputFormat, BytesOfTheCallerLeaveNoMoreRoomToChecks) {
  const Graph made = formatted(graph(kModel), {"image=u8:NHWC:bgr,mean=100,scale=0.017"});
  const Graph prepared = prepare_graph(made, {test_operators(), test_functions()}, host_target(1));
  const std::vector<TensorData> inputs = seeded_inputs(made);
  const WholeCheck c = check_whole(made, prepared, host_target(1), inputs, interpret(prepared, inputs, &evaluate), {});
  EXPECT_EQ(c.wrong, "");
  EXPECT_LT(c.allowed, 1e-4);
}

// As other frameworks have their images: the model itself brings the channels to where its convolution wants them.
const std::string kChannelsLast = R"(graph g
input "image" %image f32[2, 6, 5, 3]
%t = transpose(shape=2x6x5x3,perm=0:3:1:2,dtype=f32) %image
%w = constant f32[4, 3, 3, 3] fill 5
%y = conv2d(n=2,ci=3,h=6,w=5,co=4,kh=3,kw=3,stride=1,pad=1,dilation=1,groups=1,layout=NCHW,dtype=f32,epilogue=relu) %t %w
output "y" %y f32[2, 4, 6, 5]
)";

// [2, 6, 5, 3] of [2, 3, 6, 5].
TensorData with_channels_last(const TensorData& planes) {
  const std::vector<double> v = planes.values();
  std::vector<float> out;
  for (size_t n = 0; n < 2; ++n)
    for (size_t p = 0; p < 30; ++p)
      for (size_t c = 0; c < 3; ++c) out.push_back(static_cast<float>(v[(n * 3 + c) * 30 + p]));
  return floats({2, 6, 5, 3}, out);
}

TEST(InputFormat, FindsTheChannelsOfAModelThatHasThemLast) {
  const Graph plain = graph(kChannelsLast);
  const std::vector<double> mean{123.7, 116.3, 103.5}, scale{1 / 58.0, 1 / 57.0, 1 / 57.5};
  const std::string numbers = ",mean=123.7:116.3:103.5,std=58:57:57.5";
  const TensorData bytes = bytes_like({u8, {2, 6, 5, 3}});
  for (const bool is_bgr : {false, true}) {
    const auto wanted = interpret(plain, {with_channels_last(preprocessed(bytes, mean, scale, is_bgr))}, &evaluate)[0];
    const auto near = testing::Pointwise(testing::DoubleNear(2e-5), wanted.values());
    for (const std::string layout : {"u8:NHWC", "u8"}) {
      const Graph made = formatted(plain, {"image=" + layout + (is_bgr ? ":bgr" : "") + numbers});
      EXPECT_EQ(made.inputs[0].type, (TensorType{u8, {2, 6, 5, 3}})) << layout;
      EXPECT_THAT(interpret(made, {bytes}, &evaluate)[0].values(), near);
      const Graph prepared = prepare_graph(made, {test_operators(), test_functions()}, host_target(1));
      EXPECT_THAT(LoadedModel(built_in_input_format(prepared), "m", 1).run({bytes})[0].values(), near);
    }
  }
}

// Planes of bytes for a model that has its channels last.
TEST(InputFormat, BringsPlanesToAModelThatHasChannelsLast) {
  const Graph plain = graph(kChannelsLast);
  const Graph made = formatted(plain, {"image=u8:NCHW,mean=1:2:3,scale=0.5"});
  EXPECT_EQ(made.inputs[0].type, (TensorType{u8, {2, 3, 6, 5}}));
  const TensorData bytes = bytes_like(made.inputs[0].type);
  std::vector<float> centred;
  const std::vector<double> v = bytes.values();
  for (size_t i = 0; i < v.size(); ++i)
    centred.push_back(static_cast<float>((v[i] - static_cast<double>(i / 30 % 3 + 1)) / 2));
  const auto wanted = interpret(plain, {with_channels_last(floats({2, 3, 6, 5}, centred))}, &evaluate)[0];
  const auto near = testing::Pointwise(testing::DoubleNear(2e-5), wanted.values());
  EXPECT_THAT(interpret(made, {bytes}, &evaluate)[0].values(), near);
  const Graph prepared = prepare_graph(made, {test_operators(), test_functions()}, host_target(1));
  EXPECT_THAT(LoadedModel(built_in_input_format(prepared), "m", 1).run({bytes})[0].values(), near);
}

// A convolution along a sequence, with nodes in front that keep, move and add axes.
TEST(InputFormat, FindsTheChannelsBehindOtherNodes) {
  const Graph plain = graph(R"(graph g
input "wave" %wave f32[1, 9, 4]
%s = elementwise(op=tanh,shape=1x9x4,dtype=f32) %wave
%t = transpose(shape=1x9x4,perm=0:2:1,dtype=f32) %s
%r = reshape(shape=1x4x9,to=1x4x1x9) %t
%w = constant f32[2, 4, 1, 3] fill 5
%y = conv2d(n=1,ci=4,h=1,w=9,co=2,kh=1,kw=3,stride=1,pad=0,dilation=1,groups=1,layout=NCHW,dtype=f32,epilogue=none) %r %w
output "y" %y f32[1, 2, 1, 7]
)");
  const Graph made = formatted(plain, {"wave=s16,mean=1:2:3:4,scale=1/32768"});
  EXPECT_EQ(made.inputs[0].type, (TensorType{i16, {1, 9, 4}}));
  EXPECT_THAT(to_string(made), HasSubstr("[1, 1, 4]")) << "a number for each of the last axis";
}

std::string refusal(const std::string& format, const std::string& model = kModel) {
  try {
    formatted(graph(model), {format});
  } catch (const UserError& e) {
    EXPECT_EQ(std::string(e.what()).find('\n'), std::string::npos);
    EXPECT_THAT(e.what(), HasSubstr("--input " + format + ": "));
    return e.what();
  }
  return "accepted";
}

// A model file's notes on `image`.
ModelMetadata metadata_of_image(std::vector<double> mean, std::vector<double> std) {
  ModelMetadata m;
  TensorMetadata& image = m.inputs["image"];
  image.colors = "rgb", image.mean = std::move(mean), image.std = std::move(std), image.min = {0, 1, 2};
  m.inputs["other"].mean = {7};
  return m;
}

TEST(InputFormat, NormalizedTakesTheNumbersOfTheFile) {
  const auto formats =
      normalized_by(formats_of({"image=u8:NHWC,bgr,normalized"}), metadata_of_image({123.5, 116, 103}, {58, 57, 56}));
  const Graph made = with_input_formats(graph(kModel), formats, test_operators());
  const Graph wanted = formatted(graph(kModel), {"image=u8:NHWC,bgr,mean=123.5:116:103,std=58:57:56"});
  EXPECT_EQ(to_string(made), to_string(wanted));
  // One of the two is enough, and one number for all channels.
  const auto scale = normalized_by(formats_of({"image=u8,normalized"}), metadata_of_image({}, {255}));
  EXPECT_EQ(to_string(with_input_formats(graph(kModel), scale, test_operators())),
            to_string(formatted(graph(kModel), {"image=u8,std=255"})));
}

TEST(InputFormat, NormalizedNeedsTheNumbersOfTheFile) {
  const auto refused = [](const std::string& format, const ModelMetadata& metadata) {
    try {
      normalized_by(formats_of({format}), metadata);
    } catch (const UserError& e) {
      return std::string(e.what());
    }
    return std::string("accepted");
  };
  EXPECT_EQ(refused("image=u8,normalized", {}),
            "--input image=u8,normalized: the model's file does not say how "
            "'image' is normalized; give mean=… and std=…");
  EXPECT_THAT(refused("image=normalized", metadata_of_image({}, {})), HasSubstr("does not say how 'image'"));
  EXPECT_THAT(refused("image=normalized", metadata_of_image({}, {1e-42})), HasSubstr("divides by 1e-42"));
  EXPECT_EQ(refused("image=u8", {}), "accepted") << "who does not ask needs none";
  for (const std::string numbers : {"mean=3", "scale=3", "std=3"})
    EXPECT_THAT(refusal("image=u8,normalized," + numbers), HasSubstr("give them, or that")) << numbers;
  EXPECT_THAT(refusal("image=normalized:normalized"), HasSubstr("it says the normalization twice"));
}

TEST(InputFormat, WhatIsDoneIsNoLongerSaidOfTheInput) {
  const ModelMetadata m = metadata_of_image({1, 2, 3}, {4, 5, 6});
  EXPECT_EQ(with_input_formats(m, {}), m);
  EXPECT_EQ(with_input_formats(m, formats_of({"image=u8:NHWC", "none=u8"})), m);
  const TensorMetadata scaled = with_input_formats(m, formats_of({"image=u8,scale=2"})).inputs.at("image");
  EXPECT_EQ(std::tuple(scaled.mean.size(), scaled.std.size(), scaled.min.size(), scaled.colors),
            std::tuple(0u, 0u, 0u, "rgb"));
  const TensorMetadata turned = with_input_formats(m, formats_of({"image=bgr"})).inputs.at("image");
  EXPECT_EQ(turned.mean, (std::vector<double>{3, 2, 1}));
  EXPECT_EQ(turned.min, (std::vector<double>{2, 1, 0}));
  EXPECT_EQ(turned.colors, "bgr");
  EXPECT_EQ(with_input_formats(m, formats_of({"image=bgr"})).inputs.at("other"), m.inputs.at("other"));
}

TEST(InputFormat, SaysWhatIsWrong) {
  EXPECT_THAT(refusal("picture=u8"), HasSubstr("there is no input 'picture'; there are image"));
  EXPECT_THAT(refusal("image=u8:NHWC,mean=1:2"), HasSubstr("2 numbers for the 3 channels of f32[2, 3, 6, 5]"));
  EXPECT_THAT(refusal("image=u9"), HasSubstr("'u9' is neither a type"));
  EXPECT_THAT(refusal("image=u8:NWHC"), HasSubstr("'NWHC' is neither a type"));
  EXPECT_THAT(refusal("image=u8,scale=0"), HasSubstr("a scale of 0"));
  EXPECT_THAT(refusal("image=u8,std=1:0:2"), HasSubstr("a std of 0"));
  EXPECT_THAT(refusal("image=u8,std=2,scale=2"), HasSubstr("exclude each other"));
  EXPECT_THAT(refusal("image=u8,size=3"), HasSubstr("size is none of mean, scale, std"));
  for (const std::string mean : {"a", "", "1:", "nan", "inf", "1e99", "1/", "1/2/3", "1/0", "/2"})
    EXPECT_THAT(refusal("image=u8,mean=" + mean), HasSubstr("mean is numbers like")) << mean;
  for (const std::string beyond : {"scale=1e-46", "std=1e-40", "mean=1e29,scale=1e29"})
    EXPECT_THAT(refusal("image=u8," + beyond), HasSubstr("is beyond what a float of 32 bits holds")) << beyond;
  EXPECT_THAT(refusal("image=u8:s16"), HasSubstr("it says the type twice"));
  EXPECT_THAT(refusal("image"), HasSubstr("expected NAME=TYPE:LAYOUT"));
  const std::string sound = "graph g\ninput \"x\" %x f32[64]\noutput \"y\" %x f32[64]\n";
  EXPECT_THAT(refusal("x=u8:NHWC", sound), HasSubstr("NHWC is of four axes; the input is f32[64]"));
  EXPECT_THAT(refusal("x=s16,scale=1:2", sound), HasSubstr("has no channels"));
  EXPECT_THAT(refusal("x=u8", "graph g\ninput \"x\" %x s64[4]\noutput \"y\" %x s64[4]\n"),
              HasSubstr("inputs of floats can be given otherwise"));
  EXPECT_THROW(formatted(graph(kModel), {"image=u8", "image=f32"}), UserError);
  EXPECT_THAT(refusal("x=u8:NCHW", sound), HasSubstr("NCHW is of four axes; the input is f32[64]"));
  EXPECT_THAT(refusal("image=u8,mean=1:2:3:4:5:6", kChannelsLast),
              HasSubstr("6 numbers for the 3 channels of f32[2, 6, 5, 3]"));
  const std::string between = R"(graph g
input "image" %image f32[2, 6, 3, 5]
%t = transpose(shape=2x6x3x5,perm=0:2:1:3,dtype=f32) %image
%w = constant f32[4, 3, 3, 3] fill 5
%y = conv2d(n=2,ci=3,h=6,w=5,co=4,kh=3,kw=3,stride=1,pad=1,dilation=1,groups=1,layout=NCHW,dtype=f32,epilogue=relu) %t %w
output "y" %y f32[2, 4, 6, 5]
)";
  for (const std::string layout : {"NHWC", "NCHW"})
    EXPECT_THAT(
        refusal("image=u8:" + layout, between),
        HasSubstr(layout + " has its channels second or last; of f32[2, 6, 3, 5] the first convolution takes axis 2"));
}

}  // namespace
}  // namespace hone
