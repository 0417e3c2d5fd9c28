// Version 4 of the artifact's ABI: NAME_artifact, NAME_run and NAME_error; and artifacts of before it.
#include <gmock/gmock.h>

#include <cstring>
#include <filesystem>
#include <numeric>

#include "compiler/runtime/artifact.h"
#include "compiler/runtime/thread_pool.h"
#include "tests/e2e/artifact/shell.h"
#include "tests/fakes/temporary_folder.h"

namespace hone {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

int64_t count_of(const HoneTensorType& t) {
  return std::accumulate(t.shape, t.shape + t.ndim, int64_t{1}, std::multiplies<>());
}

// A tensor on the CPU whose data begins `offset` bytes behind a multiple of 64.
struct HostTensorOf {
  HostTensorOf(const HoneTensorType& type, size_t offset)
      : bytes(static_cast<size_t>(count_of(type)) * type.dtype.bits / 8) {
    memory.resize(bytes + 128);
    const auto address = reinterpret_cast<uintptr_t>(memory.data());
    tensor.data = memory.data() + (64 - address % 64) % 64 + offset;
    tensor.device = {kDLCPU, 0};
    tensor.ndim = type.ndim;
    tensor.dtype = type.dtype;
    tensor.shape = const_cast<int64_t*>(type.shape);
  }
  HostTensorOf(const HostTensorOf&) = delete;
  HostTensorOf& operator=(const HostTensorOf&) = delete;

