// libhone_runtime: artifacts of tensorc opened, asked and run; and its errors for other files.
#include <gmock/gmock.h>
#include <hone.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <memory>
#include <thread>
#include <vector>

#include "tests/e2e/api/handles.h"
#include "tests/e2e/artifact/shell.h"
#include "tests/fakes/temporary_folder.h"

namespace hone {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr int64_t kM = 24, kN = 40, kK = 16;

struct Matrix {
  std::vector<float> data;
  int64_t shape[2];
  DLTensor tensor{};
  Matrix(int64_t rows, int64_t columns, int period) : data(static_cast<size_t>(rows * columns)), shape{rows, columns} {
    for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<float>(static_cast<int>(i) % period - period / 2);
    tensor.data = data.data();
    tensor.device = {kDLCPU, 0};
    tensor.ndim = 2;
    tensor.dtype = {kDLFloat, 32, 1};
    tensor.shape = shape;
  }
  Matrix(const Matrix&) = delete;
  Matrix& operator=(const Matrix&) = delete;
};

// out = a b^T
struct Product {
  Matrix a{kM, kK, 7}, b{kN, kK, 5}, out{kM, kN, 3};
  const DLTensor *inputs[2] = {&a.tensor, &b.tensor}, *outputs[1] = {&out.tensor};
  int32_t run(HoneModel* model, const HoneRuntime* pool) {
    std::fill(out.data.begin(), out.data.end(), -1.f);
    return hone_run(model, inputs, 2, outputs, 1, pool);
  }
  bool is_right() const {
    for (int64_t i = 0; i < kM; ++i)
      for (int64_t j = 0; j < kN; ++j) {
        float sum = 0;
        for (int64_t k = 0; k < kK; ++k)
          sum += a.data[static_cast<size_t>(i * kK + k)] * b.data[static_cast<size_t>(j * kK + k)];
        if (sum != out.data[static_cast<size_t>(i * kN + j)]) return false;
      }
    return true;
  }
};

struct HoneApi : testing::Test {
  const TemporaryFolder temporary;
  const std::string folder = temporary.path() + "/";

  std::string build(const std::string& name, const std::string& more = "--threads 4") {
    const std::string path = folder + name + ".so";
    const Ran ran =
        shell(kBin + "/tensorc --task dense --args m=24,n=40,k=16 --config default --emit so -o " + path + " " + more);
    EXPECT_EQ(ran.code, 0) << ran.output;
    return path;
  }
  static Model open(const std::string& path) {
    HoneModel* model = nullptr;
    EXPECT_EQ(hone_open(path.c_str(), &model), HONE_OK) << hone_last_error();
    return Model(model);
  }
  // The error on opening this file, which must have `code`.
  std::string refusal(const std::string& path, int32_t code, const char* name = nullptr) {
    HoneModel* model = nullptr;
    const int32_t got = name ? hone_open_named(path.c_str(), name, &model) : hone_open(path.c_str(), &model);
    EXPECT_EQ(got, code) << path << ": " << hone_last_error();
    EXPECT_EQ(model, nullptr);
    std::string words = hone_last_error();
    for (size_t at; (at = words.find(folder)) != std::string::npos;) words.erase(at, folder.size());
    return words;
  }
};

TEST_F(HoneApi, OpensListsAndRuns) {
  const Model model = open(build("mm"));
  ASSERT_TRUE(model);
  EXPECT_STREQ(hone_artifact(model.get())->name, "mm");
  ASSERT_EQ(hone_input_count(model.get()), 2);
  ASSERT_EQ(hone_output_count(model.get()), 1);
  EXPECT_STREQ(hone_input(model.get(), 0)->name, "a");
  EXPECT_EQ(hone_input(model.get(), 0)->role, HONE_INPUT);
  EXPECT_STREQ(hone_input(model.get(), 1)->name, "b");
  EXPECT_EQ(hone_input(model.get(), 1)->role, HONE_CONSTANT);
  const HoneTensorType& type = hone_output(model.get(), 0)->plain;
  EXPECT_EQ(type.dtype.code, kDLFloat);
  EXPECT_EQ(type.dtype.bits, 32);
  EXPECT_EQ(std::vector<int64_t>(type.shape, type.shape + type.ndim), (std::vector<int64_t>{kM, kN}));
  for (const int32_t beyond : {-1, 2, INT32_MAX}) EXPECT_EQ(hone_input(model.get(), beyond), nullptr);
  EXPECT_EQ(hone_output(model.get(), 1), nullptr);

  Product p;
  EXPECT_EQ(p.run(model.get(), nullptr), HONE_OK) << hone_last_error();
  EXPECT_TRUE(p.is_right());
  for (const int32_t threads : {1, 2, 3, 4, 8}) {
    const Pool pool(hone_pool_new(threads));
    ASSERT_TRUE(pool) << hone_last_error();
    for (int turn = 0; turn < 10; ++turn) {
      EXPECT_EQ(p.run(model.get(), pool.get()), HONE_OK) << hone_last_error();
      EXPECT_TRUE(p.is_right()) << threads;
    }
  }
}

TEST_F(HoneApi, FindsTheArtifactWhateverTheFileIsCalled) {
  const std::string path = build("mm"), renamed = folder + "libanother.name.so.2";
  std::filesystem::rename(path, renamed);
  EXPECT_STREQ(hone_artifact(open(renamed).get())->name, "mm");
  // Without a folder, and by name.
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder);
  HoneModel* model = nullptr;
  EXPECT_EQ(hone_open_named("libanother.name.so.2", "mm", &model), HONE_OK) << hone_last_error();
  hone_close(model);
  std::filesystem::current_path(before);
}

