// Caches that grow in place: one artifact for every number of rows, against the plain model of each number.
#include <dlfcn.h>
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>

#include "base/check.h"
#include "compiler/codegen/llvm/machine/host_target.h"
#include "compiler/frontend/onnx/import.h"
#include "compiler/frontend/onnx/import_growing.h"
#include "compiler/graph/evaluate.h"
#include "compiler/graph/text.h"
#include "compiler/host/load_objects.h"
#include "compiler/model/build_model.h"
#include "compiler/model/model_data.h"
#include "compiler/model/prepare.h"
#include "compiler/runtime/buffer.h"
#include "compiler/runtime/c_objects.h"
#include "compiler/runtime/thread_pool.h"
#include "compiler/runtime/variants/variants.h"
#include "tests/fakes/decoder_model.h"
#include "tests/fakes/temporary_folder.h"
#include "tests/fakes/workloads.h"

namespace hone {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr int64_t kDim = kDecoderDim, kHeads = kDecoderHeads, kWidth = kHeads * kDim, kRoom = kDecoderRoom,
                  kMost = kRoom - 1;

// One step of a decoder of 4 heads over `past` rows; `groups` of them share keys and values. Position `count` is added
// to its input.
std::string decoder(int64_t past, int64_t groups = 4, const std::string& behind_dots = "mul[0.35]") {
  const int64_t total = past + 1;
  std::string text = fmt::format(R"(graph g
input "x" %x f32[1, {width}]
)",
                                 fmt::arg("width", kWidth));
  if (past > 0)
    for (const char* name : {"k", "v"})
      text += fmt::format("input \"past_{0}\" %past_{0} f32[1, {1}, {2}, {3}]\n", name, groups, past, kDim);
  text +=
      fmt::format(R"(input "count" %count s64[1]
%table = constant f32[{room}, {width}] fill 3
%pos = gather(shape={room}x{width},indices=1,axis=0) %table %count
%h = elementwise(op=add,shape=1x{width},operands=same) %x %pos
%wq = constant f32[{width}, {width}] fill 5
%q = dense(m=1,n={width},k={width}) %h %wq
%qh = reshape(shape=1x{width},to={heads}x1x{dim}) %q
)",
                  fmt::arg("room", kRoom), fmt::arg("width", kWidth), fmt::arg("heads", kHeads), fmt::arg("dim", kDim));
  for (const char* name : {"k", "v"}) {
    const auto arguments = [&](const char* format) {
      return fmt::format(fmt::runtime(format), fmt::arg("n", name), fmt::arg("g", groups), fmt::arg("p", past),
                         fmt::arg("t", total), fmt::arg("d", kDim), fmt::arg("w", kWidth),
                         fmt::arg("gd", groups * kDim), fmt::arg("r", kHeads / groups), fmt::arg("h", kHeads),
                         fmt::arg("seed", name[0] == 'k' ? 7 : 9));
    };
    text += arguments("%w{n} = constant f32[{gd}, {w}] fill {seed}\n%{n} = dense(m=1,n={gd},k={w}) %h %w{n}\n");
    text += past == 0 ? arguments("%present_{n} = reshape(shape=1x{gd},to=1x{g}x1x{d}) %{n}\n")
                      : arguments(
                            "%{n}r = reshape(shape=1x{gd},to=1x{g}x1x{d}) %{n}\n"
                            "%present_{n} = concat(shapes=1x{g}x{p}x{d}:1x{g}x1x{d},axis=2) %past_{n} %{n}r\n");
    if (groups == kHeads) {
      text += arguments("%{n}h = reshape(shape=1x{g}x{t}x{d},to=1x{h}x{t}x{d}) %present_{n}\n");
      continue;
    }
    text += arguments(
        "%{n}5 = reshape(shape=1x{g}x{t}x{d},to=1x{g}x1x{t}x{d}) %present_{n}\n"
        "%{n}b = broadcast(shape=1x{g}x1x{t}x{d},to=1x{g}x{r}x{t}x{d}) %{n}5\n"
        "%{n}h = reshape(shape=1x{g}x{r}x{t}x{d},to=1x{h}x{t}x{d}) %{n}b\n");
  }
  return text + fmt::format(R"(%kt = transpose(shape=1x{h}x{t}x{d},perm=0:1:3:2) %kh
%k3 = reshape(shape=1x{h}x{d}x{t},to={h}x{d}x{t}) %kt
%v3 = reshape(shape=1x{h}x{t}x{d},to={h}x{t}x{d}) %vh
%dots = batch_matmul(b={h},m=1,n={t},k={d}) %qh %k3
%scaled = elementwise(op={behind},shape={h}x1x{t}) %dots
%soft = softmax(shape={h}x1x{t},axis=2) %scaled
%mix = batch_matmul(b={h},m=1,n={d},k={t}) %soft %v3
%flat = reshape(shape={h}x1x{d},to=1x{w}) %mix
%wo = constant f32[{w}, {w}] fill 11
%o = dense(m=1,n={w},k={w}) %flat %wo
%y = elementwise(op=add,shape=1x{w},operands=same) %o %h
output "y" %y f32[1, {w}]
output "present_k" %present_k f32[1, {g}, {t}, {d}]
output "present_v" %present_v f32[1, {g}, {t}, {d}]
)",
                            fmt::arg("h", kHeads), fmt::arg("t", total), fmt::arg("d", kDim), fmt::arg("w", kWidth),
                            fmt::arg("g", groups), fmt::arg("behind", behind_dots));
}