  size_t bytes;
  std::vector<char> memory;
  DLTensor tensor = {};
};
using Tensors = std::vector<std::unique_ptr<HostTensorOf>>;

std::vector<const DLTensor*> views_of(const Tensors& tensors) {
  std::vector<const DLTensor*> views;
  for (const auto& t : tensors) views.push_back(&t->tensor);
  return views;
}

// Small whole numbers: sums of their products are exact in any order.
void fill(HostTensorOf& t, unsigned seed) {
  for (size_t i = 0; i < t.bytes; i += static_cast<size_t>(t.tensor.dtype.bits / 8)) {
    const int value = static_cast<int>((i * 7 + seed * 13) % 5) - 2;
    char* at = static_cast<char*>(t.tensor.data) + i;
    if (t.tensor.dtype.code == kDLFloat && t.tensor.dtype.bits == 32) {
      const auto f = static_cast<float>(value);
      std::memcpy(at, &f, sizeof f);
    } else {
      *at = static_cast<char>(t.tensor.dtype.code == kDLUInt ? value + 2 : value);
    }
  }
}

struct Workspace {
  explicit Workspace(int64_t bytes) : memory(static_cast<size_t>(bytes) + 64) {}
  void* data() { return memory.data() + (64 - reinterpret_cast<uintptr_t>(memory.data()) % 64) % 64; }
  std::vector<char> memory;
};

// Outputs of the two ways to run the same: plain tensors through `run`, packed ones through `entry`.
void expect_both_ways_agree(const HoneArtifact& artifact, const HoneRuntime* rt) {
  ASSERT_EQ(artifact.variant_count, 1);
  const HoneVariant& v = artifact.variants[0];
  Tensors plain, packed;
  for (int32_t i = 0; i < v.param_count; ++i) {
    const HoneParam& p = v.params[i];
    plain.push_back(std::make_unique<HostTensorOf>(p.plain, 4));
    if (p.role != HONE_OUTPUT) fill(*plain.back(), static_cast<unsigned>(i));
    std::vector<const DLTensor*> args{&plain.back()->tensor};
    Tensors aligned;  // for entries other than NAME_run and NAME_plain
    aligned.push_back(std::make_unique<HostTensorOf>(p.plain, 0));
    std::memcpy(aligned[0]->tensor.data, plain.back()->tensor.data, plain.back()->bytes);
    args[0] = &aligned[0]->tensor;
    for (int32_t k = 0; k < p.packed_count; ++k) {
      packed.push_back(std::make_unique<HostTensorOf>(p.packed[k], 0));
      args.push_back(&packed.back()->tensor);
    }
    if (p.pack)
      ASSERT_EQ(p.pack(args.data(), static_cast<int32_t>(args.size()), nullptr, rt), HONE_OK);
    else if (p.role != HONE_OUTPUT)
      std::memcpy(packed.back()->tensor.data, plain.back()->tensor.data, plain.back()->bytes);
  }
  Workspace workspace(v.workspace_bytes), run_workspace(v.run_workspace_bytes);
  const auto views = views_of(plain), packed_views = views_of(packed);
  const int32_t code = v.run(views.data(), v.param_count, run_workspace.data(), rt);
  EXPECT_EQ(code, HONE_OK) << artifact.error(code);
  EXPECT_EQ(v.entry(packed_views.data(), static_cast<int32_t>(packed_views.size()), workspace.data(), rt), HONE_OK);
  const HostTensorOf &a = *plain.back(), &b = *packed.back();
  ASSERT_EQ(a.bytes, b.bytes);
  EXPECT_EQ(std::memcmp(a.tensor.data, b.tensor.data, a.bytes), 0);
  EXPECT_TRUE(std::any_of(static_cast<char*>(a.tensor.data), static_cast<char*>(a.tensor.data) + a.bytes,
                          [](char c) { return c != 0; }));
}

Artifact built(const TemporaryFolder& folder, const std::string& name, const std::string& flags) {
  const std::string path = folder.path() + "/" + name + ".so";
  const Ran ran = shell(kBin + "/tensorc --config default --emit so -o " + path + " " + flags);
  EXPECT_EQ(ran.code, 0) << ran.output;
  auto artifact = Artifact::load(path, name);
  EXPECT_TRUE(artifact.ok()) << message_of(artifact.status());
  return std::move(*artifact);
}

TEST(DescribedArtifact, IsRunFromItsDescriptionAlone) {
  ThreadPool pool({.workers = 2});
  for (const char* flags :
       {"--task dense --args m=4,n=20,k=8,epilogue=bias+relu", "--task dense --args m=3,n=8,k=16,dtype=u8:s8:s32:s32",
        "--task conv2d --args ci=8,h=6,w=5,co=12,layout=NCHW", "--task elementwise --args op=add,shape=3x7",
        "--task reduce --args op=sum,shape=5x9,axes=1",
        "--task max_pool2d --args c=8,h=6,w=6,kh=2,kw=2,stride=2,pad=0,layout=NCHW"}) {
    SCOPED_TRACE(flags);
    const TemporaryFolder folder;
    const Artifact artifact = built(folder, "op", flags);
    const HoneArtifact* d = artifact.description();
    ASSERT_NE(d, nullptr);
    EXPECT_EQ(d->abi_version, HONE_ARTIFACT_ABI);
    EXPECT_STREQ(d->name, "op");
    EXPECT_THAT(d->target, HasSubstr("llvm "));
    EXPECT_EQ(d->json, artifact.symbol("op_json"));
    EXPECT_EQ(d->variants[0].gpu, nullptr);
    expect_both_ways_agree(*d, pool.runtime());
    expect_both_ways_agree(*d, nullptr);
  }
}

TEST(DescribedArtifact, OfAGpuWantsARuntimeThatHasOne) {
  const TemporaryFolder folder;
  const Artifact artifact = built(folder, "g", "--target 'opencl -sms=2' --task dense --args m=4,n=20,k=8");
  const HoneArtifact& d = *artifact.description();
  const HoneVariant& v = d.variants[0];
  EXPECT_NE(v.gpu, nullptr);
  HoneGpu none{};
  const HoneRuntime without{HONE_RUNTIME_ABI, 1, nullptr, nullptr, nullptr},
      without_plain{HONE_RUNTIME_ABI, 1, nullptr, nullptr, &none};
  for (const HoneRuntime* rt : {static_cast<const HoneRuntime*>(nullptr), &without, &without_plain})
    EXPECT_STREQ(
        d.error(v.run(nullptr, 0, nullptr, rt)),
        "g: the runtime is missing, has no GPU that runs plain tensors, or is of a version that it does not know");
}

struct DenseArtifact : testing::Test {
  TemporaryFolder folder;
  Artifact artifact = built(folder, "mm", "--task dense --args m=4,n=20,k=8,epilogue=bias");
  const HoneArtifact& d = *artifact.description();
  const HoneVariant& v = d.variants[0];
  Tensors tensors;
  std::vector<const DLTensor*> views;
  Workspace workspace{v.run_workspace_bytes};

