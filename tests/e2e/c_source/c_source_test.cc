// Code of --emit c, compiled by the C compilers that are here, against the reference. HONE_C_CONFIGS: the number of
// configs of each workload, whose texts are then all compiled, however long that takes; HONE_C_SEED: selects others.
#include <dlfcn.h>
#include <gmock/gmock.h>

#include <cstdlib>
#include <fstream>
#include <memory>

#include "compiler/build/artifact.h"
#include "compiler/build/artifact_header.h"
#include "compiler/codegen/c/emit.h"
#include "compiler/runtime/denormals/denormals.h"
#include "tests/e2e/artifact/shell.h"
#include "tests/fakes/cpu_workloads.h"
#include "tests/fakes/reference_check.h"
#include "tests/fakes/temporary_folder.h"
#include "tests/fakes/workloads.h"

namespace hone {
namespace {

uint64_t number_from(const char* variable, uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

// As a careful user compiles it: no warning is left.
Ran compiled(const std::string& how, const std::string& folder) {
  return shell(how +
               " -Wall -Wextra -Wpedantic -Werror -fPIC -shared -I" HONE_SOURCE_DIR "/compiler/runtime/include -I" +
               folder + " " + folder + "/k.c -o " + folder + "/k.so -lm");
}

// A parallel_for whose workers take chunks in an order of its own.
int32_t in_chunks(void*, HoneChunk body, void* closure, int64_t iterations, int32_t max_workers, int64_t) {
  const int64_t each = std::max<int64_t>(1, iterations / 3);
  int32_t worker = 0;
  for (int64_t begin = (iterations - 1) / each * each; begin >= 0; begin -= each, worker = (worker + 1) % max_workers)
    if (const int32_t code = body(begin, std::min(begin + each, iterations), worker, closure)) return code;
  return HONE_OK;
}
const HoneRuntime kRuntime = {HONE_RUNTIME_ABI, 2, nullptr, &in_chunks, nullptr};

struct Aligned {
  explicit Aligned(size_t bytes) : memory(std::aligned_alloc(64, (bytes + 64) / 64 * 64)) {}
  ~Aligned() { std::free(memory); }
  Aligned(const Aligned&) = delete;
  Aligned& operator=(const Aligned&) = delete;
  void* memory;
};

size_t bytes_of(const HoneTensorType& t) {
  size_t n = t.dtype.bits / 8u;
  for (int32_t d = 0; d < t.ndim; ++d) n *= static_cast<size_t>(t.shape[d]);
  return n;
}

// NAME_run on the inputs; all outputs, one behind the other.
std::vector<char> run(const HoneArtifact& artifact, const std::vector<std::vector<char>>& inputs) {
  const HoneVariant& v = artifact.variants[0];
  std::vector<std::unique_ptr<Aligned>> memory;
  std::vector<DLTensor> tensors(static_cast<size_t>(v.param_count));
  std::vector<const DLTensor*> args;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const HoneTensorType& t = v.params[i].plain;
    memory.push_back(std::make_unique<Aligned>(bytes_of(t)));
    if (i < inputs.size())
      std::memcpy(memory[i]->memory, inputs[i].data(), bytes_of(t));
    else
      std::memset(memory[i]->memory, 0xff, bytes_of(t));
    tensors[i] = {memory[i]->memory, {kDLCPU, 0}, t.ndim, t.dtype, const_cast<int64_t*>(t.shape), nullptr, 0};
    args.push_back(&tensors[i]);
  }
  const Aligned workspace(static_cast<size_t>(v.run_workspace_bytes));
  const int32_t code = v.run(args.data(), v.param_count, workspace.memory, &kRuntime);
  EXPECT_EQ(code, HONE_OK) << artifact.error(code);
  std::vector<char> out;
  for (size_t i = inputs.size(); i < tensors.size(); ++i) {
    const char* first = static_cast<const char*>(memory[i]->memory);
    out.insert(out.end(), first, first + bytes_of(v.params[i].plain));
  }
  return out;
}

class InC : public testing::TestWithParam<const char*> {};

TEST_P(InC, ConfigsComputeWhatTheReferenceComputes) {
  const Workload w = parse_workload(GetParam());
  // Vectors of 512 bits, which few processors have: others make them of narrower ones.
  const Target target = Target::parse("llvm -mtriple=x86_64-linux -mcpu=x86-64-v4 -threads=2");
  const Space space = make_space(w, target);
  std::mt19937_64 rng(number_from("HONE_C_SEED", 30));
  const ReferenceRun reference(w, rng);
  const bool has_clang = shell("command -v clang").code == 0;
  int number = 0, compiled_texts = 0;
  for (const Config& config : some_configs(space, number_from("HONE_C_CONFIGS", 2), rng)) {
    SCOPED_TRACE(space.print(config));
    const TemporaryFolder temporary;
    const Module m = lower_config(w, target, space, config);
    const std::string json = artifact_json(m, target, "k", to_string(w), space.print(config));
    const std::string source = artifact_c_source(m, target, "k", json, to_string(w));
    // Code that is unrolled so far takes a compiler up to a minute.
    constexpr size_t kMostBytes = 40000;
    if (source.size() > kMostBytes && !std::getenv("HONE_C_CONFIGS")) continue;
    ++compiled_texts;
    std::ofstream(temporary.path() + "/k.c") << source;
    std::ofstream(temporary.path() + "/k.h") << artifact_header(m, target, "k", to_string(w), /*in_c=*/true);
    const bool by_clang = has_clang && number++ % 2 == 1;
    const Ran built = compiled(by_clang ? "clang -std=c99 -O1" : "cc -std=c99 -O1 -march=native", temporary.path());
    ASSERT_EQ(built.code, 0) << built.output;
    void* const object = dlopen((temporary.path() + "/k.so").c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(object, nullptr) << dlerror();
    const auto* artifact = static_cast<const HoneArtifact*>(dlsym(object, "k_artifact"));
    ASSERT_NE(artifact, nullptr);
    EXPECT_TRUE(reference.expect_agrees(run(*artifact, reference.inputs()), m));
    EXPECT_EQ(std::string(artifact->json), json);
    dlclose(object);
  }
  if (compiled_texts == 0) GTEST_SKIP() << "its texts are long: HONE_C_CONFIGS=2";
}

// By the instructions of the processor, by AVX2's and by none.
TEST(CSource, ProductsOfBytesAreExact) {
  const Workload w = parse_workload("dense(m=5,n=48,k=24,dtype=u8:s8:s32:s32)");
  std::mt19937_64 rng(31);
  const ReferenceRun reference(w, rng);
  std::vector<std::string> flags = {"-march=native", ""};
  if (__builtin_cpu_supports("avx2")) flags.push_back("-mavx2");
  for (const auto& [cpu, lanes] : {std::pair("x86-64-v3", "8"), std::pair("x86-64-v4", "16")})
    for (const std::string& instructions : flags) {
      SCOPED_TRACE(cpu + instructions);
      const TemporaryFolder temporary;
      const Target target = Target::parse(std::string("llvm -mtriple=x86_64-linux -mcpu=") + cpu);
      const Space space = make_space(w, target);
      const Module m = lower_config(w, target, space, space.default_config());
      const std::string source = artifact_c_source(m, target, "k", "{}", to_string(w));
      EXPECT_THAT(source, testing::HasSubstr(std::string("return HONE_DOT4_") + lanes));
      std::ofstream(temporary.path() + "/k.c") << source;
      std::ofstream(temporary.path() + "/k.h") << artifact_header(m, target, "k", to_string(w), /*in_c=*/true);
      const Ran built = compiled("cc -std=c99 -O1 " + instructions, temporary.path());
      ASSERT_EQ(built.code, 0) << built.output;
      void* const object = dlopen((temporary.path() + "/k.so").c_str(), RTLD_NOW | RTLD_LOCAL);
      ASSERT_NE(object, nullptr) << dlerror();
      const auto* artifact = static_cast<const HoneArtifact*>(dlsym(object, "k_artifact"));
      EXPECT_TRUE(reference.expect_agrees(run(*artifact, reference.inputs()), m));
      dlclose(object);
    }
}

// Also where the compiler could move arithmetic out of the part that has the mode.
TEST(CSource, DenormalsAreZerosMeanwhile) {
  const Workload w = parse_workload("dense(m=8,n=16,k=24)");
  const Target target = Target::parse("llvm -mtriple=x86_64-linux -mcpu=x86-64-v3 -threads=2");
  const Space space = make_space(w, target);
  const Module m = lower_config(w, target, space, space.default_config());
  const auto filled = [](size_t count, float value) {
    const std::vector<float> values(count, value);
    const auto* first = reinterpret_cast<const char*>(values.data());
    return std::vector<char>(first, first + 4 * count);
  };
  const std::vector<std::vector<char>> inputs{filled(8 * 24, 1e-39F), filled(24 * 16, 1)};
  std::vector<std::string> compilers = {"cc -std=c99 -O3", "cc -std=c99 -O3 -flto"};
  if (shell("command -v clang").code == 0) compilers.push_back("clang -std=c99 -O3");
  for (const std::string& compiler : compilers)
    for (const Denormals denormals : {Denormals::kZero, Denormals::kKeep}) {
      SCOPED_TRACE(compiler + " " + std::string(name_of(denormals)));
      const TemporaryFolder temporary;
      std::ofstream(temporary.path() + "/k.c") << artifact_c_source(m, target, "k", "{}", to_string(w), denormals);
      std::ofstream(temporary.path() + "/k.h")
          << artifact_header(m, target, "k", to_string(w), /*in_c=*/true, denormals);
      const Ran built = compiled(compiler + " -march=native -ffp-contract=fast", temporary.path());
      ASSERT_EQ(built.code, 0) << built.output;
      void* const object = dlopen((temporary.path() + "/k.so").c_str(), RTLD_NOW | RTLD_LOCAL);
      ASSERT_NE(object, nullptr) << dlerror();
      const uint64_t usual = hone_internal_float_mode();
#if defined(__x86_64__)
      hone_internal_set_float_mode(usual | 0x2011);  // rounding down, and flags
#endif
      const uint64_t before = hone_internal_float_mode();
      const std::vector<char> y = run(*static_cast<const HoneArtifact*>(dlsym(object, "k_artifact")), inputs);
      const uint64_t after = hone_internal_float_mode();
      hone_internal_set_float_mode(usual);
      EXPECT_EQ(y == filled(8 * 16, 0), denormals == Denormals::kZero);
      if (denormals == Denormals::kZero) {
        EXPECT_EQ(after, before);
      }
      dlclose(object);
    }
}

// out[i] = (i < 1 ? 70000 : 3) * 70000 as f32: of indices, which have 64 bits, where C would compute it as int.
TEST(CSource, IndicesOfConstantsDoNotOverflowInC) {
  const Buffer out = make_buffer("out", f32, {2});
  const Var i("i");
  const Expr number = select(lt(i, 1), make_int(70000), make_int(3)) * int64_t{70000};
  Module m;
  m.params.push_back({"out", ParamRole::kOutput, f32, {2}, Layout::identity({2})});
  const Stmt body = make_for(i, make_int(0), make_int(2), LoopKind::kSerial, make_store(out, {i}, cast(f32, number)));
  m.kernels.push_back({"k", {out}, {}, body});
  const TemporaryFolder temporary;
  CFile file(256);
  file.add_entry(m, "k", /*element_aligned=*/true);
  std::ofstream(temporary.path() + "/k.c") << file.text("#include \"hone_runtime.h\"\n#include <stdint.h>\n");
  const Ran built = compiled("cc -std=c99 -O2", temporary.path());
  ASSERT_EQ(built.code, 0) << built.output;
  void* const object = dlopen((temporary.path() + "/k.so").c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(object, nullptr) << dlerror();
  HoneEntry entry = nullptr;
  *reinterpret_cast<void**>(&entry) = dlsym(object, "k");
  float values[2] = {};
  int64_t shape[] = {2};
  const DLTensor tensor{values, {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, shape, nullptr, 0};
  const DLTensor* args[] = {&tensor};
  EXPECT_EQ(entry(args, 1, nullptr, nullptr), HONE_OK);
  EXPECT_EQ(values[0], 4.9e9f);
  EXPECT_EQ(values[1], 210000.0f);
  dlclose(object);

  // Roundings rest on IEEE's.
  const Ran fast = compiled("cc -std=c99 -O2 -ffast-math", temporary.path());
  EXPECT_NE(fast.code, 0);
  EXPECT_THAT(fast.output, testing::HasSubstr("compile it without -ffast-math"));
}

// Buffers and variables may have names of macros, the compiler's or those of included files.
TEST(CSource, NamesOfMacrosAreNoTrouble) {
  Module m;
  Stmt body = make_seq({});
  std::vector<Buffer> params;
  for (const char* name : {"linux", "unix", "NAN", "HUGE_VAL", "INT8_MAX", "NULL", "errno", "I", "HONE_OK", "main"}) {
    const Buffer out = make_buffer(name, f32, {2});
    params.push_back(out);
    m.params.push_back({name, ParamRole::kOutput, f32, {2}, Layout::identity({2})});
    const Var i(name);
    body =
        make_seq({body, make_for(i, make_int(0), make_int(2), LoopKind::kSerial, make_store(out, {i}, cast(f32, i)))});
  }
  m.kernels.push_back({"k", params, {}, body});
  const TemporaryFolder temporary;
  CFile file(256);
  file.add_entry(m, "k", /*element_aligned=*/true);
  std::ofstream(temporary.path() + "/k.c") << file.text("#include \"hone_runtime.h\"\n#include <stdint.h>\n");
  for (const char* how : {"cc -std=gnu99 -O2", "cc -std=c99 -O2"}) {
    const Ran built = compiled(how, temporary.path());
    EXPECT_EQ(built.code, 0) << built.output;
  }
}

// Workloads that take a compiler seconds are left out: another one uses each template.
std::vector<const char*> workloads() {
  std::vector<const char*> out;
  for (const char* text : kCpuWorkloads)
    if (flops(parse_workload(text)) < 3e7) out.push_back(text);
  return out;
}

INSTANTIATE_TEST_SUITE_P(Templates, InC, testing::ValuesIn(workloads()));

}  // namespace
}  // namespace hone