// A caller of the artifact with its data: buffers with room for all rows, and tensors that are their first ones.
class Caller {
 public:
  Caller(const BuiltModel& model, int64_t groups, int threads)
      : artifact_(model.c_source.empty() ? std::optional(load(model)) : std::nullopt),
        in_c_(artifact_ ? nullptr : compiled(model)),
        variant_(description().variants),
        groups_(groups),
        pool_({.workers = threads, .cpus = {}}),
        arena_(variant_->run_workspace_bytes) {
    for (int64_t n : {groups * kRoom * kDim, groups * kRoom * kDim})
      rooms_.emplace_back(static_cast<size_t>(n), std::numeric_limits<float>::quiet_NaN());
    strides_ = {groups * kRoom * kDim, kRoom * kDim, kDim, 1};
    set_rows(0);
  }

  // The tensors of the next call, with `past` rows.
  void set_rows(int64_t past) {
    past_ = past;
    shape_of_x_ = {1, kWidth};
    past_shape_[0] = past_shape_[1] = {1, groups_, past, kDim};
    present_shape_[0] = present_shape_[1] = {1, groups_, past + 1, kDim};
    tensors_[0] = tensor(x.data(), shape_of_x_, nullptr);
    tensors_[3] = tensor(y.data(), shape_of_x_, nullptr);
    for (size_t i = 0; i < 2; ++i) {
      tensors_[1 + i] = tensor(rooms_[i].data(), past_shape_[i], strides_.data());
      tensors_[4 + i] = tensor(rooms_[i].data(), present_shape_[i], strides_.data());
    }
  }
  DLTensor& operator[](size_t i) { return tensors_[i]; }
  std::vector<int64_t>& shape(size_t i) { return i < 3 ? past_shape_[i - 1] : present_shape_[i - 4]; }
  std::vector<int64_t>& strides() { return strides_; }
  std::vector<float>& room(size_t i) { return rooms_[i]; }

