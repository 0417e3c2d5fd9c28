#include "tests/fuzz/library/building.h"

#include <hone_compiler.h>

#include <atomic>
#include <cstddef>
#include <cstring>
#include <filesystem>

#include "tests/fuzz/library/odd_text.h"
#include "tests/fuzz/library/trace.h"

namespace hone::fuzz {
namespace {

// The calls that a caller gets, checked against the header.
struct Heard {
  explicit Heard(std::mt19937_64& rng) {
    stops_at = rng() % 3 == 0 ? static_cast<int>(rng() % 4) : 1000;
    answer = static_cast<int32_t>(1 + rng() % 2);
    calls_back = rng() % 4 == 0;
  }
  std::string stopped_text() const { return "stops at " + std::to_string(stops_at); }

  // At most one at a time, and only during the call.
  struct Turn {
    explicit Turn(Heard& h) : heard(h) {
      if (heard.inside.exchange(true)) heard.say("two functions are called at once");
      if (heard.is_over) heard.say("a function is called after the call");
    }
    ~Turn() { heard.inside = false; }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    Heard& heard;
  };
  void say(const std::string& what) {
    if (wrong.empty()) wrong = what;
  }
  void call_library() {
    if (!calls_back) return;
    const char* const words[] = {"sing"};
    char* text = nullptr;
    if (hone_tophub(words, 1, &text) != HONE_BAD_INPUT || text) say("a call within the call went otherwise");
  }

  static void line(void* self, const char* text) {
    auto& h = *static_cast<Heard*>(self);
    const Turn turn(h);
    if (const std::string w = wrong_with_text(text, false); !w.empty()) h.say("a line has " + w + ": " + quoted(text));
    if (std::strchr(text, '\n')) h.say("a line has several lines");
    h.call_library();
  }
  static void progress(void* self, const HoneProgress* p) {
    auto& h = *static_cast<Heard*>(self);
    const Turn turn(h);
    if (p->size != sizeof *p || !p->what || wrong_with_text(p->what, false) != "" || p->done > p->all)
      h.say("progress is odd");
    h.call_library();
  }
  static int32_t stops(void* self) {
    auto& h = *static_cast<Heard*>(self);
    const Turn turn(h);
    h.call_library();
    return h.asked++ >= h.stops_at ? h.answer : 0;
  }

  int stops_at, asked = 0;
  int32_t answer;
  bool calls_back;
  std::atomic<bool> inside = false, is_over = false;
  std::string wrong;
};

// A struct of any size. The memory behind its `size` cannot be read.
class Call {
 public:
  Call(Heard* heard, std::mt19937_64& rng) {
    HoneCall call = {sizeof call, heard, nullptr, nullptr, nullptr};
    if (rng() % 4) call.line = &Heard::line;
    if (rng() % 4) call.progress = &Heard::progress;
    if (rng() % 4) call.stops = &Heard::stops;
    switch (rng() % 8) {
      case 0: size_ = rng() % sizeof call; break;
      case 1: size_ = sizeof call + rng() % 64; break;
      case 2: size_ = offsetof(HoneCall, progress); break;
      case 3: is_null_ = rng() % 2; break;
      default: break;
    }
    // Exactly as long as it says, for AddressSanitizer.
    memory_ = std::make_unique<std::byte[]>(std::max(size_, sizeof call.size));
    std::memset(memory_.get(), 0x5a, std::max(size_, sizeof call.size));
    std::memcpy(memory_.get(), &call, std::min(std::max(size_, sizeof call.size), sizeof call));
    std::memcpy(memory_.get(), &size_, sizeof size_);
    if (rng() % 64 == 0) {
      // Larger than any struct; the members that are read are there.
      huge_ = call;
      huge_.size = SIZE_MAX - rng() % 2;
      is_huge_ = true;
    }
  }
  const HoneCall* get() const {
    return is_null_ ? nullptr : is_huge_ ? &huge_ : reinterpret_cast<const HoneCall*>(memory_.get());
  }
  std::string text() const { return is_null_ ? "null" : "size " + std::to_string(is_huge_ ? huge_.size : size_); }

 private:
  size_t size_ = sizeof(HoneCall);
  bool is_null_ = false, is_huge_ = false;
  HoneCall huge_{};
  std::unique_ptr<std::byte[]> memory_;
};

// A list of words, which may have nulls in it or a wrong length.
struct Words {
  Words(std::vector<std::string> given, std::mt19937_64& rng) : texts(std::move(given)) {
    for (const std::string& t : texts) pointers.push_back(t.c_str());
    count = static_cast<int32_t>(pointers.size());
    if (rng() % 32 == 0)
      pointers.insert(pointers.begin() + static_cast<std::ptrdiff_t>(rng() % (pointers.size() + 1)), nullptr);
    if (rng() % 32 == 0) count = static_cast<int32_t>(rng() % 2 ? -1 : INT32_MIN);
    if (rng() % 32 == 0) is_null = true;
  }
  const char* const* get() const { return is_null ? nullptr : pointers.data(); }
  std::string text() const {
    std::string out = is_null ? "null [" : "[";
    for (const char* p : pointers) out += quoted(p) + ", ";
    return out + "] " + std::to_string(count);
  }