// A user's library of several artifacts' objects.
TEST_F(HoneApi, TakesOneOfSeveralByName) {
  for (const char* name : {"first", "second"})
    ASSERT_EQ(shell(kBin + "/tensorc --task dense --args m=24,n=40,k=16 --config default --emit obj -o " + folder +
                    name + ".o")
                  .code,
              0);
  ASSERT_EQ(shell("cd " + folder + " && gcc -shared -o libfirst.so first*.o second*.o").code, 0);
  HoneModel* model = nullptr;
  ASSERT_EQ(hone_open_named((folder + "libfirst.so").c_str(), "second", &model), HONE_OK) << hone_last_error();
  EXPECT_STREQ(hone_artifact(model)->name, "second");
  hone_close(model);
  EXPECT_STREQ(hone_artifact(open(folder + "libfirst.so").get())->name, "first") << "by the file's name";
  EXPECT_EQ(refusal(folder + "libfirst.so", HONE_NO_ARTIFACT, "third"), "'libfirst.so' has no artifact 'third'");
  const auto never = [](void*, const char* name) { ADD_FAILURE() << name; };
  EXPECT_EQ(hone_names((folder + "libfirst.so").c_str(), never, nullptr), HONE_NO_ARTIFACT);
  EXPECT_THAT(hone_last_error(), HasSubstr("is no library of several artifacts"));
  EXPECT_EQ(hone_names((folder + "none.so").c_str(), never, nullptr), HONE_NOT_FOUND);
}

TEST_F(HoneApi, RunsAnArtifactThatIsPartOfTheProgram) {
  const Model file = open(build("mm"));
  HoneModel* linked = nullptr;
  ASSERT_EQ(hone_open_linked(hone_artifact(file.get()), &linked), HONE_OK);
  Product p;
  EXPECT_EQ(p.run(linked, nullptr), HONE_OK);
  EXPECT_TRUE(p.is_right());
  hone_close(linked);
  HoneArtifact later = *hone_artifact(file.get());
  later.abi_version = HONE_ARTIFACT_ABI + 1;
  EXPECT_EQ(hone_open_linked(&later, &linked), HONE_WRONG_VERSION);
  EXPECT_EQ(linked, nullptr);
  EXPECT_STREQ(hone_last_error(), "hone_open_linked: the artifact is of version 6, this library knows 4 to 5");
  EXPECT_EQ(hone_open_linked(nullptr, &linked), HONE_NO_ARTIFACT);
}