  int32_t run() {
    std::vector<const DLTensor*> views;
    for (const DLTensor& t : tensors_) views.push_back(&t);
    return variant_->run(views.data(), static_cast<int32_t>(views.size()), arena_.data(), pool_.runtime());
  }
  // The error of a call that is refused; it must write nothing.
  std::string refusal() {
    const auto before = bytes();
    const int32_t code = run();
    EXPECT_TRUE(before == bytes()) << "something was written";
    return code == HONE_OK ? "" : description().error(code);
  }
  // A cache's rows that are there, one behind the other.
  TensorData rows(size_t i, int64_t count) const {
    std::string data;
    for (int64_t g = 0; g < groups_; ++g)
      data.append(reinterpret_cast<const char*>(rooms_[i].data() + g * kRoom * kDim),
                  static_cast<size_t>(count * kDim) * sizeof(float));
    return {TensorType{f32, {1, groups_, count, kDim}}, data};
  }
  const HoneArtifact& description() const {
    return artifact_ ? *artifact_->description() : *static_cast<const HoneArtifact*>(dlsym(in_c_.get(), "m_artifact"));
  }

  std::vector<float> x = std::vector<float>(kWidth), y = std::vector<float>(kWidth);

 private:
  static Artifact load(const BuiltModel& model) {
    std::vector<std::string> parts;
    for (const ArtifactObject& o : model.objects)
      if (!o.has_threads) parts.insert(parts.end(), o.parts.begin(), o.parts.end());
    return load_objects(parts, "m");
  }
  struct Close {
    void operator()(void* library) const { dlclose(library); }
  };
  static void* compiled(const BuiltModel& model) {
    const TemporaryFolder folder;
    const std::string file = folder.path() + "/m";
    std::ofstream(file + ".c") << model.c_source;
    std::ofstream(file + ".h") << model.header;
    const std::string command =
        "cc -std=c99 -O1 -Wall -Wextra -Wpedantic -Werror -Wno-psabi -fPIC -shared -I" HONE_SOURCE_DIR
        "/compiler/runtime/include -o " +
        file + ".so " + file + ".c -lm";
    EXPECT_EQ(std::system(command.c_str()), 0) << model.c_source;
    void* const library = dlopen((file + ".so").c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) throw std::runtime_error(dlerror());
    return library;
  }
  static DLTensor tensor(float* data, std::vector<int64_t>& shape, int64_t* strides) {
    return {data, {kDLCPU, 0}, static_cast<int32_t>(shape.size()), {kDLFloat, 32, 1}, shape.data(), strides, 0};
  }
  std::vector<std::string> bytes() const {
    std::vector<std::string> out;
    for (const auto* v : {&rooms_[0], &rooms_[1], &y})
      out.emplace_back(reinterpret_cast<const char*>(v->data()), v->size() * sizeof(float));
    return out;
  }

  std::optional<Artifact> artifact_;
  std::unique_ptr<void, Close> in_c_;
  const HoneVariant* variant_;
  const int64_t groups_;
  ThreadPool pool_;
  AlignedBuffer arena_;
  std::vector<std::vector<float>> rooms_;
  std::vector<int64_t> strides_, shape_of_x_;
  std::vector<int64_t> past_shape_[2], present_shape_[2];
  DLTensor tensors_[6] = {};
  int64_t past_ = 0;
};

struct Caches : testing::Test {
  const FunctionTable functions = standard_functions();
  const Growth growth{"past", kMost, {{1, 1, 2}, {2, 2, 2}}};

  Graph prepared(const std::string& text, const Growth* of, const Target& target) const {
    PassContext context{test_operators(), functions};
    context.growth = of;
    return prepare_graph(parse_graph(test_operators(), text), context, target, {});
  }
  BuiltModel built(int64_t groups, int threads, const std::string& behind_dots = "mul[0.35]", bool in_c = false) const {
    const Target target = host_target(threads);
    const Graph g = prepared(decoder(kMost, groups, behind_dots), &growth, target);
    check_growth(g, prepared(decoder(kMost - 1, groups, behind_dots), &growth, target), growth);
    ModelOptions options{"m", target, [](const Workload&, const Target&, const Space& space) {
                           return ChosenConfig{space.default_config(), "default", ""};
                         }};
    options.in_c = in_c;
    return build_model({ModelVariant{"", &g, target, &growth}}, options);
  }

