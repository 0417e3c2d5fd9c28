// libhone's C ABI: artifacts run, errors are reported, only its functions are visible, old callers go on.
#include <gmock/gmock.h>
#include <hone_compiler.h>
#include <signal.h>

#include <atomic>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/json.h"
#include "tests/e2e/api/handles.h"
#include "tests/e2e/artifact/shell.h"
#include "tests/fakes/pair_model.h"
#include "tests/fakes/temporary_folder.h"

namespace hone {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::StartsWith;

using Text = std::unique_ptr<char, void (*)(char*)>;

// The calls that a caller gets.
struct Heard {
  std::vector<std::string> lines;
  std::vector<std::string> doing;
  std::atomic<int> asked = 0;
  int stops_at = -1;  // the number of the question that is answered with 1; below 0: none

  HoneCall call() {
    return {sizeof(HoneCall), this,
            [](void* self, const char* line) { static_cast<Heard*>(self)->lines.emplace_back(line); },
            [](void* self, const HoneProgress* p) { static_cast<Heard*>(self)->doing.emplace_back(p->what); },
            [](void* self) -> int32_t {
              auto& heard = *static_cast<Heard*>(self);
              const int number = heard.asked++;
              return heard.stops_at >= 0 && number >= heard.stops_at;
            }};
  }
};

struct Library : testing::Test {
  const TemporaryFolder folder;
  Text output{nullptr, &hone_free_text};

  Library() { setenv("HONE_DB", path("hub.db").c_str(), 1); }