TEST_F(HoneApi, RunsOnWhereItsFileIsBuiltAnew) {
  const Model model = open(build("mm"));
  build("mm", "--threads 2");
  Product p;
  EXPECT_EQ(p.run(model.get(), nullptr), HONE_OK);
  EXPECT_TRUE(p.is_right());
}

TEST_F(HoneApi, SaysWhyAFileCannotBeOpened) {
  EXPECT_EQ(refusal(folder + "none.so", HONE_NOT_FOUND), "'none.so' cannot be read: No such file or directory");
  EXPECT_EQ(refusal(folder, HONE_NOT_FOUND), "'' is not a file");
  ASSERT_EQ(mkfifo((folder + "pipe").c_str(), 0600), 0);
  EXPECT_EQ(refusal(folder + "pipe", HONE_NOT_FOUND), "'pipe' is not a file");
  std::ofstream(folder + "text.so") << "int main(void) { return 0; }\n";
  EXPECT_EQ(refusal(folder + "text.so", HONE_NO_ARTIFACT), "'text.so' is not a shared object");
  std::ofstream(folder + "empty.so");
  EXPECT_EQ(refusal(folder + "empty.so", HONE_NO_ARTIFACT), "'empty.so' is not a shared object");
  ASSERT_EQ(shell("echo 'int other;' | gcc -shared -x c - -o " + folder + "other.so").code, 0);
  EXPECT_EQ(refusal(folder + "other.so", HONE_NO_ARTIFACT), "'other.so' has no artifact 'other'");
  ASSERT_EQ(
      shell("echo 'int f(void); int g(void) { return f(); }' | gcc -shared -fPIC -x c - -o " + folder + "f.so").code,
      0);
  EXPECT_THAT(refusal(folder + "f.so", HONE_NO_ARTIFACT),
              testing::AllOf(StartsWith("'f.so' cannot be loaded: "), HasSubstr("undefined symbol: f")));
  EXPECT_EQ(hone_open(nullptr, nullptr), HONE_BAD_ARGUMENTS);
}

// The loader would read past the file's end, which ends the process.
TEST_F(HoneApi, RefusesAFileThatIsCutOff) {
  const std::string path = build("mm");
  const auto bytes = std::filesystem::file_size(path);
  for (const auto left : {bytes / 2, bytes / 8, uintmax_t{100}, uintmax_t{64}, uintmax_t{30}, uintmax_t{20}}) {
    const std::string cut = folder + "cut" + std::to_string(left) + ".so";
    std::filesystem::copy_file(path, cut);
    std::filesystem::resize_file(cut, left);
    EXPECT_THAT(refusal(cut, HONE_NO_ARTIFACT), HasSubstr("is cut off")) << left;
  }
}

TEST_F(HoneApi, SaysForWhichProcessorAFileIs) {
#ifdef __aarch64__
  const char *target = "llvm -mtriple=x86_64-linux -mcpu=x86-64",
             *words = "is for x86-64, and this program is for aarch64";
#else
  const char *target = "llvm -mtriple=aarch64-linux -mcpu=cortex-a72",
             *words = "is for aarch64, and this program is for x86-64";
#endif
  EXPECT_EQ(refusal(build("mm", std::string("--target '") + target + "'"), HONE_WRONG_MACHINE),
            std::string("'mm.so' ") + words);
}

#ifdef __x86_64__
// fma4: four AMD generations had it, before AVX-512; no CPU that has both is made.
TEST_F(HoneApi, SaysWhatTheProcessorLacks) {
  const std::string least = "--target 'llvm -mtriple=x86_64-linux -mcpu=x86-64";
  EXPECT_NE(open(build("least", least + "'")), nullptr);
  EXPECT_THAT(refusal(build("mm", least + " -mattr=+fma4'"), HONE_WRONG_MACHINE),
              StartsWith("'mm.so' is for a CPU that has fma4; this one has not (it was built with --target 'llvm "));
}
#endif