  // Rows one by one, from none to as many as there is room for.
  void grow(int64_t groups, int threads, bool in_c = false) const {
    grow(built(groups, threads, "mul[0.35]", in_c), groups, threads,
         [&](int64_t past) { return parse_graph(test_operators(), decoder(past, groups)); });
  }
  // `plain`: the model for a number of rows, which it may be told behind its other inputs.
  static void grow(const BuiltModel& model, int64_t groups, int threads,
                   const std::function<Graph(int64_t)>& plain_for) {
    Caller caller(model, groups, threads);
    for (int64_t past = 0; past <= kMost; ++past) {
      SCOPED_TRACE(past);
      for (size_t i = 0; i < caller.x.size(); ++i)
        caller.x[i] = std::sin(static_cast<float>(i + 1) * static_cast<float>(past + 3));
      const Graph plain = plain_for(past);
      const auto* x = reinterpret_cast<const char*>(caller.x.data());
      std::vector<TensorData> inputs{{TensorType{f32, {1, kWidth}}, std::string(x, kWidth * sizeof(float))}};
      for (size_t i = 0; i < 2 && plain.inputs.size() > 2; ++i) inputs.push_back(caller.rows(i, past));
      if (inputs.size() < plain.inputs.size()) inputs.push_back(TensorData::of_numbers({past}));
      const std::vector<TensorData> wanted =
          interpret(plain, inputs, [](const Workload& w, std::span<const TensorData> in) { return evaluate(w, in); });
      caller.set_rows(past);
      const int32_t code = caller.run();
      ASSERT_EQ(code, HONE_OK) << caller.description().error(code);
      const auto* y = reinterpret_cast<const char*>(caller.y.data());
      EXPECT_LT(difference({wanted[0].type(), std::string(y, kWidth * sizeof(float))}, wanted[0]).frobenius, 1e-5);
      for (size_t i = 0; i < 2; ++i) {
        EXPECT_LT(difference(caller.rows(i, past + 1), wanted[1 + i]).frobenius, 1e-5);
        for (int64_t g = 0; g < groups; ++g)
          for (int64_t e = (past + 1) * kDim; e < kRoom * kDim; ++e)
            ASSERT_TRUE(std::isnan(caller.room(i)[static_cast<size_t>(g * kRoom * kDim + e)])) << "written at " << e;
      }
    }
  }
};

TEST_F(Caches, GrowFromNoRowToAllThatThereIsRoomFor) {
  grow(4, 1);
  grow(4, 2);
}

TEST_F(Caches, GrowInCToo) {
  grow(4, 2, true);
  grow(2, 1, true);
}

TEST_F(Caches, OfGroupedHeadsAreReadOnceAGroup) {
  grow(2, 2);
  grow(1, 1);
  const BuiltModel m = built(2, 1);
  EXPECT_THAT(m.json, HasSubstr("cached_attention(b=2,m=2,n=22,k=8,v=8"));
  EXPECT_THAT(m.json, testing::Not(HasSubstr("concat(")));
  EXPECT_THAT(m.json, testing::Not(HasSubstr("broadcast(")));
}

