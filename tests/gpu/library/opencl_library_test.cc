// Artifacts for OpenCL through hone.h and hone_gpu.h alone, against the launcher over the compiler's own driver.
#include <gmock/gmock.h>

#include <fstream>

#include "compiler/codegen/llvm/machine/host_target.h"
#include "compiler/frontend/onnx/import_growing.h"
#include "compiler/runtime/gpu/gpu_launcher.h"
#include "tests/fakes/decoder_model.h"
#include "tests/fakes/gpu_workloads.h"
#include "tests/gpu/library/opencl_fixture.h"

namespace hone {
namespace {

using testing::HasSubstr;

// Launches, a function on the host between them, and a copy behind all.
constexpr const char* kWithHost = R"(graph g
input "x" %x f32[40, 4]
%zero = constant f32[1] [0]
%y = elementwise(op=mul[2],shape=40x4) %x
%first = slice(shape=40x4,begin=0:0,size=40x1) %y
%flat = reshape(shape=40x1,to=40) %first
%mask = elementwise(op=greater,shape=40,operands=1) %flat %zero
%places, %count = nonzero(n=40) %mask
%rows = gather(shape=40x4,indices=40) %y %places
output "rows" %rows f32[40, 4] extent 0 by 1
output "rows.count" %count s64[1]
output "x" %x f32[40, 4]
)";

TEST_F(OpenclLibrary, ModelsTakeTensorsWhereverEachOfThemIs) {
  for (const auto& [text, name] : {std::pair{kLibraryNet, "anywhere"}, {kWithHost, "anywhere_host"}}) {
    const InFile f = in_file(text, name);
    const std::vector<TensorData> inputs = seeded_inputs(f.graph);
    const std::vector<std::string> want = wanted(f, inputs);
    const Model model = model_of(f.path);
    ASSERT_TRUE(hone_device(model.get()));
    EXPECT_STREQ(hone_gpu_properties(hone_device(model.get()))->name, "opencl:0");
    const size_t count = inputs.size() + want.size();
    for (size_t places = 0; places < size_t{1} << count; ++places) {
      SCOPED_TRACE(std::string(name) + " " + std::to_string(places));
      LibraryCall call(model.get(), hone_device(model.get()), [&](size_t i) { return places >> i & 1; });
      call.set(inputs);
      for (int turn = 0; turn < 3; ++turn) {
        ASSERT_EQ(call.refusal(model.get()), "");
        EXPECT_EQ(call.take_outputs(), want) << turn;
      }
    }
  }
}

TEST_F(OpenclLibrary, CallsOfOneModelMayLieElsewhereEachTime) {
  const InFile f = in_file(kLibraryNet, "elsewhere");
  const Model model = model_of(f.path);
  LibraryCall here(model.get(), hone_device(model.get()), &on_cpu),
      there(model.get(), hone_device(model.get()), &on_device),
      other(model.get(), hone_device(model.get()), &on_device);
  std::vector<TensorData> one = seeded_inputs(f.graph);
  const std::vector<std::string> want = wanted(f, one);
  std::vector<TensorData> zeros{TensorData(one[0].type(), std::string(one[0].bytes().size(), '\0'))};
  const std::vector<std::string> of_zeros = wanted(f, zeros);
  ASSERT_NE(want, of_zeros);
  here.set(one), there.set(zeros), other.set(one);
  for (int turn = 0; turn < 3; ++turn) {
    for (LibraryCall* const call : {&here, &there, &other}) {
      ASSERT_EQ(call->refusal(model.get()), "");
      EXPECT_EQ(call->take_outputs(), call == &there ? of_zeros : want) << turn;
    }
  }
}

TEST_F(OpenclLibrary, OperatorsRunAndLayoutsOfTheirOwnComeFromTheCpu) {
  int with_layouts = 0;
  for (const char* const text :
       {"dense(m=20,n=24,k=16)", "conv2d(n=1,ci=8,h=7,w=9,co=12,kh=3,kw=3,stride=1,pad=1,layout=NCHW)",
        "conv2d(n=1,ci=16,h=7,w=9,co=12,kh=3,kw=3,stride=1,pad=1,epilogue=bias+relu)"}) {
    SCOPED_TRACE(text);
    const Workload w = parse_workload(text);
    const Space space = make_space(w, gpu_.target);
    const Module m = lower_config(w, gpu_.target, space, space.default_config());
    const std::string name = "operator" + std::to_string(with_layouts);
    const std::string path =
        linked(folder_,
               gpu_artifact_objects(m, gpu_.target, host_target(1), gpu_artifact_code(m, gpu_.target, nvrtc_here()),
                                    name, artifact_json(m, gpu_.target, name, text, "")),
               name);
    const Model model = model_of(path);
    LibraryCall plain(model.get(), hone_device(model.get()), &on_cpu),
        device(model.get(), hone_device(model.get()), &on_device);
    for (LibraryCall* const call : {&plain, &device})
      for (size_t i = 0; i + 1 < call->size(); ++i) {
        std::vector<float> values(call->read(i).size() / sizeof(float));
        for (size_t v = 0; v < values.size(); ++v) values[v] = static_cast<float>(v % 17) / 8 - 1;
        call->write(i, {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)});
      }
    ASSERT_EQ(plain.refusal(model.get()), "");
    const std::vector<std::string> want = plain.take_outputs();
    GpuLauncher launcher(*gpu_.device);
    const HoneRuntime rt = launcher.runtime();
    ASSERT_EQ(plain.refusal(model.get(), &rt), "") << message_of(launcher.status());
    EXPECT_EQ(plain.take_outputs(), want);
    std::string own;  // the first parameter with a layout of its own
    const HoneGpuProgram& program = *hone_variant(model.get(), 0)->gpu;
    for (int64_t p = program.param_count; p-- > 0;)
      if (program.params[p].pack || program.params[p].unpack) own = program.params[p].name;
    if (own.empty()) {
      ASSERT_EQ(device.refusal(model.get()), "");
      EXPECT_EQ(device.take_outputs(), want);
      std::vector<double> seconds(1, -1);
      ASSERT_EQ(device.time(model.get(), nullptr, &seconds), HONE_OK) << hone_last_error();
      EXPECT_GT(seconds[0], 0);
      EXPECT_EQ(device.take_outputs(), want);
    } else {
      ++with_layouts;
      EXPECT_EQ(device.refusal(model.get()),
                name + ": parameter '" + own + "' has a layout of its own on the device; it is taken from the CPU");
    }
    ASSERT_EQ(plain.refusal(model.get()), "");
    EXPECT_EQ(plain.take_outputs(), want);
  }
  EXPECT_GT(with_layouts, 0);
}