TEST_F(HoneApi, KnowsOldAndNewVersions) {
#ifdef __x86_64__
  const std::string old = HONE_SOURCE_DIR "/tests/data/artifacts/dense_abi3.so";
  EXPECT_THAT(refusal(old, HONE_WRONG_VERSION, "dense"),
              HasSubstr("the artifact dense is of a version before 4 and does not describe itself: build it anew"));
#endif
  ASSERT_EQ(shell("echo 'int later_artifact[16] = {6};' | gcc -shared -x c - -o " + folder + "later.so").code, 0);
  EXPECT_EQ(refusal(folder + "later.so", HONE_WRONG_VERSION),
            "later.so: the artifact is of version 6, this library knows 4 to 5");
}

#ifdef __x86_64__
// Built by `tensorc --task dense --args m=4,n=20,k=8,epilogue=bias+relu --target "llvm -mtriple=x86_64-linux
// -mcpu=x86-64 -threads=2" --config default --emit so` at 71332d6a, when the ABI was of version 4.
TEST_F(HoneApi, RunsAnArtifactOfVersion4) {
  const Model model = open(HONE_SOURCE_DIR "/tests/data/artifacts/dense_abi4.so");
  EXPECT_EQ(hone_artifact(model.get())->abi_version, 4);
  // out = relu(a b^T + bias) of a = 1, b = i - 9 in row i, bias = 3.
  std::vector<float> a(32, 1.0f), b(160), bias(20, 3.0f), out(80);
  for (size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(i / 8) - 9;
  int64_t shapes[4][2] = {{4, 8}, {20, 8}, {20, 1}, {4, 20}};
  DLTensor tensors[4] = {};
  float* const data[4] = {a.data(), b.data(), bias.data(), out.data()};
  for (size_t i = 0; i < 4; ++i)
    tensors[i] = {data[i], {kDLCPU, 0}, i == 2 ? 1 : 2, {kDLFloat, 32, 1}, shapes[i], nullptr, 0};
  const DLTensor* const inputs[] = {&tensors[0], &tensors[1], &tensors[2]};
  const DLTensor* const outputs[] = {&tensors[3]};
  ASSERT_EQ(hone_run(model.get(), inputs, 3, outputs, 1, nullptr), HONE_OK) << hone_last_error();
  for (size_t i = 0; i < 80; ++i)
    EXPECT_EQ(out[i], std::max(0.0f, static_cast<float>((static_cast<int>(i) % 20 - 9) * 8 + 3))) << i;
  shapes[1][1] = 9;
  EXPECT_EQ(hone_run(model.get(), inputs, 3, outputs, 1, nullptr),
            HONE_BAD_ARGUMENTS | HONE_WRONG_SHAPE << 8 | 2 << 16);
}
#endif

TEST_F(HoneApi, SaysWhatIsWrongWithTensors) {
  const Model model = open(build("mm"));
  Product p;
  EXPECT_EQ(p.run(model.get(), nullptr), HONE_OK);
  const auto says = [&](int what, int tensor) {
    const int32_t code = p.run(model.get(), nullptr);
    EXPECT_EQ(code & 0xff, HONE_BAD_ARGUMENTS);
    EXPECT_EQ(HONE_WHAT_IS_WRONG(code), what);
    EXPECT_EQ(HONE_WRONG_TENSOR(code), tensor);
    return std::string(hone_last_error());
  };
  p.b.shape[0] = 41;
  EXPECT_EQ(says(HONE_WRONG_SHAPE, 2), "mm: constant 'b' has another shape than float32 [40, 16]; given is [41, 16]");
  p.b.shape[0] = 40;
  p.out.tensor.dtype.bits = 64;
  EXPECT_EQ(says(HONE_WRONG_DTYPE, 3), "mm: output 'matmul' is of another type than float32 [24, 40]");
  p.out.tensor.dtype.bits = 32;
  p.inputs[0] = nullptr;
  EXPECT_EQ(says(HONE_WRONG_DATA, 1), "mm: input 'a' is missing or has no data");
  p.inputs[0] = &p.a.tensor;
  EXPECT_EQ(hone_run(model.get(), p.inputs, 1, p.outputs, 1, nullptr), HONE_BAD_ARGUMENTS | HONE_WRONG_COUNT << 8);
  EXPECT_STREQ(hone_last_error(), "mm takes 2 inputs and 1 outputs, given were 1 and 1");
  EXPECT_EQ(hone_run(model.get(), nullptr, 2, p.outputs, 1, nullptr), HONE_BAD_ARGUMENTS | HONE_WRONG_COUNT << 8);
  // Another thread's errors are its own.
  std::thread([&] { EXPECT_STREQ(hone_last_error(), ""); }).join();
}

TEST_F(HoneApi, AnOperatorIsOneLayer) {
  const Model model = open(build("mm"));
  ASSERT_EQ(hone_layer_count(model.get()), 1);
  EXPECT_STREQ(hone_layer(model.get(), 0)->name, "mm");
  EXPECT_STREQ(hone_layer(model.get(), 0)->workload, "");
  for (const int32_t beyond : {-1, 1}) EXPECT_EQ(hone_layer(model.get(), beyond), nullptr);
  Product p;
  double seconds = -1;
  EXPECT_EQ(hone_run_timed(model.get(), p.inputs, 2, p.outputs, 1, nullptr, &seconds, 1), HONE_OK);
  EXPECT_TRUE(p.is_right());
  EXPECT_GT(seconds, 0);
  EXPECT_EQ(hone_run_timed(model.get(), p.inputs, 2, p.outputs, 1, nullptr, &seconds, 2), HONE_BAD_ARGUMENTS);
  EXPECT_STREQ(hone_last_error(), "mm has 1 layers, given was room for the times of 2");
}

// Variants of other shapes and threads, as models have them: of an artifact that is made up here.
int32_t g_ran = -1;
template <int kNumber>
int32_t ran(const DLTensor* const*, int32_t, void*, const HoneRuntime*) {
  return g_ran = kNumber, HONE_OK;
}

TEST_F(HoneApi, TakesTheFirstVariantThatFits) {
  static const int64_t small[] = {1, 4}, large[] = {8, 4};
  const HoneTensorType small_type{{kDLFloat, 32, 1}, 2, small}, large_type{{kDLFloat, 32, 1}, 2, large};
  const HoneParam smalls[] = {{"out", HONE_OUTPUT, 1, small_type, nullptr, nullptr, nullptr},
                              {"in", HONE_INPUT, 1, small_type, nullptr, nullptr, nullptr}};
  const HoneParam larges[] = {{"out", HONE_OUTPUT, 1, large_type, nullptr, nullptr, nullptr},
                              {"in", HONE_INPUT, 1, large_type, nullptr, nullptr, nullptr}};
  const HoneVariant variants[] = {{smalls, 2, 4, 0, 0, nullptr, &ran<0>, nullptr},
                                  {smalls, 2, 2, 0, 1 << 20, nullptr, &ran<1>, nullptr},
                                  {larges, 2, 4, 0, 64, nullptr, &ran<2>, nullptr}};
  const HoneArtifact artifact{HONE_ARTIFACT_ABI, 3, variants, "several", "llvm", "{}", nullptr};
  HoneModel* opened = nullptr;
  ASSERT_EQ(hone_open_linked(&artifact, &opened), HONE_OK);
  const Model model(opened);
  EXPECT_STREQ(hone_input(opened, 0)->name, "in");
  EXPECT_STREQ(hone_output(opened, 0)->name, "out");
  const auto chosen = [&](int64_t rows, int32_t threads) {
    Matrix in(rows, 4, 3), out(rows, 4, 3);
    const DLTensor *inputs[] = {&in.tensor}, *outputs[] = {&out.tensor};
    const Pool pool(hone_pool_new(threads));
    g_ran = -1;
    EXPECT_EQ(hone_run(opened, inputs, 1, outputs, 1, pool.get()), HONE_OK);
    return g_ran;
  };
  EXPECT_EQ(chosen(1, 4), 0);
  EXPECT_EQ(chosen(1, 3), 1);
  EXPECT_EQ(chosen(1, 1), 0) << "none wants so few: the first of these shapes";
  EXPECT_EQ(chosen(8, 2), 2);
  EXPECT_EQ(chosen(3, 2), 0) << "no such shape: the first says what is wrong";
}

TEST_F(HoneApi, RunsOnManyThreadsAtOnce) {
  const Model model = open(build("mm"));
  const Pool pool(hone_pool_new(3));
  std::atomic<int> right{0};
  std::vector<std::thread> callers;
  for (int i = 0; i < 6; ++i)
    callers.emplace_back([&, i] {
      Product p;
      for (int turn = 0; turn < 200; ++turn)
        right += p.run(model.get(), i % 3 ? pool.get() : nullptr) == HONE_OK && p.is_right();
    });
  for (std::thread& t : callers) t.join();
  EXPECT_EQ(right, 1200);
}

TEST_F(HoneApi, RunsInAChildOfForkAndAfterClose) {
  Model model = open(build("mm"));
  const Pool pool(hone_pool_new(3));
  Product p;
  ASSERT_EQ(p.run(model.get(), pool.get()), HONE_OK);
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    _exit(p.run(model.get(), pool.get()) == HONE_OK && p.is_right() ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  model.reset();
  const Model again = open(folder + "mm.so");
  EXPECT_EQ(p.run(again.get(), pool.get()), HONE_OK);
  EXPECT_TRUE(p.is_right());
}

// This program is not linked with libhone_gpu.
TEST_F(HoneApi, AnArtifactForAGpuWantsALibraryOrTheCallersGpu) {
  const std::string path = build("mm", "--target 'opencl -sms=2'");
  HoneModel* none = nullptr;
  EXPECT_EQ(hone_open(path.c_str(), &none), HONE_NO_GPU);
  EXPECT_THAT(
      hone_last_error(),
      testing::AllOf(HasSubstr("mm.so' is for a GPU ('opencl -sms=2'), and libhone_gpu, which runs it there, is not "),
                     HasSubstr("libhone_gpu.so.0")));
  EXPECT_EQ(none, nullptr);
  // A host with a GPU of its own.
  struct Calls {
    int plain = 0;
    const HoneGpu gpu{this, nullptr,
                      [](void* self, const HoneGpuProgram*, const DLTensor* const*, int32_t n, const HoneRuntime*) {
                        static_cast<Calls*>(self)->plain += n;
                        return static_cast<int32_t>(HONE_GPU_FAILED);
                      }};
  } calls;
  const HoneRuntime runtime{HONE_RUNTIME_ABI, 1, nullptr,
                            [](void*, HoneChunk body, void* closure, int64_t iterations, int32_t, int64_t) {
                              return body(0, iterations, 0, closure);
                            },
                            &calls.gpu};
  HoneModel* opened = nullptr;
  ASSERT_EQ(hone_open_on(path.c_str(), nullptr, &runtime, &opened), HONE_OK) << hone_last_error();
  const Model model(opened);
  EXPECT_EQ(hone_input_count(model.get()), 2);
  EXPECT_EQ(hone_device(model.get()), nullptr);
  Product p;
  EXPECT_EQ(p.run(model.get(), nullptr), HONE_GPU_FAILED);
  EXPECT_EQ(p.run(model.get(), &runtime), HONE_GPU_FAILED);
  EXPECT_EQ(calls.plain, 6) << "three tensors, twice";
  EXPECT_EQ(hone_open_on(path.c_str(), nullptr, nullptr, &none), HONE_BAD_ARGUMENTS);
}

TEST(HonePool, SaysWhyThereIsNone) {
  EXPECT_EQ(hone_pool_new(-1), nullptr);
  EXPECT_STREQ(hone_last_error(), "a pool has 1 to 1024 threads, or 0 for as many as there are CPUs; not -1");
  hone_pool_free(nullptr);
  hone_close(nullptr);
}

}  // namespace
}  // namespace hone
