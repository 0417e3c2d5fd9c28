// A host of an artifact for a GPU: conv2d(ci=8,h=6,w=5,co=12,kh=3,kw=3,pad=1), through NAME_plain with tensors here and
// through NAME with tensors on the device. call_gpu opencl|cuda ARTIFACT.so NAME; exits 0 when both results are right,
// 3 where there is no device.
#include <cmath>
#include <cstdio>
#include <cstring>
#include <memory>
#include <vector>

#include "compiler/runtime/artifact.h"
#include "compiler/runtime/buffer.h"
#include "compiler/runtime/gpu/cuda_driver.h"
#include "compiler/runtime/gpu/gpu_launcher.h"
#include "compiler/runtime/gpu/opencl.h"

namespace hone {
namespace {

constexpr int kCi = 8, kH = 6, kW = 5, kCo = 12, kK = 3;
constexpr DLDataType kF32{kDLFloat, 32, 1};

int wrong = 0;
void expect(bool ok, const char* what) {
  if (!ok) std::printf("%s\n", what), wrong = 1;
}

void expect_equal(const char* what, const float* got, const std::vector<float>& want) {
  for (size_t i = 0; i < want.size(); ++i)
    if (!(std::fabs(got[i] - want[i]) <= 1e-4f)) {
      std::printf("%s: element %zu is %g, not %g\n", what, i, static_cast<double>(got[i]),
                  static_cast<double>(want[i]));
      wrong = 1;
      return;
    }
}

std::vector<float> convolved(const float* x, const float* w) {
  std::vector<float> out;
  for (int o = 0; o < kCo; ++o)
    for (int y = 0; y < kH; ++y)
      for (int z = 0; z < kW; ++z) {
        double sum = 0;
        for (int c = 0; c < kCi; ++c)
          for (int i = 0; i < kK; ++i)
            for (int j = 0; j < kK; ++j) {
              const int yy = y + i - 1, zz = z + j - 1;
              if (yy >= 0 && yy < kH && zz >= 0 && zz < kW)
                sum += static_cast<double>(x[(c * kH + yy) * kW + zz]) *
                       static_cast<double>(w[((o * kCi + c) * kK + i) * kK + j]);
            }
        out.push_back(static_cast<float>(sum));
      }
  return out;
}

// NAME by hand: packs constants, copies, runs, copies back.
void run_on_device(Device& device, GpuLauncher& launcher, const HoneRuntime& rt, HoneEntry entry,
                   const HoneGpuProgram& program, const std::vector<const HostTensor*>& plain,
                   const std::vector<float>& want) {
  std::vector<std::unique_ptr<DeviceBuffer>> buffers;
  std::vector<DLTensor> tensors;
  for (int64_t i = 0; i < program.param_count; ++i) {
    const HoneGpuParam& p = program.params[i];
    HostTensor packed(kF32, {p.elements});
    const DLTensor* pair[] = {plain[static_cast<size_t>(i)]->view(), packed.view()};
    if (p.pack) expect(p.pack(pair, 2, nullptr, &rt) == HONE_OK, "packing failed");
    buffers.push_back(*device.allocate(p.elements * 4));
    if (!p.is_output)
      expect(
          device.write(*buffers.back(), p.pack ? packed.data() : plain[static_cast<size_t>(i)]->data(), p.elements * 4)
              .ok(),
          "a write failed");
    tensors.push_back(*packed.view());
    tensors.back().data = buffers.back()->native();
    tensors.back().device.device_type = static_cast<DLDeviceType>(program.device_type);
  }
  std::vector<const DLTensor*> args;
  for (const DLTensor& t : tensors) args.push_back(&t);
  const auto workspace = program.workspace_bytes > 0 ? *device.allocate(program.workspace_bytes) : nullptr;
  const int32_t code =
      entry(args.data(), static_cast<int32_t>(args.size()), workspace ? workspace->native() : nullptr, &rt);
  if (code != HONE_OK)
    std::printf("the entry returned %d: %s\n", code, message_of(launcher.status()).c_str()), wrong = 1;
  expect(device.synchronize().ok(), "waiting failed");
  const HoneGpuParam& out = program.params[program.param_count - 1];
  HostTensor packed(kF32, {out.elements}), result(kF32, {out.plain_elements});
  expect(device.read(*buffers.back(), packed.data(), out.elements * 4).ok(), "a read failed");
  const DLTensor* pair[] = {packed.view(), result.view()};
  if (out.unpack) expect(out.unpack(pair, 2, nullptr, &rt) == HONE_OK, "unpacking failed");
  expect_equal("on the device", out.unpack ? result.as<float>() : packed.as<float>(), want);
  expect(entry(args.data(), static_cast<int32_t>(args.size()) - 1, nullptr, &rt) == HONE_BAD_ARGUMENTS,
         "too few tensors were accepted");
}

int main_of(const std::string& api, const std::string& path, const std::string& name) {
  const auto driver = api == "cuda" ? load_cuda() : load_opencl();
  if (!driver.ok()) return std::printf("%s\n", message_of(driver.status()).c_str()), 3;
  const auto device = (*driver)->open(0);
  const auto artifact = Artifact::load(path, name);
  if (!device.ok() || !artifact.ok())
    return std::printf("%s\n", message_of(device.ok() ? artifact.status() : device.status()).c_str()), 2;
  const auto plain = reinterpret_cast<HoneEntry>(artifact->symbol(name + "_plain"));
  const auto* program = static_cast<const HoneGpuProgram*>(artifact->symbol(name + "_gpu"));
  const auto* json = static_cast<const char*>(artifact->symbol(name + "_json"));
  if (!plain || !program || !json || !artifact->prepack(0) || !std::strstr(json, "\"workload\""))
    return std::printf("an entry is missing\n"), 2;

  HostTensor x(kF32, {kCi, kH, kW}), w(kF32, {kCo, kCi, kK, kK}), out(kF32, {kCo, kH, kW});
  for (int64_t i = 0; i < x.size(); ++i) x.as<float>()[i] = static_cast<float>((i * 37 + 11) % 201 - 100) / 100;
  for (int64_t i = 0; i < w.size(); ++i) w.as<float>()[i] = static_cast<float>((i * 53 + 7) % 199 - 99) / 100;
  const std::vector<float> want = convolved(x.as<float>(), w.as<float>());
  GpuLauncher launcher(**device);
  const HoneRuntime rt = launcher.runtime();
  const DLTensor* args[] = {x.view(), w.view(), out.view()};
  expect(plain(args, 3, nullptr, nullptr) == HONE_BAD_ARGUMENTS, "a null runtime was accepted");
  for (int turn = 0; turn < 2; ++turn) {
    std::memset(out.data(), 0xff, static_cast<size_t>(out.bytes()));
    const int32_t code = plain(args, 3, nullptr, &rt);
    if (code != HONE_OK) std::printf("plain returned %d: %s\n", code, message_of(launcher.status()).c_str()), wrong = 1;
    expect_equal("plain", out.as<float>(), want);
  }
  run_on_device(**device, launcher, rt, artifact->entry(), *program, {&x, &w, &out}, want);
  if (!wrong) std::printf("ok\n");
  return wrong;
}

}  // namespace
}  // namespace hone

int main(int argc, char** argv) { return argc == 4 ? hone::main_of(argv[1], argv[2], argv[3]) : 2; }