  DenseArtifact() {
    for (int32_t i = 0; i < v.param_count; ++i) tensors.push_back(std::make_unique<HostTensorOf>(v.params[i].plain, 4));
    views = views_of(tensors);
  }
  DLTensor& tensor(size_t i) { return tensors[i]->tensor; }
  int32_t run() { return v.run(views.data(), static_cast<int32_t>(views.size()), workspace.data(), nullptr); }
  // Its error after `change` was done to the second tensor.
  std::string with(const std::function<void(DLTensor&)>& change) {
    const DLTensor was = tensor(1);
    change(tensor(1));
    const int32_t code = run();
    tensor(1) = was;
    EXPECT_EQ(run(), HONE_OK);
    EXPECT_EQ(code & 0xff, HONE_BAD_ARGUMENTS);
    EXPECT_EQ(HONE_WRONG_TENSOR(code), 2);
    return d.error(code);
  }
};

TEST_F(DenseArtifact, SaysItsParameters) {
  ASSERT_EQ(v.param_count, 4);
  EXPECT_STREQ(v.params[1].name, "b");
  EXPECT_EQ(v.params[0].role, HONE_INPUT);
  EXPECT_EQ(v.params[1].role, HONE_CONSTANT);
  EXPECT_EQ(v.params[3].role, HONE_OUTPUT);
  EXPECT_THAT(std::vector<int64_t>(v.params[1].plain.shape, v.params[1].plain.shape + 2), ElementsAre(20, 8));
  EXPECT_EQ(v.params[1].packed_count, 1);
  EXPECT_EQ(v.params[1].packed[0].ndim, 3);
}

TEST_F(DenseArtifact, SaysWhichTensorIsWrongAndHow) {
  EXPECT_EQ(run(), HONE_OK);
  int64_t other[] = {8, 20, 1}, strides[] = {8, 1}, gaps[] = {16, 1};
  EXPECT_EQ(with([](DLTensor& t) { t.data = nullptr; }), "mm: constant 'b' is missing or has no data");
  EXPECT_EQ(with([](DLTensor& t) { t.device.device_type = kDLCUDA; }), "mm: constant 'b' is not on the CPU");
  EXPECT_EQ(with([](DLTensor& t) { t.dtype.code = kDLInt; }),
            "mm: constant 'b' is of another type than float32 [20, 8]");
  EXPECT_EQ(with([](DLTensor& t) { t.dtype.bits = 16; }), "mm: constant 'b' is of another type than float32 [20, 8]");
  EXPECT_EQ(with([](DLTensor& t) { t.dtype.lanes = 4; }), "mm: constant 'b' is of another type than float32 [20, 8]");
  EXPECT_EQ(with([&](DLTensor& t) { t.shape = other; }), "mm: constant 'b' has another shape than float32 [20, 8]");
  EXPECT_EQ(with([](DLTensor& t) { t.shape = nullptr; }), "mm: constant 'b' has another shape than float32 [20, 8]");
  EXPECT_EQ(with([](DLTensor& t) { t.ndim = 1; }), "mm: constant 'b' has another shape than float32 [20, 8]");
  EXPECT_EQ(with([&](DLTensor& t) { t.strides = gaps; }),
            "mm: constant 'b' is not row-major without gaps, float32 [20, 8]");
  EXPECT_EQ(with([](DLTensor& t) { t.byte_offset = 2; }), "mm: constant 'b' is not aligned to its elements, 4 bytes");
  tensor(1).strides = strides;
  EXPECT_EQ(run(), HONE_OK);
}

TEST_F(DenseArtifact, SaysWhatElseIsWrong) {
  const auto says = [&](int32_t code) {
    EXPECT_EQ(code & 0xff, HONE_BAD_ARGUMENTS);
    EXPECT_EQ(HONE_WRONG_TENSOR(code), 0);
    return std::string(d.error(code));
  };
  EXPECT_EQ(says(v.run(views.data(), 3, workspace.data(), nullptr)), "mm takes 4 tensors: a, b, bias, out");
  EXPECT_EQ(says(v.run(views.data(), 4, nullptr, nullptr)),
            "mm: the workspace is null or not aligned to 64 bytes; it takes " + std::to_string(v.run_workspace_bytes) +
                " bytes");
  EXPECT_EQ(says(v.run(nullptr, 4, workspace.data(), nullptr)), "mm takes 4 tensors: a, b, bias, out");
  HoneRuntime rt{HONE_RUNTIME_ABI + 1, 1, nullptr, nullptr, nullptr};
  EXPECT_EQ(says(v.run(views.data(), 4, workspace.data(), &rt)),
            "mm: the runtime is of a version that it does not know");
  const DLTensor* const second = std::exchange(views[1], nullptr);
  EXPECT_STREQ(d.error(run()), "mm: constant 'b' is missing or has no data");
  views[1] = second;
  EXPECT_STREQ(d.error(HONE_OK), "ok");
  EXPECT_STREQ(d.error(HONE_NO_RESULT),
               "the model has no result for these inputs: an If takes a branch that its shapes "
               "do not allow, or that is not supported");
  for (const int32_t code :
       {-1, 6, 77, HONE_BAD_ARGUMENTS | 99 << 8, HONE_BAD_ARGUMENTS | 5 << 16, 0x7fffffff, HONE_OK | 1 << 8})
    EXPECT_STREQ(d.error(code), "a code that is unknown here") << code;
  EXPECT_EQ(status_of(run()).code(), absl::StatusCode::kOk);
  EXPECT_EQ(status_of(0x100).code(), absl::StatusCode::kInternal) << "a foreign runtime's";
  views.pop_back();
  EXPECT_EQ(status_of(run()).code(), absl::StatusCode::kInvalidArgument);
}

// Built by `tensorc --target "llvm -mtriple=x86_64-linux -mcpu=x86-64 -threads=2" --config default --emit so` (and
// `--target "opencl -sms=2"`) at 8c6ba62, when the ABI was of version 3.
TEST(ArtifactOfVersion3, IsLoadedAndRun) {
#ifndef __x86_64__
  GTEST_SKIP() << "they are for x86-64";
#endif
  const std::string folder = HONE_SOURCE_DIR "/tests/data/artifacts/";
  const auto artifact = Artifact::load(folder + "dense_abi3.so", "dense");
  ASSERT_TRUE(artifact.ok()) << message_of(artifact.status());
  EXPECT_EQ(artifact->description(), nullptr);
  // out = relu(a b^T + bias) of a = 1, b = i - 9 in row i, bias = 3.
  const int64_t shapes[4][2] = {{4, 8}, {20, 8}, {20, 1}, {4, 20}};
  Tensors tensors;
  for (size_t i = 0; i < 4; ++i)
    tensors.push_back(std::make_unique<HostTensorOf>(HoneTensorType{{kDLFloat, 32, 1}, i == 2 ? 1 : 2, shapes[i]}, 0));
  const auto data = [&](size_t i) { return static_cast<float*>(tensors[i]->tensor.data); };
  std::fill_n(data(0), 32, 1.0f);
  for (int i = 0; i < 160; ++i) data(1)[i] = static_cast<float>(i / 8 - 9);
  std::fill_n(data(2), 20, 3.0f);
  Workspace workspace(768);
  ThreadPool pool({.workers = 2});
  const auto plain = reinterpret_cast<HoneEntry>(artifact->symbol("dense_plain"));
  ASSERT_EQ(plain(views_of(tensors).data(), 4, workspace.data(), pool.runtime()), HONE_OK);
  for (int i = 0; i < 80; ++i) EXPECT_EQ(data(3)[i], std::max(0.0f, static_cast<float>((i % 20 - 9) * 8 + 3))) << i;

  const Ran conv = shell(kBin + "/call_conv " + folder + "conv_abi3.so conv 4 8 1152 0 7488");
  EXPECT_EQ(conv.output, "ok\n");
  const Ran gpu = shell(kBin + "/call_gpu opencl " + folder + "conv_opencl_abi3.so conv_opencl");
  EXPECT_TRUE(gpu.code == 3 || gpu.output == "ok\n") << gpu.output;
}

}  // namespace
}  // namespace hone