TEST_F(Caches, MayHaveVariantsForNumbersOfThreads) {
  if (variants_object(host_target(1).arch).empty()) GTEST_SKIP() << "built without a C compiler";
  const Target two = host_target(2), one = host_target(1);
  const Graph g = prepared(decoder(kMost), &growth, two), same = g;
  const ModelOptions options{"m", two, [](const Workload&, const Target&, const Space& space) {
                               return ChosenConfig{space.default_config(), "default", ""};
                             }};
  const BuiltModel m = build_model({{"2", &g, two, &growth}, {"1", &g, one, &growth}}, options);
  for (const int threads : {1, 2})
    grow(m, kHeads, threads, [&](int64_t past) { return parse_graph(test_operators(), decoder(past)); });
  EXPECT_THROW(build_model({{"2", &g, two, &growth}, {"1", &same, one, &growth}}, options), UserError);

  // Among variants that agree with as many tensors the workers decide.
  int64_t most[] = {kMost}, rows[] = {3};
  HoneParam params[2] = {};
  for (HoneParam& p : params) p.plain = {{kDLFloat, 32, 1}, 1, most};
  const HoneVariant variants[] = {{params, 2, 4}, {params, 2, 2}, {params, 2, 1}};
  const DLTensor x{nullptr, {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, most, nullptr, 0},
      cache{nullptr, {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, rows, nullptr, 0};
  const DLTensor* args[] = {&x, &cache};
  for (const auto& [workers, wanted] : std::vector<std::pair<int, int>>{{8, 0}, {4, 0}, {3, 1}, {2, 1}, {1, 2}}) {
    rows[0] = 3;
    EXPECT_EQ(hone_internal_pick_variant(variants, 3, args, workers), wanted);
    rows[0] = kMost;
    EXPECT_EQ(hone_internal_pick_variant(variants, 3, args, workers), wanted);
  }
}

TEST_F(Caches, AreNamedInTheDescription) {
  const BuiltModel m = built(4, 1);
  EXPECT_THAT(m.json, HasSubstr(R"("caches":[{"input":"past_k","output":"present_k","axis":2,"rows":"past","most":21,)"
                                R"("room":[1,4,22,8],"strides":[704,176,8,1]})"));
  EXPECT_THAT(m.json, testing::Not(HasSubstr("count")));
  EXPECT_THAT(m.header, HasSubstr("Caches: tensors 1 and 4, 2 and 5."));
}

class CachesOrCachesInC : public Caches, public testing::WithParamInterface<bool> {};
INSTANTIATE_TEST_SUITE_P(Artifacts, CachesOrCachesInC, testing::Bool());

TEST_P(CachesOrCachesInC, AreRefusedWhereTheyLieOtherwise) {
  Caller caller(built(4, 1, "mul[0.35]", GetParam()), 4, 1);
  caller.set_rows(3);
  for (size_t i = 0; i < 2; ++i) std::fill(caller.room(i).begin(), caller.room(i).end(), 0.5f);
  ASSERT_EQ(caller.run(), HONE_OK);
  caller.strides()[1] = 3 * kDim;
  EXPECT_THAT(caller.refusal(),
              HasSubstr("input 'past_k' has other strides than 704, 176, 8, 1, those of a buffer of 22 rows"));
  caller.strides()[1] = kRoom * kDim;
  caller[2].strides = nullptr;
  EXPECT_THAT(caller.refusal(), HasSubstr("input 'past_v' has other strides"));
  caller.set_rows(3);
  caller.shape(2)[2] = 4;
  EXPECT_THAT(caller.refusal(), HasSubstr("input 'past_v' has another shape than float32 [1, 4, past, 8] with past "
                                          "from 0 to 21, as 'past_k' has it"));
  caller.set_rows(3);
  caller.shape(5)[2] = 3;
  EXPECT_THAT(caller.refusal(), HasSubstr("output 'present_v' has another shape than float32 [1, 4, past + 1, 8]"));
  caller.set_rows(3);
  caller[4].data = caller.room(1).data();
  EXPECT_THAT(caller.refusal(),
              HasSubstr("output 'present_k' is missing, has no data, or lies elsewhere than 'past_k'"));
  caller.set_rows(kRoom);
  EXPECT_THAT(caller.refusal(), HasSubstr("input 'past_k' has another shape"));
  caller.set_rows(-1);
  EXPECT_THAT(caller.refusal(), HasSubstr("input 'past_k' has another shape"));
  // No place is needed for no rows.
  caller.set_rows(0);
  caller[1].data = caller[2].data = nullptr;
  EXPECT_EQ(caller.run(), HONE_OK);
  caller.set_rows(1);
  caller[1].data = nullptr;
  EXPECT_THAT(caller.refusal(), HasSubstr("input 'past_k' is missing or has no data"));
}

TEST_F(Caches, AreRefusedForOperatorsThatKnowNothingOfThem) {
  const Target target = host_target(1);
  const auto refused = [&](const auto& change) -> std::string {
    try {
      check_growth(prepared(change(kMost), &growth, target), prepared(change(kMost - 1), &growth, target), growth);
    } catch (const UserError& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_EQ(refused([](int64_t past) { return decoder(past); }), "");
  // A sum of all rows.
  EXPECT_THAT(refused([](int64_t past) {
                return decoder(past) +
                       fmt::format(
                           "%s = reduce(op=sum,shape=1x4x{}x8,axes=2) %present_k   # /Sum\noutput \"s\" %s "
                           "f32[1, 4, 8]\n",
                           past + 1);
              }),
              AllOf(HasSubstr("'/Sum'"), HasSubstr("past")));
  // Numbers that differ with the count, and are no table of it.
  EXPECT_THAT(refused([](int64_t past) {
                return decoder(past) +
                       fmt::format(
                           "%n = elementwise(op=mul[{}],shape=1x32) %x   # /Scale\noutput \"n\" %n f32[1, 32]\n", past);
              }),
              HasSubstr("'/Scale'"));
  EXPECT_THAT(refused([](int64_t past) {
                return decoder(past) + fmt::format("%c = constant s64[1] [{}]\noutput \"c\" %c s64[1]\n", past);
              }),
              HasSubstr("output 'c' is another one for each number of past"));
  EXPECT_THAT(refused([](int64_t past) {
                return decoder(past) +
                       fmt::format(
                           "%c = constant f32[1, 32] fill {}\n%n = elementwise(op=mul,shape=1x32,operands=same) %x %c "
                           "  # /Rows\noutput \"n\" %n f32[1, 32]\n",
                           past);
              }),
              HasSubstr("reads numbers that differ with the number of past"));
}

struct ExportedCaches : Caches {
  const TemporaryFolder folder;
  const std::string file = folder.path() + "/decoder.onnx";
  ImportOptions options_ = {};

  BuiltModel built_from(const TestModel& m, const CacheOption& cache, int threads) const {
    std::ofstream(file, std::ios::binary) << m.model.SerializeAsString();
    const Target target = host_target(threads);
    GrowingModel read = import_growing_onnx(file, test_operators(), options_, cache);
    const Growth grows = read.growth;
    const Graph graph = prepare_growing(std::move(read), {test_operators(), functions}, target);
    const ModelOptions options{"m", target, [](const Workload&, const Target&, const Space& space) {
                                 return ChosenConfig{space.default_config(), "default", ""};
                               }};
    return build_model({ModelVariant{"", &graph, target, &grows}}, options);
  }
  std::string refusal(const TestModel& m, const CacheOption& cache = {"past", 21}) const {
    try {
      built_from(m, cache, 1);
    } catch (const UserError& e) {
      return e.what();
    }
    return "accepted";
  }
};

TEST_F(ExportedCaches, GrowAndWhatDependsOnTheirRowsIsReadFromTables) {
  const BuiltModel m = built_from(exported_decoder(), {"past", 21}, 2);
  grow(m, kHeads, 2, [&](int64_t past) {
    return import_onnx(file, test_operators(), {.bind = {{"past", past}}}).graph;
  });
  // The table of positions is the model's own; of distances there is a row for each number of rows.
  EXPECT_THAT(m.json, HasSubstr("gather(shape=22x32,indices=1,axis=0"));
  EXPECT_THAT(m.json, HasSubstr("gather(shape=22x22,indices=1,axis=0"));
  EXPECT_THAT(m.json, HasSubstr("scores=mul[0.35]+add["));
}

// The mask of all rows, the new one included, is an input: for one sequence it is all ones.
TEST_F(ExportedCaches, TakeAMaskThatIsKnown) {
  const auto masked = [](const char* rows) {
    TestModel m = exported_decoder();
    m.input("mask", {1, rows}, kInt64).floats("most", {}, {-1e9f}).floats("float_one", {}, {1});
    m.node("Cast", {"mask"}, {"float_mask"}).number("to", kFloat).node("Sub", {"float_one", "float_mask"}, {"hidden"});
    m.node("Mul", {"hidden", "most"}, {"hiding"});
    for (onnx::Node& n : *m.graph()->mutable_node())
      if (n.op_type() == "Softmax") n.set_input(0, "masked");
    m.node("Add", {"scores", "hiding"}, {"masked"});
    return m;
  };
  options_.bind = {{"mask", 1}};
  for (const char* rows : {"past + 1", "total"}) {
    if (rows == std::string("total")) options_.sums = {{"total", "past+1"}};
    const BuiltModel m = built_from(masked(rows), {"past", 21}, 1);
    grow(m, kHeads, 1, [&](int64_t past) {
      ImportOptions plain = options_;
      plain.bind["past"] = past;
      return import_onnx(file, test_operators(), plain).graph;
    });
  }
  options_ = {};
  EXPECT_THAT(refusal(masked("past + 1")), HasSubstr("input 'mask' grows with past and is not a cache"));
  options_.sums = {{"past", "other+1"}};
  EXPECT_THAT(refusal(masked("past + 1")), HasSubstr("--cache past"));
}

TEST_F(ExportedCaches, AreRefusedByName) {
  EXPECT_EQ(refusal(exported_decoder()), "accepted");
  EXPECT_THAT(refusal(exported_decoder(), {"rows", 21}),
              HasSubstr("--cache rows: no input has a dimension of that name"));
  TestModel none;
  none.input("x", {1, "past"}).node("Relu", {"x"}, {"y"}).output("y");
  EXPECT_THAT(refusal(none), HasSubstr("no output is an input of past rows with one row behind them"));
  // A mask that the caller gives.
  EXPECT_THAT(refusal(exported_decoder([](TestModel& m) {
                m.input("mask", {1, "past"}).node("Relu", {"mask"}, {"masked"}).output("masked");
              })),
              HasSubstr("input 'mask' grows with past and is not a cache"));
  // Parts whose place or length follows the number of rows otherwise than by growing with them.
  const auto part = [](const std::vector<std::string>& bounds) {
    return [bounds](TestModel& m) {
      m.numbers("three", {}, {3}).numbers("zero", {1}, {0}).numbers("six", {1}, {6});
      m.node("Min", {"position", "three"}, {"few"}).node("Unsqueeze", {"few", "axis0"}, {"few1"});
      m.node("Add", {"few1", "one"}, {"more1"});
      m.node("Slice", {"y", bounds[0], bounds[1], "axis1"}, {"part"}).node("Relu", {"part"}, {"out"}).output("out");
    };
  };
  EXPECT_THAT(refusal(exported_decoder(part({"zero", "six"}))), "accepted");
  EXPECT_THAT(refusal(exported_decoder(part({"from", "to"}))), AllOf(HasSubstr("'Slice_part'"), HasSubstr("past")));
  EXPECT_THAT(refusal(exported_decoder(part({"few1", "more1"}))), AllOf(HasSubstr("Slice"), HasSubstr("Slice_part")));
  EXPECT_THAT(refusal(exported_decoder([](TestModel& m) {
                m.node("ReduceMax", {"present_k"}, {"largest"}).ints("axes", {2}).output("largest");
              })),
              AllOf(HasSubstr("node 'ReduceMax_largest'"), HasSubstr("past")));
}

}  // namespace
}  // namespace hone