TEST_F(OpenclLibrary, LayersAreTimedOnTensorsOfTheDevice) {
  const InFile f = in_file(kWithHost, "timed");
  const std::vector<TensorData> inputs = seeded_inputs(f.graph);
  const std::vector<std::string> want = wanted(f, inputs);
  const Model model = model_of(f.path);
  const LibraryRuntime own = runtime_on(hone_device(model.get()), nullptr, true);
  for (const HoneRuntime* const rt :
       {static_cast<const HoneRuntime*>(nullptr), static_cast<const HoneRuntime*>(own.get())}) {
    LibraryCall call(model.get(), hone_device(model.get()), &on_device);
    call.set(inputs);
    std::vector<double> seconds(static_cast<size_t>(hone_layer_count(model.get())), -1);
    ASSERT_GT(seconds.size(), 4u);
    ASSERT_EQ(call.time(model.get(), rt, &seconds), HONE_OK) << hone_last_error();
    for (const double s : seconds) EXPECT_GT(s, 0);
    EXPECT_EQ(call.take_outputs(), want);
  }
}

TEST_F(OpenclLibrary, VariantsAreThoseOfTheTensorsShapes) {
  const auto net = [](int batch) {
    const std::string b = std::to_string(batch);
    return read_graph("graph g\ninput \"x\" %x f32[" + b + ", 16]\n%w = constant f32[8, 16] fill 1\n%d = dense(m=" + b +
                      ",n=8,k=16,dtype=f32) %x %w\noutput \"d\" %d f32[" + b + ", 8]\n");
  };
  const Graph one = net(1), four = net(4);
  ModelOptions options{"of_batches", gpu_.target, &default_config};
  options.host = host_target(1);
  const BuiltModel built = build_model({{"batch=1", &one, gpu_.target}, {"batch=4", &four, gpu_.target}}, options);
  const Model model = model_of(linked(folder_, built.objects[0].parts, "of_batches"));
  ASSERT_EQ(hone_variant_count(model.get()), 2);
  for (int32_t v = 0; v < 2; ++v)
    for (const auto lies : {&on_cpu, &on_device}) {
      const std::vector<TensorData> inputs = seeded_inputs(v ? four : one);
      LoadedModel loaded(built, "of_batches", 1, static_cast<size_t>(v), gpu_.device.get());
      LibraryCall call(model.get(), hone_device(model.get()), lies, v);
      call.set(inputs);
      ASSERT_EQ(call.refusal(model.get()), "");
      EXPECT_EQ(call.take_outputs(), bytes_of_all(loaded.run(inputs)));
    }
}