  std::string path(const std::string& name) const { return folder.path() + "/" + name; }
  template <class F>
  int32_t calling(const std::vector<const char*>& options, const F& f) {
    char* text = nullptr;
    const int32_t code = f(options.data(), static_cast<int32_t>(options.size()), &text);
    output = Text(text, &hone_free_text);
    return code;
  }
  int32_t compile(const std::vector<const char*>& options, const HoneCall* call = nullptr,
                  const std::string& artifact = "pair.so") {
    PairModel().write(path("pair.onnx"));
    return calling(options, [&](const char* const* words, int32_t n, char** text) {
      return hone_compile(path("pair.onnx").c_str(), path(artifact).c_str(), words, n, call, text);
    });
  }
  int32_t tune(const std::vector<const char*>& options, const HoneCall* call = nullptr) {
    return calling(options,
                   [&](const char* const* words, int32_t n, char** text) { return hone_tune(words, n, call, text); });
  }
  int32_t tophub(const std::vector<const char*>& words) {
    return calling(words, [](const char* const* w, int32_t n, char** text) { return hone_tophub(w, n, text); });
  }
};

TEST_F(Library, BuildsAndRunsAModel) {
  Heard heard;
  const HoneCall call = heard.call();
  ASSERT_EQ(compile({"--threads=1"}, &call), HONE_OK) << hone_last_error();
  EXPECT_THAT(heard.lines, Contains(StartsWith("wrote ")));
  EXPECT_THAT(heard.doing, Contains("compiling kernels"));
  EXPECT_GT(heard.asked, 0);
  const Json description = Json::parse(output.get());
  EXPECT_EQ(description["inputs"].size(), 3u);
  EXPECT_FALSE(description["layers"].empty());

  HoneModel* opened = nullptr;
  ASSERT_EQ(hone_open(path("pair.so").c_str(), &opened), HONE_OK) << hone_last_error();
  const Model model(opened);
  ASSERT_EQ(hone_input_count(opened), 3);
  ASSERT_EQ(hone_output_count(opened), 3);
  constexpr int64_t kM = PairModel::kM, kN = PairModel::kN, kK = PairModel::kK;
  std::vector<float> left(kM * kK, 2), right(kN * kK, 3), product(kM * kN), sum(kM * kN);
  std::vector<uint8_t> bytes(kM * kN, 7), same(kM * kN);
  std::vector<DLTensor> tensors;
  const auto tensor = [&](void* data, const HoneParam* p) {
    DLTensor t{};
    t.data = data, t.device = {kDLCPU, 0}, t.ndim = p->plain.ndim, t.dtype = p->plain.dtype;
    t.shape = const_cast<int64_t*>(p->plain.shape);
    tensors.push_back(t);
  };
  tensor(left.data(), hone_input(opened, 0)), tensor(right.data(), hone_input(opened, 1));
  tensor(bytes.data(), hone_input(opened, 2));
  tensor(product.data(), hone_output(opened, 0)), tensor(sum.data(), hone_output(opened, 1));
  tensor(same.data(), hone_output(opened, 2));
  const DLTensor* in[] = {&tensors[0], &tensors[1], &tensors[2]};
  const DLTensor* out[] = {&tensors[3], &tensors[4], &tensors[5]};
  ASSERT_EQ(hone_run(opened, in, 3, out, 3, nullptr), HONE_OK) << hone_last_error();
  EXPECT_THAT(product, testing::Each(2 * 3 * kK));
  EXPECT_THAT(sum, testing::Each(2 * 3 * kK + 7));
  EXPECT_EQ(same, bytes);
}

TEST_F(Library, SaysWhatIsWrong) {
  EXPECT_EQ(compile({"--no-such-flag"}), HONE_BAD_INPUT);
  EXPECT_THAT(hone_last_error(), HasSubstr("--no-such-flag"));
  EXPECT_EQ(output, nullptr);
  EXPECT_EQ(compile({"--threads=1", "--threads=2"}), HONE_BAD_INPUT);
  EXPECT_THAT(hone_last_error(), HasSubstr("twice with different values"));
  EXPECT_EQ(compile({"--target=cuda -arch=sm_1"}), HONE_BAD_INPUT);
  EXPECT_THAT(hone_last_error(), HasSubstr("sm_1"));
  EXPECT_EQ(compile({}, nullptr, "no/such/folder.so"), HONE_BAD_INPUT);
  EXPECT_THAT(hone_last_error(), HasSubstr("no/such"));
  const std::string long_path = "--inputs=" + std::string(70000, '/') + std::string(300, 'n');
  EXPECT_EQ(compile({"--threads=1", long_path.c_str()}), HONE_BAD_INPUT);
  EXPECT_EQ(tune({"--task=abacus"}), HONE_BAD_INPUT);
  EXPECT_THAT(hone_last_error(), HasSubstr("abacus"));
  EXPECT_EQ(tune({"--task=dense", "--trials=1", "--target=cuda"}), HONE_NO_DEVICE);
  EXPECT_EQ(tophub({"list", "--db", "/no/such/hub.db"}), HONE_BAD_DATABASE);
  EXPECT_THAT(hone_last_error(), HasSubstr("/no/such/hub.db"));
  EXPECT_EQ(tophub({"sing"}), HONE_BAD_INPUT);
  EXPECT_EQ(tophub({}), HONE_BAD_INPUT);
  EXPECT_THAT(hone_last_error(), HasSubstr("best, list"));
  // Nothing is read from the program's own input.
  EXPECT_NE(tophub({"import", "-"}), HONE_INTERNAL);
}

TEST_F(Library, OptionsMayBeJson) {
  ASSERT_EQ(compile({R"({"threads": [1, 2], "assume_finite": true})"}), HONE_OK) << hone_last_error();
  EXPECT_THAT(output.get(), HasSubstr("2 threads"));
  for (const auto& [options, wrong] :
       {std::pair(R"({"threads": [2, 2]})", "threads: 2 is there twice"),
        std::pair(R"({"threads": 1.5})", "threads: 1.5 is not a whole number"),
        std::pair(R"({"bind": {"n": []}})", "bind[\"n\"] is empty"),
        std::pair(R"({"bind": 3})", "bind: 3 is not an object"),
        std::pair(R"({"shapes": {"x": 3}})", "shapes[\"x\"]: 3 is not a shape"),
        std::pair(R"({"cache": {"past": 0}})", "cache[\"past\"]: 0 is not a whole number"),
        std::pair(R"({"formats": {"x": "\u001b[31m"}})", "is neither a type"),
        std::pair(R"({"db": "a\u0000b"})", "there is a NUL behind 'a'"),
        std::pair(R"({"thread": 1})", "did you mean threads?"), std::pair(R"({"threads")", "not a JSON object")}) {
    EXPECT_EQ(compile({options}), HONE_BAD_INPUT) << options;
    EXPECT_THAT(hone_last_error(), HasSubstr(wrong)) << options;
    EXPECT_THAT(hone_last_error(), testing::Not(HasSubstr("\x1b"))) << options;
  }
}

TEST_F(Library, PointersThatAreNullAreSaid) {
  const char* const null_word[] = {nullptr};
  char before = 0;
  char* text = &before;
  EXPECT_EQ(hone_compile(nullptr, "a.so", nullptr, 0, nullptr, &text), HONE_BAD_INPUT);
  EXPECT_EQ(text, nullptr);
  text = &before;
  EXPECT_EQ(hone_compile_operator("", "a.so", nullptr, 0, nullptr, &text), HONE_BAD_INPUT);
  EXPECT_EQ(text, nullptr);
  EXPECT_EQ(hone_compile("m.onnx", nullptr, nullptr, 0, nullptr, &text), HONE_BAD_INPUT);
  EXPECT_EQ(hone_compile("m.onnx", "", nullptr, 0, nullptr, &text), HONE_BAD_INPUT);
  EXPECT_EQ(hone_compile_operator(nullptr, "a.so", nullptr, 0, nullptr, &text), HONE_BAD_INPUT);
  EXPECT_EQ(hone_tune(nullptr, 1, nullptr, &text), HONE_BAD_INPUT);
  EXPECT_THAT(hone_last_error(), HasSubstr("no list"));
  EXPECT_EQ(hone_tune(nullptr, -1, nullptr, &text), HONE_BAD_INPUT);
  EXPECT_EQ(hone_tune(null_word, 1, nullptr, &text), HONE_BAD_INPUT);
  EXPECT_THAT(hone_last_error(), HasSubstr("option 0 is null"));
  EXPECT_EQ(hone_tophub(null_word, 1, nullptr), HONE_BAD_INPUT);
  EXPECT_EQ(text, nullptr);
  hone_free_text(nullptr);
  const char* const help[] = {"--help"};
  EXPECT_EQ(hone_tune(help, 1, nullptr, &text), HONE_OK);
  output = Text(text, &hone_free_text);
  EXPECT_THAT(text, HasSubstr("--trials"));
  EXPECT_EQ(hone_tune(help, 1, nullptr, nullptr), HONE_OK);
}

// Compiled when HoneCall ended with `line`: the memory behind it is not part of the caller's struct.
TEST_F(Library, OldCallersAreHeardAsFarAsTheyGo) {
  Heard heard;
  HoneCall call = heard.call();
  call.size = offsetof(HoneCall, progress);
  memset(&call.progress, 0x5a, sizeof call - offsetof(HoneCall, progress));
  ASSERT_EQ(compile({"--threads=1"}, &call), HONE_OK) << hone_last_error();
  EXPECT_THAT(heard.lines, Contains(StartsWith("wrote ")));
  EXPECT_THAT(heard.doing, testing::IsEmpty());
  // A size that ends within a function.
  call.size = offsetof(HoneCall, progress) + 3;
  EXPECT_EQ(compile({"--threads=1"}, &call), HONE_OK) << hone_last_error();
  // A later one's struct is longer.
  struct {
    HoneCall call;
    void* later = reinterpret_cast<void*>(0x5a5a);
  } longer{heard.call()};
  longer.call.size = sizeof longer;
  EXPECT_EQ(compile({"--threads=1"}, &longer.call), HONE_OK) << hone_last_error();
  EXPECT_EQ(hone_compiler_version(), HONE_COMPILER_VERSION);
  EXPECT_THAT(hone_version(), testing::ContainsRegex("[0-9]+\\.[0-9]+\\.[0-9]+"));
}

TEST_F(Library, WritesWhereItIsAskedTo) {
  for (const std::string& word : {"-o" + path("other.so"), "-o=" + path("other.so")})
    EXPECT_EQ(compile({"--threads=1", word.c_str()}), HONE_BAD_INPUT) << word;
  EXPECT_EQ(compile({"--threads=1", "-o", path("other.so").c_str()}), HONE_BAD_INPUT);
  EXPECT_THAT(hone_last_error(), HasSubstr("twice with different values"));
  EXPECT_FALSE(std::filesystem::exists(path("other.so")));
  EXPECT_EQ(compile({"--threads=1", "-o", path("pair.so").c_str()}), HONE_OK) << hone_last_error();
}

TEST_F(Library, ErrorsAreTextThatCanBeShown) {
  HoneModel* none = nullptr;
  EXPECT_EQ(hone_open("no\nsuch\x1b[2J\xff\xc2\x9b\xc3\xa4.so", &none), HONE_NOT_FOUND);
  EXPECT_THAT(hone_last_error(), StartsWith("'no such [2J?  \xc3\xa4.so' "));
  EXPECT_EQ(tophub({"two\nlines"}), HONE_BAD_INPUT);
  EXPECT_THAT(hone_last_error(), testing::Not(HasSubstr("\n")));
  // Cut wherever it is too long, but not within a character.
  std::string smiles;
  for (int i = 0; i < 2000; ++i) smiles += "\xf0\x9f\x98\x80";
  EXPECT_EQ(tophub({smiles.c_str()}), HONE_BAD_INPUT);
  EXPECT_THAT(std::string(hone_last_error()), testing::EndsWith("\xf0\x9f\x98\x80… (--help shows what is allowed)"));
}

TEST_F(Library, ABuildThatIsStoppedWritesNothing) {
  Heard heard;
  heard.stops_at = 1;
  const HoneCall call = heard.call();
  EXPECT_EQ(compile({"--threads=1"}, &call), HONE_STOPPED);
  EXPECT_THAT(hone_last_error(), HasSubstr("stopped"));
  EXPECT_FALSE(std::filesystem::exists(path("pair.so")));
}

TEST_F(Library, TunesAndFinds) {
  const char* const workload = "--workload=dense(m=32,n=64,k=64)";
  Heard heard;
  HoneCall call = heard.call();
  ASSERT_EQ(tune({workload, "--trials=6", "--threads=1"}, &call), HONE_OK) << hone_last_error();
  const Json outcome = Json::parse(output.get());
  EXPECT_EQ(outcome["trials"], 6);
  EXPECT_THAT(heard.doing, Contains("measuring"));
  ASSERT_EQ(tophub({"best", workload, ("--target=" + outcome["target"].get<std::string>()).c_str(), "--json"}), HONE_OK)
      << hone_last_error();
  const std::string config = Json::parse(output.get())["config"];
  for (const auto& [knob, choice] : outcome["best"]["config"].items())
    EXPECT_THAT("," + config + ",", HasSubstr("," + knob + "=" + choice.dump() + ","));
  // A search that is stopped keeps its results, and names them.
  heard.stops_at = heard.asked + 40;
  EXPECT_EQ(tune({workload, "--trials=1000000", "--threads=1", "--fresh"}, &call), HONE_STOPPED);
  EXPECT_THAT(hone_last_error(), HasSubstr("are kept"));
  EXPECT_NE(output, nullptr);
}

// The shipped package of a GPU that is not here.
TEST_F(Library, FindsWhatShipsForAGpu) {
  for (const auto& [sms, step] : std::vector<std::pair<int, std::string>>{{132, "exact"}, {114, "other target"}}) {
    const std::string target = "--target=cuda -arch=sm_90 -sms=" + std::to_string(sms);
    ASSERT_EQ(tophub({"best", "--task=dense", "--args=m=128,n=768,k=768,dtype=f16", target.c_str(), "--json"}), HONE_OK)
        << hone_last_error();
    const Json best = Json::parse(output.get());
    EXPECT_EQ(best["step"], step) << best;
    EXPECT_EQ(best["target"], "cuda -arch=sm_90 -sms=132");
  }
}

TEST_F(Library, ManyThreadsCallAtOnce) {
  PairModel().write(path("pair.onnx"));
  std::vector<std::thread> threads;
  std::atomic<int> built = 0, told = 0;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {
      const std::string artifact = path("pair" + std::to_string(i) + ".so");
      const char* const options[] = {"--threads=1"};
      built += hone_compile(path("pair.onnx").c_str(), artifact.c_str(), options, 1, nullptr, nullptr) == HONE_OK;
      const std::string word = "--unknown" + std::to_string(i);
      const char* const words[] = {word.c_str()};
      EXPECT_EQ(hone_tune(words, 1, nullptr, nullptr), HONE_BAD_INPUT);
      told += std::string(hone_last_error()).find(word) != std::string::npos;
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(built, 4);
  EXPECT_EQ(told, 4);
}

TEST_F(Library, TheProgramsSignalsAreItsOwn) {
  sigset_t before, after;
  sigemptyset(&before), sigemptyset(&after);
  pthread_sigmask(SIG_SETMASK, nullptr, &before);
  struct sigaction pipe_before {
  }, pipe_after{};
  sigaction(SIGPIPE, nullptr, &pipe_before);
  ASSERT_EQ(tune({"--workload=dense(m=8,n=8,k=8)", "--trials=1", "--threads=1"}), HONE_OK) << hone_last_error();
  pthread_sigmask(SIG_SETMASK, nullptr, &after);
  sigaction(SIGPIPE, nullptr, &pipe_after);
  for (int number = 1; number < SIGRTMIN; ++number)
    EXPECT_EQ(sigismember(&before, number), sigismember(&after, number)) << number;
  EXPECT_EQ(pipe_before.sa_handler, pipe_after.sa_handler);
}

TEST_F(Library, ExportsItsFunctionsAlone) {
  const Ran ran = shell("nm -D --defined-only --format=posix " + kBin + "/../lib/libhone.so | cut -d' ' -f1");
  ASSERT_EQ(ran.code, 0) << ran.output;
  std::istringstream names(ran.output);
  size_t functions = 0;
  for (std::string name; std::getline(names, name);) {
    if (name.starts_with("HONE_1")) continue;
    EXPECT_THAT(name, StartsWith("hone_"));
    ++functions;
  }
  EXPECT_GT(functions, 25u);
}

// Words as anybody may hand them over: known flags with strange values, flags that there are not, bytes.
TEST_F(Library, StrangeWordsAreRefusedOrDone) {
  PairModel().write(path("pair.onnx"));
  std::mt19937 random(7);
  const auto below = [&](size_t n) { return std::uniform_int_distribution<size_t>(0, n - 1)(random); };
  const std::vector<std::string> names = {"--bind",   "--shape",   "--input", "--cache",   "--threads",  "--target",
                                          "--config", "--disable", "--emit",  "--sysroot", "--range",    "--keep",
                                          "--json",   "--explain", "--task",  "--args",    "--quantize", "-x"};
  const std::vector<std::string> values = {"",
                                           "=",
                                           "left=6x4",
                                           "left=0x4",
                                           "left=-1",
                                           "bytes=u8:NHWC,scale=0",
                                           "x=1|2|2",
                                           "18446744073709551616",
                                           "-1",
                                           "1e999",
                                           "nan",
                                           "llvm",
                                           "llvm -mcpu=znver4 -threads=0",
                                           "graph:after=none",
                                           "obj",
                                           "\xff\xfe",
                                           "\x1b[2J",
                                           "%s%n",
                                           "left=f32,mean=1e300",
                                           std::string(5000, 'a'),
                                           "int8",
                                           "default"};
  for (int turn = 0; turn < 100; ++turn) {
    std::vector<std::string> words;
    for (size_t i = 0, n = below(4); i < n; ++i) {
      std::string word = names[below(names.size())];
      if (below(4) > 0) word += "=" + values[below(values.size())];
      words.push_back(word);
    }
    std::vector<const char*> pointers;
    for (const std::string& w : words) pointers.push_back(w.c_str());
    char* text = nullptr;
    const int32_t code = hone_compile(path("pair.onnx").c_str(), path("m.so").c_str(), pointers.data(),
                                      static_cast<int32_t>(pointers.size()), nullptr, &text);
    output = Text(text, &hone_free_text);
    const std::string told = testing::PrintToString(words);
    EXPECT_NE(code, HONE_INTERNAL) << told << hone_last_error();
    EXPECT_EQ(code == HONE_OK, text != nullptr) << told;
    if (code == HONE_OK) continue;
    EXPECT_STRNE(hone_last_error(), "") << told;
    EXPECT_THAT(hone_last_error(), testing::Not(HasSubstr("\x1b"))) << told;
  }
}

}  // namespace
}  // namespace hone
