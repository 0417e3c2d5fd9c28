// tensorc's shared object, called from a plain C program.
#include <gmock/gmock.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "base/json.h"
#include "compiler/runtime/artifact.h"
#include "tests/e2e/artifact/shell.h"
#include "tests/fakes/temporary_folder.h"

namespace hone {
namespace {

// Artifacts for CPUs stay loaded: another of the same path would not be looked at.
struct ArtifactFile : testing::Test {
  const TemporaryFolder temporary;
  const std::string folder = temporary.path();
};

TEST_F(ArtifactFile, IsCalledFromPlainCInItsLayoutAndPlain) {
  for (const std::string layout : {"NCHWc", "NCHW4c:8c", "NCHW8c"}) {
    std::filesystem::create_directory(folder + "/" + layout);
    const std::string path = folder + "/" + layout + "/conv.so";
    const Ran built = shell(kBin + "/tensorc --task conv2d --args ci=8,h=6,w=5,co=12,layout=" + layout +
                            " --config default --emit so -o " + path);
    ASSERT_EQ(built.code, 0) << built.output;
    auto artifact = Artifact::load(path, "conv");
    ASSERT_TRUE(artifact.ok()) << message_of(artifact.status());
    const Json j = Json::parse(static_cast<const char*>(artifact->symbol("conv_json")));
    const auto &in = j["params"][0]["physical_shape"], &weight = j["params"][1]["physical_shape"],
               &out = j["params"][2]["physical_shape"];
    int64_t elements = 1;
    for (int64_t n : weight) elements *= n;
    const Ran ran =
        shell(kBin + "/call_conv " + path + " conv " + in.back().dump() + " " + out.back().dump() + " " +
              std::to_string(elements) + " " + j["workspace_bytes"].dump() + " " + j["plain_workspace_bytes"].dump());
    EXPECT_EQ(ran.code, 0) << ran.output;
    EXPECT_EQ(ran.output, "ok\n");
  }
}

// With layouts that the CPU packs, and row-major ones.
TEST_F(ArtifactFile, ForOpenclRunsFromAHostOfItsOwn) {
  const std::string path = folder + "/conv.so";
  for (const char* how :
       {"layout=NCHW4c:8c --config default", "layout=NCHW --config default", "layout=NHWC --config default"}) {
    SCOPED_TRACE(how);
    const Ran built = shell(kBin + "/tensorc --task conv2d --target 'opencl -sms=2' --emit so -o " + path +
                            " --args ci=8,h=6,w=5,co=12," + how);
    ASSERT_EQ(built.code, 0) << built.output;
    const auto artifact = Artifact::load(path, "conv");
    ASSERT_TRUE(artifact.ok()) << message_of(artifact.status());
    const Json j = Json::parse(static_cast<const char*>(artifact->symbol("conv_json")));
    const bool packs = !std::string(how).starts_with("layout=NCHW ");
    EXPECT_EQ(j["params"][0].value("pack", ""), packs ? "conv_prepack1" : "");
    EXPECT_EQ(j["params"][1].value("prepack", ""), "conv_prepack0");
    EXPECT_EQ(j["params"][2].value("unpack", ""), packs ? "conv_prepack2" : "");
    const Ran ran = shell(kBin + "/call_gpu opencl " + path + " conv");
    if (ran.code == 3) GTEST_SKIP() << ran.output;
    EXPECT_EQ(ran.code, 0) << ran.output;
    EXPECT_EQ(ran.output, "ok\n");
  }
}

TEST_F(ArtifactFile, ForCudaHoldsACubinWhereNvrtcIsAndPtx) {
  const std::string path = folder + "/conv.so";
  for (const char* arch : {"sm_90", "sm_53"}) {
    const Ran built = shell(kBin + "/tensorc --task conv2d --target 'cuda -arch=" + arch + "' --emit so -o " + path +
                            " --args ci=8,h=6,w=5,co=12 --config default");
    ASSERT_EQ(built.code, 0) << built.output;
    const auto artifact = Artifact::load(path, "conv");
    ASSERT_TRUE(artifact.ok()) << message_of(artifact.status());
    const auto& program = *static_cast<const HoneGpuProgram*>(artifact->symbol("conv_gpu"));
    EXPECT_EQ(program.device_type, kDLCUDA);
    EXPECT_THAT(program.target, testing::StartsWith(std::string("cuda -arch=") + arch));
    const bool by_nvrtc = built.output.find("device code: by NVRTC") != std::string::npos;
    EXPECT_EQ(program.binary != nullptr, by_nvrtc);
    EXPECT_STREQ(program.arch, by_nvrtc ? arch : "");
    EXPECT_TRUE(!program.binary || std::string(static_cast<const char*>(program.binary), 4) ==
                                       "\x7f"
                                       "ELF");
    EXPECT_THAT(program.text, testing::HasSubstr(std::string("\n.target ") + arch + "\n"));
    EXPECT_EQ(static_cast<size_t>(program.text_bytes), std::string(program.text).size());
    ASSERT_EQ(program.launch_count, 1);
    EXPECT_THAT(program.text, testing::HasSubstr(std::string(".entry ") + program.launches[0].kernel));
    ASSERT_EQ(program.param_count, 3);
    EXPECT_STREQ(program.params[2].name, "conv");
    EXPECT_EQ(program.params[2].is_output, 1);
    const Ran ran = shell(kBin + "/call_gpu cuda " + path + " conv");
    EXPECT_TRUE(ran.code == 3 || ran.output == "ok\n") << ran.output;
  }
}

TEST_F(ArtifactFile, HasAHeaderThatCompiles) {
  ASSERT_EQ(
      shell(kBin + "/tensorc --task dense --args m=4,n=20,k=8 --config default --emit so -o " + folder + "/mm.so").code,
      0);
  std::ofstream(folder + "/use.c")
      << "#include \"mm.h\"\nint main(void) { return (mm_run(0, 0, 0, 0) & 0xff) == HONE_BAD_ARGUMENTS && "
         "mm_artifact.error == mm_error && mm(0, 0, 0, 0) == HONE_BAD_ARGUMENTS "
         "&& mm_plain(0, 0, 0, 0) == HONE_BAD_ARGUMENTS && mm_json[0] == '{' ? 0 : 1; }\n";
  const Ran compiled = shell("cc -Wall -Werror -I" HONE_SOURCE_DIR "/compiler/runtime/include -I" + folder + " " +
                             folder + "/use.c " + folder + "/mm.so -Wl,-rpath," + folder + " -o " + folder + "/use");
  ASSERT_EQ(compiled.code, 0) << compiled.output;
  EXPECT_EQ(shell(folder + "/use").code, 0);

  ASSERT_EQ(
      shell(kBin + "/tensorc --task dense --args m=4,n=20,k=8 --target 'opencl -sms=2' --config default --emit so -o " +
            folder + "/mm.so")
          .code,
      0);
  std::ofstream(folder + "/use.c")
      << "#include \"mm.h\"\nint main(void) { return mm(0, 0, 0, 0) == HONE_BAD_ARGUMENTS && mm_plain(0, 0, 0, 0) == "
         "HONE_BAD_ARGUMENTS && mm_json[0] == '{' && mm_gpu.param_count == 3 ? 0 : 1; }\n";
  const Ran for_gpu = shell("cc -Wall -Werror -I" HONE_SOURCE_DIR "/compiler/runtime/include -I" + folder + " " +
                            folder + "/use.c " + folder + "/mm.so -Wl,-rpath," + folder + " -o " + folder + "/use");
  ASSERT_EQ(for_gpu.code, 0) << for_gpu.output;
  EXPECT_EQ(shell(folder + "/use").code, 0);
}

// The files that users get need nothing else: C and C++, this folder and DLPack's header.
TEST_F(ArtifactFile, TheInstalledHeaderNeedsNothingElse) {
  const std::string include = HONE_SOURCE_DIR "/compiler/runtime/include";
  size_t headers = 0;
  for (const auto& file : std::filesystem::directory_iterator(include)) {
    ++headers;
    for (const char* language : {"-x c -std=c11", "-x c++ -std=c++11"}) {
      const Ran compiled = shell(std::string("cc -Wall -Wextra -Wpedantic -Werror -fsyntax-only ") + language + " -I" +
                                 include + " " + file.path().string());
      EXPECT_EQ(compiled.code, 0) << compiled.output;
    }
  }
  EXPECT_EQ(headers, 1u);
}

TEST_F(ArtifactFile, EveryKindIsEmitted) {
  for (const char* kind : {"ir", "lowered", "llvm", "asm"}) {
    const Ran ran = shell(kBin + "/tensorc --task dense --args m=4,n=32,k=8 --config default --emit " + kind);
    EXPECT_EQ(ran.code, 0) << ran.output;
    EXPECT_GT(ran.output.size(), 200u) << kind;
  }
  ASSERT_EQ(
      shell(kBin + "/tensorc --task dense --args m=4,n=32,k=8 --config default --emit obj -o " + folder + "/mm.o").code,
      0);
  EXPECT_TRUE(std::filesystem::exists(folder + "/mm.o"));
  EXPECT_TRUE(std::filesystem::exists(folder + "/mm_plain.o"));
  EXPECT_TRUE(std::filesystem::exists(folder + "/mm_run.o"));
  // The output is a shared object unless an option says otherwise.
  const Ran ran = shell(kBin + "/tensorc --task dense --args m=4,n=32,k=8 --config default -o " + folder + "/mm.so");
  EXPECT_EQ(ran.code, 0) << ran.output;
  EXPECT_TRUE(std::filesystem::exists(folder + "/mm.so"));
}

// Code, JSON and header of each kind, for a processor whose mode is set by one instruction.
TEST_F(ArtifactFile, DenormalsAreWhatIsAskedFor) {
  const std::string tensorc = kBin +
                              "/tensorc --task dense --args m=4,n=32,k=8 --config default --target 'llvm "
                              "-mtriple=aarch64-linux -mcpu=cortex-a76'";
  const auto text_of = [&](const std::string& file) {
    std::ifstream in(folder + file, std::ios::binary);
    std::string text{std::istreambuf_iterator<char>(in), {}};
    std::erase(text, '\\');  // of literals in C
    return text;
  };
  for (const auto& [asked, denormals] :
       {std::pair("", "zero"), {" --denormals zero", "zero"}, {" --denormals keep", "keep"}}) {
    SCOPED_TRACE(asked);
    const bool is_zero = std::string(denormals) == "zero";
    const std::string in_json = "\"denormals\":\"" + std::string(denormals) + "\"",
                      in_header = is_zero ? "are zeros to a call" : "are computed with";
    for (const std::string kind : {"obj", "c"}) {
      const std::string file = kind == "obj" ? "/mm.o" : "/mm.c";
      const Ran built = shell(tensorc + asked + " --emit " + kind + " -o " + folder + file);
      ASSERT_EQ(built.code, 0) << built.output;
      EXPECT_THAT(text_of(file), testing::HasSubstr(in_json)) << kind;
      EXPECT_THAT(text_of("/mm.h"), testing::HasSubstr("Denormal numbers ")) << kind;
      EXPECT_THAT(text_of("/mm.h"), testing::HasSubstr(in_header)) << kind;
    }
    EXPECT_EQ(text_of("/mm.c").find("hone_internal_zeroing_call") != std::string::npos, is_zero);
    EXPECT_EQ(shell(tensorc + asked + " --emit asm").output.find("msr\tFPCR") != std::string::npos, is_zero);
  }
}

// An artifact names the functions that it calls, for its own architecture, so that any program can load it.
TEST_F(ArtifactFile, ForAnotherArchitectureNeedsItsLibrariesOnlyWhereItCallsThem) {
  const bool on_x86 = std::filesystem::exists("/lib64/ld-linux-x86-64.so.2");
  const std::string other = on_x86 ? "aarch64-linux -mcpu=cortex-a72" : "x86_64-linux -mcpu=x86-64",
                    path = folder + "/k.so";
  const auto emit = [&](const std::string& task, const std::string& more) {
    return shell(kBin + "/tensorc --config default --emit so -o " + path + " --task " + task +
                 " --target 'llvm -mtriple=" + more);
  };
  const auto built = emit("elementwise --args op=exp,shape=1x8", other + "' --sysroot " + folder);
  EXPECT_EQ(built.code, 0) << "f32's exp calls nothing: " << built.output;
  std::filesystem::remove(path);
  const auto lacking = emit("elementwise --args op=exp,shape=1x8,dtype=f64", other + "' --sysroot " + folder);
  EXPECT_EQ(lacking.code, 2);
  EXPECT_THAT(lacking.output, testing::HasSubstr("the code calls exp of libm.so.6 for "));
  EXPECT_EQ(std::count(lacking.output.begin(), lacking.output.end(), '\n'), 2)
      << "which config, and the error: " << lacking.output;
  EXPECT_FALSE(std::filesystem::exists(path));
  if (!on_x86) return;
  const auto half = emit("dense --args m=4,n=16,k=16,dtype=f16", "x86_64-linux -mcpu=x86-64'");
  ASSERT_EQ(half.code, 0) << half.output;
  std::ifstream file(path, std::ios::binary);
  EXPECT_NE(std::string(std::istreambuf_iterator<char>(file), {}).find("libgcc_s.so.1"), std::string::npos)
      << "this processor converts f16 by calls";
}

// A GPU's artifact whose CPU code is another machine's.
TEST_F(ArtifactFile, OfAGpuIsForTheHostThatIsNamed) {
  const std::string path = folder + "/k.so";
  const auto emit = [&](const std::string& target, const std::string& host) {
    return shell(kBin + "/tensorc --task conv2d --args ci=4,h=8,w=8,co=4 --config default --emit so -o " + path +
                 " --target '" + target + "' --host '" + host + "'");
  };
  const auto machine_of = [&] {
    std::ifstream file(path, std::ios::binary);
    std::string head(20, '\0');
    file.read(head.data(), 20);
    return static_cast<int>(static_cast<unsigned char>(head[18]));
  };
  for (const std::string& gpu : {std::string("opencl -sms=8"), std::string("cuda -arch=sm_87 -sms=8")}) {
    const Ran arm = emit(gpu, "llvm -mtriple=aarch64-linux -mcpu=cortex-a78ae");
    ASSERT_EQ(arm.code, 0) << arm.output;
    EXPECT_EQ(machine_of(), 183);
    const Ran x86 = emit(gpu, "llvm -mtriple=x86_64-linux -mcpu=x86-64-v3");
    ASSERT_EQ(x86.code, 0) << x86.output;
    EXPECT_EQ(machine_of(), 62);
  }
  EXPECT_THAT(emit("llvm", "llvm").output, testing::HasSubstr("--host llvm: only an artifact for a GPU has a host"));
  EXPECT_THAT(emit("opencl -sms=8", "cuda").output, testing::HasSubstr("--host cuda: that is not a CPU"));
}

TEST(Tensorc, EmitsPtxByWhoeverKnowsTheArchitecture) {
  const Ran old =
      shell(kBin + "/tensorc --task dense --args m=4,n=32,k=8 --config default --emit ptx --target 'cuda -arch=sm_53'");
  EXPECT_EQ(old.code, 0) << old.output;
  EXPECT_THAT(old.output, testing::HasSubstr("ptx: by LLVM (no NVRTC here compiles for sm_53)\n"));
  EXPECT_THAT(old.output, testing::HasSubstr("\n.target sm_53\n"));
  const Ran later =
      shell(kBin + "/tensorc --task dense --args m=4,n=32,k=8 --config default --emit ptx --target 'cuda -arch=sm_90'");
  EXPECT_EQ(later.code, 0) << later.output;
  EXPECT_THAT(later.output, testing::HasSubstr("\n.target sm_90\n"));
  EXPECT_THAT(later.output, testing::HasSubstr(".entry hone_kernel_0_0("));
  const Ran none = shell(kBin + "/tensorc --task dense --config default --emit ptx --target 'opencl -sms=2'");
  EXPECT_EQ(none.code, 2);
  EXPECT_THAT(none.output,
              testing::EndsWith("tensorc: --emit ptx: for opencl there is ir, lowered, legalized, opencl, so\n"));
}

TEST(Tensorc, ShowsWhatPassesMake) {
  const std::string dense = kBin + "/tensorc --task dense --args m=4,n=32,k=8 --config default --emit ";
  const Ran lowered = shell(dense + "lowered"), legalized = shell(dense + "legalized");
  EXPECT_THAT(lowered.output, testing::HasSubstr("vectorize"));
  EXPECT_EQ(legalized.code, 0);
  EXPECT_THAT(legalized.output,
              testing::AllOf(testing::HasSubstr("ramp("), testing::Not(testing::HasSubstr("unroll"))));
  const Ran vectors = shell(dense + "legalized:after=vectorize_loops");
  EXPECT_THAT(vectors.output, testing::AllOf(testing::HasSubstr("ramp("), testing::HasSubstr("unroll")));
  EXPECT_NE(shell(dense + "legalized --disable roll_vectors --disable hoist_conditions").output, "");
  EXPECT_THAT(shell(dense + "lowered:after=lower_blocks").output, testing::Not(testing::HasSubstr("workspace")));

  const Ran unknown = shell(dense + "legalized:after=polish");
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.output, testing::EndsWith("there is no such pass; there are simplify, relayout_stack, "
                                                "simplify_layouts, roll_vectors, hoist_conditions, peel_borders, "
                                                "version_borders, vectorize_loops, unroll_loops, simplify_copies\n"));
  EXPECT_THAT(shell(dense + "legalized --disable unroll_loops").output,
              testing::EndsWith("tensorc: --disable unroll_loops: what follows relies on it\n"));
  EXPECT_THAT(shell(dense + "asm --disable simplify").output,
              testing::EndsWith("--disable and :after=PASS belong to --emit lowered and --emit legalized\n"));
}

TEST(Tensorc, ChecksAndTimesOnAnOpenclDevice) {
  const Ran ran = shell(kBin +
                        "/tensorc --task conv2d --args ci=8,h=9,w=9,co=16,epilogue=bias+relu --target opencl --config "
                        "default --check --bench --json");
  if (ran.code == 3) GTEST_SKIP() << ran.output;
  ASSERT_EQ(ran.code, 0) << ran.output;
  EXPECT_THAT(ran.output, testing::HasSubstr("check: 1296 elements agree with the reference"));
  const Json j = Json::parse(ran.output.substr(ran.output.find('{')));
  EXPECT_THAT(j["target"].get<std::string>(), testing::StartsWith("opencl -sms="));
  EXPECT_GT(j["time_ms"].get<double>(), 0);
  const Ran explained = shell(kBin + "/tensorc --task reduce --target opencl --config default --explain");
  EXPECT_EQ(explained.code, 0) << explained.output;
  for (const char* line : {"steps\n", "loop form\nmodule workers=", "\nhone_kernel_0_0\n  launch      ",
                           "\nintensity   ", "\ntime        "})
    EXPECT_THAT(explained.output, testing::HasSubstr(line));
  EXPECT_THAT(explained.output, testing::Not(testing::HasSubstr("not measured")));
  const Ran exact = shell(kBin + "/tensorc --task dense --args m=4,n=32,k=8 --target '" +
                          j["target"].get<std::string>() + "' --config default --check");
  EXPECT_EQ(exact.code, 0) << exact.output;
  const Ran larger = shell(
      kBin +
      "/tensorc --task dense --args m=4,n=32,k=8 --target 'opencl -sms=2 -shared=1048576K' --config default --check");
  EXPECT_EQ(larger.code, 3) << larger.output;
  EXPECT_THAT(larger.output,
              testing::HasSubstr("tensorc: cannot check, time or run it here: no device here runs 'opencl -sms=2 "
                                 "-shared=1048576K'; there is 'opencl -sms="));
}

// On a test machine with a GPU, which is not expected, the second would run.
TEST(Tensorc, SaysWhatIsMissingForAGpu) {
  const Ran ran = shell(kBin + "/tensorc --task dense --target cuda --config default --emit cuda");
  if (ran.code == 0) GTEST_SKIP() << "there is one";
  EXPECT_EQ(ran.code, 3);
  EXPECT_THAT(ran.output, testing::StartsWith("tensorc: --target cuda: no CUDA: "));
  EXPECT_THAT(ran.output, testing::EndsWith("; say for which: cuda -arch=sm_XX\n"));
  EXPECT_EQ(shell(kBin + "/tensorc --task dense --target 'cuda -arch=sm_90' --config default --bench").code, 3);
  const Ran explained = shell(kBin + "/tensorc --task dense --target 'cuda -arch=sm_90' --config default --explain");
  EXPECT_EQ(explained.code, 0) << explained.output;
  EXPECT_THAT(explained.output, testing::HasSubstr("\ntime        not measured: no CUDA: "));
}

TEST(Tensorc, ExplainsAConfig) {
  const TemporaryFolder folder;
  const std::string cache = "XDG_CACHE_HOME=" + folder.path() + " ";
  for (int run = 0; run < 2; ++run) {  // the second reads the roofline that the first has stored
    const Ran ran = shell(cache + kBin + "/tensorc --task dense --args m=32,n=64,k=48 --config default --explain");
    ASSERT_EQ(ran.code, 0) << ran.output;
    for (const char* line : {"steps\ncache_write(", "loop form\nmodule workers=", "  operations  197 kFLOP executed",
                             "  bytes       26.6 kB of parameters", "intensity", "vector registers; ", "roofline"})
      EXPECT_THAT(ran.output, testing::HasSubstr(line));
  }
  const Ran elsewhere = shell(kBin +
                              "/tensorc --task dense --args m=32,n=64,k=48 --config default --explain --target 'llvm "
                              "-mtriple=aarch64-linux -mcpu=cortex-a72 -threads=4'");
  EXPECT_EQ(elsewhere.code, 0) << elsewhere.output;
  EXPECT_THAT(elsewhere.output,
              testing::HasSubstr("time        not measured: this machine is not 'llvm -mtriple=aarch64-linux"));
}

TEST(Tensorc, AnswersBadInputWithOneLineAndItsCode) {
  struct Case {
    const char* args;
    int code;
    const char* line;
  };
  for (const Case& c :
       {Case{"--task conv3d", 2,
             "tensorc: unknown task 'conv3d'; did you mean conv2d? known: conv2d, depthwise_conv2d, dense, "
             "dense_nbits, batch_matmul, "
             "max_pool2d, "
             "avg_pool2d, elementwise, reduce, "},
        Case{"--args h=-3", 2, "tensorc: h=-3 is not a whole number from 1 to 16777216\n"},
        Case{"--args h=0", 2, "tensorc: h=0 is not a whole number from 1 to 16777216\n"},
        Case{"--args h=99999999999999999999", 2,
             "tensorc: h=99999999999999999999 is not a whole number from 1 to 16777216\n"},
        Case{"--args h=abc", 2, "tensorc: h=abc is not a whole number from 1 to 16777216\n"},
        Case{"--args h=16777216,w=16777216,ci=16777216", 2,
             "tensorc: tensor [1,16777216,16777218,16777218] has more than 2^48 elements\n"},
        Case{"--args kh=61", 2,
             "tensorc: conv2d: the kernel 61x3 (dilation 1x1) is larger than the padded input 58x58\n"},
        Case{"--args groups=5", 2, "tensorc: conv2d: groups=5 does not divide ci=64 and co=64\n"},
        Case{"--args colour=red", 2,
             "tensorc: conv2d: unknown attribute 'colour'; it has n, ci, h, w, co, kh, kw, stride, pad, dilation, "
             "groups, layout, dtype, epilogue, prologue, border, extremes\n"},
        Case{"--args h=3,h=4", 2, "tensorc: conv2d: attribute 'h' is given twice\n"},
        Case{"--target vulkan", 2, "tensorc: target kind 'vulkan' is unknown; allowed: llvm, cuda, opencl\n"},
        Case{"--args n=?", 2, "tensorc: n=?: unknown extents are not supported yet\n"},
        Case{"--config tile_ow=3", 2, "tensorc: config: knob 'tile_ow' has no choice '3'; the first of its"},
        Case{"--db /nonexistent/x.db", 5, "tensorc: "}, Case{"--wrong", 2, "tensorc: "}}) {
    const Ran ran = shell(kBin + "/tensorc " + c.args);
    EXPECT_EQ(ran.code, c.code) << c.args << ": " << ran.output;
    EXPECT_THAT(ran.output, testing::StartsWith(c.line)) << c.args;
    EXPECT_EQ(std::count(ran.output.begin(), ran.output.end(), '\n'), 1) << ran.output;
  }
}

}  // namespace
}  // namespace hone