  std::vector<std::string> texts;
  std::vector<const char*> pointers;
  int32_t count;
  bool is_null = false;
};

bool is_documented(int32_t code) {
  switch (code) {
    case HONE_OK:
    case HONE_NO_MEMORY:
    case HONE_BAD_INPUT:
    case HONE_NO_DEVICE:
    case HONE_ALL_FAILED:
    case HONE_BAD_DATABASE:
    case HONE_STOPPED: return true;
    default: return false;  // HONE_INTERNAL among them: a bug
  }
}

std::string wrong_with_end(int32_t code, const char* output, bool is_asked) {
  const std::string told = " (" + std::to_string(code) + ": " + quoted(hone_last_error()) + ")";
  if (!is_documented(code)) return "it returned " + told;
  if (is_asked && (code == HONE_OK) != (output != nullptr) && code != HONE_STOPPED)
    return "the output is not as the code says" + told;
  if (output)
    if (const std::string w = wrong_with_text(output, true); !w.empty())
      return "the output has " + w + ": " + quoted(output);
  if (code == HONE_OK) return "";
  if (*hone_last_error() == '\0') return "it says nothing" + told;
  if (const std::string w = wrong_with_text(hone_last_error(), false); !w.empty()) return "the error has " + w + told;
  return "";
}

std::string some_workload(std::mt19937_64& rng) {
  static constexpr const char* kTexts[] = {"dense(m=2,n=3,k=4)", "dense(m=2,n=3)", "dense(m=2,n=3,k=4", "pool2d()",
                                           "dense(m=9223372036854775807,n=9223372036854775807,k=2)"};
  return rng() % 2 ? kTexts[rng() % std::size(kTexts)] : odd_text(rng);
}

// Options that are used while files and databases are good.
std::vector<std::string> whole_options(uint64_t function, std::mt19937_64& rng) {
  if (function < 2) return {"--threads=1"};
  if (function == 2) return {"--workload=dense(m=2,n=3,k=4)", "--threads=1"};
  static const std::vector<std::vector<std::string>> kCommands = {{"list"},
                                                                  {"list", "--json"},
                                                                  {"stats"},
                                                                  {"check"},
                                                                  {"check", "--repair"},
                                                                  {"train"},
                                                                  {"export", "-"},
                                                                  {"best", "--workload=dense(m=2,n=3,k=4)", "--json"},
                                                                  {"best", "--task=dense"}};
  return kCommands[rng() % kCommands.size()];
}

}  // namespace

std::string call_compiler(const Files& files, std::mt19937_64& rng) {
  Heard heard(rng);
  const Call call(&heard, rng);
  const uint64_t which = rng() % 8;
  const char* const program = which < 4 ? "tensorc" : which < 6 ? "tuner" : "tophub";
  const TemporaryFolder own;
  const std::string& folder = own.path();
  std::vector<std::string> options = odd_options(program, files, folder, rng);
  // A whole one now and then: the rest is refused before anything is built or measured.
  const bool is_whole = which < 4 ? rng() % 24 == 0 : which < 6 ? rng() % 128 == 0 : rng() % 2 == 0;
  if (is_whole) options = whole_options(which / 2, rng);
  // No search goes on for long.
  if (which == 4 || which == 5) options.insert(options.begin(), {"--trials=1", "--seconds=1", "--timeout=1"});
  if (which >= 6 && rng() % 4) options.push_back("--db=" + files.some_database(rng));
  const Words words(options, rng);
  const bool has_model = rng() % 32 != 0, has_artifact = rng() % 32 != 0, is_asked = rng() % 8 != 0;
  const std::string artifact = is_whole || rng() % 2 ? folder + "/m.so"
                               : rng() % 2           ? files.path("no/such/m.so")
                                                     : files.path("folder");
  const std::string model = which >= 2                   ? some_workload(rng)
                            : is_whole || rng() % 3 == 0 ? files.changed_model(folder, rng)
                                                         : files.some_model(rng);
  const char* const from = has_model ? model.c_str() : nullptr;
  const char* const to = has_artifact ? artifact.c_str() : nullptr;
  char untouched;
  char* text = &untouched;
  char** const output = is_asked ? &text : nullptr;
  const char* const names[] = {"hone_compile", "hone_compile_operator", "hone_tune", "hone_tophub"};
  trace(std::string(names[which / 2]) + "(" + (which < 4 ? quoted(from) + ", " + quoted(to) + ", " : "") +
        words.text() + ", call " + call.text() + ", " + heard.stopped_text() + (is_asked ? "" : ", no output") + ")");
  int32_t code = 0;
  switch (which / 2) {
    case 0: code = hone_compile(from, to, words.get(), words.count, call.get(), output); break;
    case 1: code = hone_compile_operator(from, to, words.get(), words.count, call.get(), output); break;
    case 2: code = hone_tune(words.get(), words.count, call.get(), output); break;
    default: code = hone_tophub(words.get(), words.count, output); break;
  }
  trace_end(code);
  heard.is_over = true;
  if (is_asked && text == &untouched) return "the output is as it was (" + std::to_string(code) + ")";
  std::string wrong = wrong_with_end(code, is_asked ? text : nullptr, is_asked);
  if (is_asked) hone_free_text(text);
  if (wrong.empty()) wrong = heard.wrong;
  if (wrong.empty() && code != HONE_OK && std::filesystem::exists(folder + "/m.so")) wrong = "what failed has written";
  return wrong;
}

}  // namespace hone::fuzz
