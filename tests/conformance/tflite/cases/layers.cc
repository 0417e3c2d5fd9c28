// Recurrent layers. States begin with zeros; layers of one step are called twice, and go on with what they had.
#include "tests/conformance/tflite/case.h"

namespace hone {
namespace {

using Shape = std::vector<int32_t>;

constexpr int32_t kSteps = 4, kBatch = 2, kInput = 3, kHidden = 5, kProjected = 4;
constexpr AnswerBound kGates = {.ulps = 64, .absolute = 4e-6};
// Inputs and states are rounded to bytes, a half of 1/127 of the largest at most, and so are the weights' products.
constexpr AnswerBound kHybridGates = {.absolute = 0.05};

struct LstmKind {
  std::string what;
  bool is_coupled = false, has_peepholes = false, is_projected = false, has_norms = false, has_projection_bias = false;
  float clip = 0, projection_clip = 0;
  bool is_time_major = false;
  int8_t weights = kTfFloat, activation = 4;
};

const std::vector<LstmKind> kLstms = {
    {"plain"},
    {"coupled", true},
    {"peepholes", false, true},
    {"coupled, peepholes", true, true},
    {"projection", false, false, true},
    {"projection, bias, clips", false, false, true, false, true, 0.6f, 0.3f},
    {"norms", false, false, false, true},
    {"coupled, norms, peepholes, projection", true, true, true, true},
    {"clip, time first", false, false, false, false, false, 0.4f, 0, true},
    {"relu", false, false, false, false, false, 0, 0, false, kTfFloat, 1},
    {"hybrid", false, false, false, false, false, 0, 0, false, kTfSigned},
    {"hybrid, peepholes, projection", false, true, true, false, false, 0, 0, false, kTfSigned},
};

// The inputs of a direction behind the first one, without states: weights, those of states, peepholes, biases,
// projections.
std::vector<std::string> weights_of_lstm(CaseModel* m, const LstmKind& k, const std::string& prefix) {
  std::vector<std::string> names;
  const auto add = [&](const std::string& name, const Shape& shape, bool is_there, int8_t type, DrawnFrom from) {
    names.push_back(is_there ? prefix + name : "");
    if (!is_there) return;
    if (type == kTfSigned)
      m->stored(prefix + name, shape, type, scaled(0.006f), {-127, 127});
    else
      m->stored(prefix + name, shape, type, {}, from);
  };
  const int32_t output = k.is_projected ? kProjected : kHidden;
  for (int g = 0; g < 4; ++g)
    add("w" + std::to_string(g), {kHidden, kInput}, g > 0 || !k.is_coupled, k.weights, {-0.8, 0.8});
  for (int g = 0; g < 4; ++g)
    add("r" + std::to_string(g), {kHidden, output}, g > 0 || !k.is_coupled, k.weights, {-0.8, 0.8});
  for (int p = 0; p < 3; ++p)
    add("p" + std::to_string(p), {kHidden}, k.has_peepholes && (p > 0 || !k.is_coupled), k.weights, {-0.8, 0.8});
  for (int g = 0; g < 4; ++g) add("b" + std::to_string(g), {kHidden}, g > 0 || !k.is_coupled, kTfFloat, {-0.5, 0.5});
  add("projection", {kProjected, kHidden}, k.is_projected, k.weights, {-0.8, 0.8});
  add("projection bias", {kProjected}, k.has_projection_bias, kTfFloat, {-0.3, 0.3});
  return names;
}

void add_norms_of_lstm(CaseModel* m, const LstmKind& k, std::vector<std::string>* inputs) {
  for (int g = 0; g < 4 && k.has_norms; ++g) {
    const bool is_there = g > 0 || !k.is_coupled;
    inputs->push_back(is_there ? "n" + std::to_string(g) : "");
    if (is_there) m->stored(inputs->back(), {kHidden}, kTfFloat, {}, {0.5, 1.5});
  }
}

void add_state(CaseModel* m, const std::string& name, int32_t extent, std::vector<std::string>* inputs) {
  m->tensor(name, {kBatch, extent}, kTfFloat, {}, 0, {}, 0, true);
  inputs->push_back(name);
}

void add_lstms(TfliteCases* cases) {
  for (const LstmKind& k : kLstms) {
    const int32_t output = k.is_projected ? kProjected : kHidden;
    const AnswerBound bound = k.weights == kTfFloat ? kGates : kHybridGates;
    {
      CaseModel m("UNIDIRECTIONAL_SEQUENCE_LSTM " + k.what);
      m.given("x", k.is_time_major ? Shape{kSteps, kBatch, kInput} : Shape{kBatch, kSteps, kInput});
      std::vector<std::string> inputs = weights_of_lstm(&m, k, "");
      inputs.insert(inputs.begin(), "x");
      add_state(&m, "h", output, &inputs);
      add_state(&m, "c", kHidden, &inputs);
      add_norms_of_lstm(&m, k, &inputs);
      m.result("y").op(
          44, inputs, {"y"},
          tables::CreateSequenceLstmOptions(m.b, k.activation, k.clip, k.projection_clip, k.is_time_major));
      cases->push_back(m.done(bound));
    }
    if (!k.is_time_major) {
      CaseModel m("LSTM " + k.what, 2);
      m.given("x", {kBatch, kInput});
      std::vector<std::string> inputs = weights_of_lstm(&m, k, "");
      inputs.insert(inputs.begin(), "x");
      add_state(&m, "h", output, &inputs);
      add_state(&m, "c", kHidden, &inputs);
      add_norms_of_lstm(&m, k, &inputs);
      m.result("y").op(16, inputs, {"y"}, tables::CreateLstmOptions(m.b, k.activation, k.clip, k.projection_clip));
      cases->push_back(m.done(bound));
    }
    if (k.has_norms) continue;
    for (const bool merges : {true, false}) {
      CaseModel m("BIDIRECTIONAL_SEQUENCE_LSTM " + k.what + (merges ? ", merged" : ""));
      // With merged outputs the library reads other batches' states at wrong places unless steps come first.
      const bool is_time_major = k.is_time_major || merges;
      m.given("x", is_time_major ? Shape{kSteps, kBatch, kInput} : Shape{kBatch, kSteps, kInput});
      std::vector<std::string> inputs{"x"};
      for (const char* prefix : {"f", "b"})
        for (const std::string& name : weights_of_lstm(&m, k, prefix)) inputs.push_back(name);
      add_state(&m, "fh", output, &inputs);
      add_state(&m, "fc", kHidden, &inputs);
      add_state(&m, "bh", output, &inputs);
      add_state(&m, "bc", kHidden, &inputs);
      inputs.resize(48);
      m.result("y");
      if (!merges) m.result("z");
      m.op(52, inputs, merges ? std::vector<std::string>{"y"} : std::vector<std::string>{"y", "z"},
           tables::CreateBothWaysLstmOptions(m.b, k.activation, k.clip, k.projection_clip, merges, is_time_major));
      cases->push_back(m.done(bound));
    }
  }
  CaseModel m("LSTM of one product");
  m.given("x", {kBatch, kInput}).given("h", {kBatch, kHidden}, kTfFloat, {}, {-1, 1});
  m.stored("w", {4 * kHidden, kInput + kHidden}, kTfFloat, {}, {-0.8, 0.8}).stored("b", {4 * kHidden});
  m.given("c", {kBatch, kHidden}, kTfFloat, {}, {-1, 1}).result("y").result("d");
  m.tensor("j", {}).tensor("s", {});
  m.op(16, {"x", "h", "w", "b", "c"}, {"y", "d", "j", "s"}, tables::CreateLstmOptions(m.b, 4, 0, 0, 1));
  cases->push_back(m.done(kGates));
}

void add_rnns(TfliteCases* cases) {
  for (const int8_t weights : {kTfFloat, kTfSigned})
    for (const int8_t activation : {4, 1}) {
      const std::string what = std::string(weights == kTfFloat ? "f32" : "hybrid") + (activation == 4 ? "" : " relu");
      const AnswerBound bound = weights == kTfFloat ? kGates : kHybridGates;
      const auto stored = [&](CaseModel* m, const std::string& name, const Shape& shape) {
        m->stored(name, shape, weights, weights == kTfSigned ? scaled(0.004f) : TfliteScales{},
                  weights == kTfSigned ? DrawnFrom{-127, 127} : DrawnFrom{-0.5, 0.5});
      };
      const auto layer = [&](CaseModel* m, const std::string& prefix, std::vector<std::string>* inputs) {
        stored(m, prefix + "w", {kHidden, kInput});
        stored(m, prefix + "r", {kHidden, kHidden});
        m->stored(prefix + "b", {kHidden}, kTfFloat, {}, {-0.5, 0.5});
        inputs->insert(inputs->end(), {prefix + "w", prefix + "r", prefix + "b"});
        add_state(m, prefix + "h", kHidden, inputs);
      };
      {
        CaseModel m("RNN " + what, 2);
        m.given("x", {kBatch, kInput});
        std::vector<std::string> inputs{"x"};
        layer(&m, "", &inputs);
        m.result("y").op(24, inputs, {"y"}, tables::CreateRnnOptions(m.b, activation));
        cases->push_back(m.done(bound));
      }
      for (const bool is_time_major : {false, true}) {
        CaseModel m("UNIDIRECTIONAL_SEQUENCE_RNN " + what + (is_time_major ? ", time first" : ""));
        const Shape shape = is_time_major ? Shape{kSteps, kBatch, kInput} : Shape{kBatch, kSteps, kInput};
        m.given("x", shape);
        std::vector<std::string> inputs{"x"};
        layer(&m, "", &inputs);
        m.result("y").op(35, inputs, {"y"}, tables::CreateSequenceRnnOptions(m.b, is_time_major, activation));
        cases->push_back(m.done(bound));
        for (const bool merges : {false, true}) {
          // The library ends the process there, or gives what differs from call to call.
          if (weights == kTfSigned && is_time_major) continue;
          CaseModel both("BIDIRECTIONAL_SEQUENCE_RNN " + what + (is_time_major ? ", time first" : "") +
                         (merges ? ", merged" : ""));
          both.given("x", shape);
          std::vector<std::string> all{"x"};
          layer(&both, "f", &all);
          layer(&both, "b", &all);
          all.insert(all.end(), {"", "", ""});
          both.result("y");
          if (!merges) both.result("z");
          constexpr int kBothWaysRnn = 70;
          both.op_with(46, all, merges ? std::vector<std::string>{"y"} : std::vector<std::string>{"y", "z"},
                       kBothWaysRnn, {{0, is_time_major}, {1, activation}, {2, merges}});
          cases->push_back(both.done(bound));
        }
      }
    }
}

// Filters of a rank, over the last kMemory steps.
void add_svdfs(TfliteCases* cases) {
  constexpr int32_t kMemory = 4;
  for (const int8_t weights : {kTfFloat, kTfSigned})
    for (const int32_t rank : {1, 2})
      for (const bool has_bias : {true, false}) {
        CaseModel m(std::string("SVDF ") + (weights == kTfFloat ? "f32" : "hybrid") + " rank " + std::to_string(rank) +
                        (has_bias ? "" : ", no bias"),
                    6);
        const int32_t filters = kHidden * rank;
        m.given("x", {kBatch, kInput});
        if (weights == kTfSigned) {
          m.stored("f", {filters, kInput}, weights, scaled(0.006f), {-127, 127});
          m.stored("t", {filters, kMemory}, weights, scaled(0.006f), {-127, 127});
        } else {
          m.stored("f", {filters, kInput}).stored("t", {filters, kMemory});
        }
        if (has_bias) m.stored("b", {kHidden});
        m.tensor("s", {kBatch, filters * kMemory}, kTfFloat, {}, 0, {}, 0, true);
        m.result("y");
        constexpr int kSvdf = 6;
        m.op_with(27, {"x", "f", "t", has_bias ? "b" : "", "s"}, {"y"}, kSvdf, {{1, has_bias ? 1 : 0}}, {{0, rank}});
        cases->push_back(m.done(weights == kTfFloat ? AnswerBound{.ulps = 32, .terms = 32} : kHybridGates));
      }
}

}  // namespace

void add_layer_cases(TfliteCases* cases) {
  add_lstms(cases);
  add_rnns(cases);
  add_svdfs(cases);
}

}  // namespace hone