// A host with a device layer of its own needs no libhone_gpu; its calls take tensors on the CPU.
TEST_F(OpenclLibrary, AHostsOwnDeviceLayerRunsModelsToo) {
  const InFile f = in_file(kLibraryNet, "on_hosts");
  const std::vector<TensorData> inputs = seeded_inputs(f.graph);
  const std::vector<std::string> want = wanted(f, inputs);
  GpuLauncher launcher(*gpu_.device);
  const HoneRuntime rt = launcher.runtime();
  {
    const Model model = model_on(f.path, &rt);
    EXPECT_EQ(hone_device(model.get()), nullptr);
    LibraryCall call(model.get(), nullptr, &on_cpu);
    call.set(inputs);
    const Pool pool(hone_pool_new(2));
    for (const HoneRuntime* const given :
         {static_cast<const HoneRuntime*>(nullptr), &rt, static_cast<const HoneRuntime*>(pool.get())}) {
      ASSERT_EQ(call.refusal(model.get(), given), "");
      EXPECT_EQ(call.take_outputs(), want);
    }
  }
  // One of hone_gpu_open in its place.
  const LibraryDevice gpu = device_of("opencl");
  const LibraryRuntime ours = runtime_on(gpu.get());
  const Model model = model_on(f.path, ours.get());
  LibraryCall call(model.get(), gpu.get(), &on_device);
  call.set(inputs);
  ASSERT_EQ(call.refusal(model.get()), "");
  EXPECT_EQ(call.take_outputs(), want);
}

TEST_F(OpenclLibrary, AnArtifactInTheProgramOpensItsDeviceInTheFirstRun) {
  const InFile f = in_file(kLibraryNet, "in_program");
  const std::vector<TensorData> inputs = seeded_inputs(f.graph);
  const std::vector<std::string> want = wanted(f, inputs);
  void* const loaded = dlopen(f.path.c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_TRUE(loaded);
  {
    HoneModel* opened = nullptr;
    ASSERT_EQ(hone_open_linked(static_cast<const HoneArtifact*>(dlsym(loaded, "in_program_artifact")), &opened),
              HONE_OK);
    const Model model(opened);
    EXPECT_EQ(hone_device(model.get()), nullptr);
    LibraryCall call(model.get(), nullptr, &on_cpu);
    call.set(inputs);
    ASSERT_EQ(call.refusal(model.get()), "");
    EXPECT_EQ(call.take_outputs(), want);
    EXPECT_NE(hone_device(model.get()), nullptr);
  }
  dlclose(loaded);
}

// The same rows, call after call, whether the caches lie on the device or are copied.
TEST_F(OpenclLibrary, CachesGrowInPlaceOnTheDevice) {
  const std::string file = folder_.path() + "/decoder.onnx";
  std::ofstream(file, std::ios::binary) << exported_decoder().model.SerializeAsString();
  GrowingModel read = import_growing_onnx(file, test_operators(), {}, {"past", 21});
  const Growth growth = read.growth;
  const Graph g = prepare_growing(std::move(read), test_context(), gpu_.target);
  ModelOptions options{"library_decoder", gpu_.target, &default_config};
  options.host = host_target(1);
  const BuiltModel built = build_model({ModelVariant{"", &g, gpu_.target, &growth}}, options);
  const Model model = model_of(linked(folder_, built.objects[0].parts, "library_decoder"));
  HoneGpuDevice* const gpu = hone_device(model.get());
  // Tensors: x, past_k, past_v, y, present_k, present_v.
  std::vector<int64_t> strides{kDecoderHeads * kDecoderRoom * kDecoderDim, kDecoderRoom * kDecoderDim, kDecoderDim, 1};
  const auto caches_on_device = [](size_t i) { return i == 4 || i == 5; };
  LibraryCall copied(model.get(), gpu, &on_cpu), kept(model.get(), gpu, caches_on_device),
      all(model.get(), gpu, &on_device);
  const LibraryRuntime async = runtime_on(gpu, nullptr, true);
  for (int64_t past = 0; past < kDecoderRoom; ++past) {
    SCOPED_TRACE(past);
    std::vector<int64_t> before{1, kDecoderHeads, past, kDecoderDim}, after{1, kDecoderHeads, past + 1, kDecoderDim};
    std::vector<float> x(static_cast<size_t>(kDecoderHeads * kDecoderDim));
    for (size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(i + 1) * static_cast<float>(past + 3));
    std::vector<std::vector<std::string>> got;
    for (LibraryCall* const call : {&copied, &kept, &all}) {
      for (size_t c = 0; c < 2; ++c) {
        DLTensor &input = (*call)[1 + c], &output = (*call)[4 + c];
        input.data = output.data;
        input.device = output.device;
        input.shape = before.data(), output.shape = after.data();
        input.strides = output.strides = strides.data();
      }
      call->write(0, {reinterpret_cast<const char*>(x.data()), x.size() * sizeof(float)});
      ASSERT_EQ(call->refusal(model.get(), call == &all ? async.get() : nullptr), "");
      got.push_back({call->read(3), call->read(4), call->read(5)});
    }
    EXPECT_EQ(got[1], got[0]);
    EXPECT_EQ(got[2], got[0]);
  }
  // One row more than there is room for.
  std::vector<int64_t> full{1, kDecoderHeads, kDecoderRoom, kDecoderDim};
  kept[1].shape = full.data();
  EXPECT_THAT(kept.refusal(model.get()), HasSubstr("cache 'past_k' has 22 rows; there may be 0 to 21"));
}

TEST_F(OpenclLibrary, DevicesSayWhatTheyAre) {
  const LibraryDevice gpu = device_of("opencl:0");
  const HoneGpuProperties& p = *hone_gpu_properties(gpu.get());
  EXPECT_STREQ(p.name, "opencl:0");
  EXPECT_STREQ(p.api, "opencl");
  EXPECT_STRNE(p.model, "");
  EXPECT_STRNE(p.driver, "");
  EXPECT_STREQ(p.arch, "");
  EXPECT_GT(p.memory_bytes, 0);
  EXPECT_GT(p.compute_units, 0);
  EXPECT_EQ(p.device_type, kDLOpenCL);
  EXPECT_EQ(p.device_id, 0);
}

}  // namespace
}  // namespace hone
