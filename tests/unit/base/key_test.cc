#include "base/key.h"

#include <gmock/gmock.h>

#include <random>

namespace hone {
namespace {

using testing::HasSubstr;

constexpr char kHash[] = "0123456789abcdef0123456789abcdef";

template <class Key>
std::string refusal_in_key(const StatusOr<Key>& key) {
  return key.ok() ? "accepted" : message_of(key.status());
}
std::string workload_refusal(std::string_view text) { return refusal_in_key(parse_workload_key(text)); }
std::string config_refusal(std::string_view text) { return refusal_in_key(parse_config_key(text)); }
std::string target_refusal(std::string_view text) { return refusal_in_key(parse_target_key(text)); }

// Keys of the whole grammar, drawn at random in canonical form.
class Draw {
 public:
  explicit Draw(uint64_t seed) : rng_(seed) {}

  WorkloadKey workload() {
    WorkloadKey key{name(), {}};
    if (below(4) == 0)
      key = {"op", {{"name", {name("n_")}}, {"def", {hash()}}}};
    else if (key.name == "op")
      key.name = "op2";
    const size_t count = below(6);
    for (size_t i = 0; i < count; ++i) key.attributes.push_back({name("a" + std::to_string(i)), value()});
    return key;
  }
  ConfigKey config() {
    switch (below(3)) {
      case 0: return knobs();
      case 1: return TextConfig{hash(), knobs()};
      default: return VendorConfig{name(), std::to_string(below(20)) + ".4-rc+1", knobs()};
    }
  }
  TargetKey target() {
    TargetKey key{name(), knobs()};
    for (auto& [flag, value] : key.flags)
      flag = "-" + flag, value += value.empty() ? "on" : below(2) ? ",-avx512f" : "";
    return key;
  }

 private:
  size_t below(size_t n) { return rng_() % n; }
  std::string name(std::string text = "n") {
    for (size_t i = below(5); i > 0; --i) text += "abz_09"[below(6)];
    return text;
  }
  std::string hash() { return key_hash(std::to_string(below(1000))); }
  int64_t number() {
    const auto n = static_cast<int64_t>(rng_() >> 1);
    return below(8) == 0 ? INT64_MAX - static_cast<int64_t>(below(2)) : n >> below(63);
  }
  KeyItem item() {
    static constexpr const char* kTexts[] = {"f32",          "bias+relu",  "-0.75", "007", "NCHW16c",
                                             "mul[c;0.5:1]", "x=s+mul[s]", "3x",    "?",   "99999999999999999999"};
    if (below(2)) return std::string(kTexts[below(std::size(kTexts))]);
    KeyExtents extents(1 + below(4));
    for (auto& [least, most] : extents) {
      least = number(), most = below(2) ? least : number();
      if (least > most) std::swap(least, most);
    }
    return extents;
  }
  KeyValue value() {
    KeyValue items(1 + below(4));
    for (KeyItem& i : items) i = item();
    return items;
  }
  KeyKnobs knobs() {
    KeyKnobs out(below(5));
    for (size_t i = 0; i < out.size(); ++i)
      out[i] = {name("k" + std::to_string(i)), below(8) ? to_string(value()) : ""};
    return out;
  }

  std::mt19937_64 rng_;
};

// The text, with blanks where the grammar has them.
std::string spaced(const std::string& text) {
  std::string out = " ";
  for (const char c : text) out += c == ',' || c == '(' || c == ')' ? std::string("\t") + c + " " : std::string(1, c);
  return out;
}

TEST(Key, ReadsWhatItPrints) {
  Draw draw(1);
  for (int i = 0; i < 5000; ++i) {
    const WorkloadKey workload = draw.workload();
    EXPECT_EQ(*parse_workload_key(to_string(workload)), workload) << to_string(workload);
    EXPECT_EQ(*parse_workload_key(spaced(to_string(workload))), workload) << to_string(workload);
    const ConfigKey config = draw.config();
    EXPECT_EQ(*parse_config_key(to_string(config)), config) << to_string(config);
    EXPECT_EQ(*parse_config_key(spaced(to_string(config))), config) << to_string(config);
    const TargetKey target = draw.target();
    EXPECT_EQ(*parse_target_key(to_string(target)), target) << to_string(target);
  }
}

TEST(Key, PrintsCanonicalTextsAsTheyAre) {
  for (const std::string text :
       {"max_pool2d()", "dense(m=128,n=768,k=768,dtype=f32,epilogue=none)",
        "dense(m=1..512,n=768,k=768,dtype=bf16:bf16:f32:f32,epilogue=bias+relu,math=bf16x3)",
        "elementwise(op=mul,shape=1..8x64x56x56,operands=1x64x1x1:1..8x64x56x56)",
        "op(name=my_norm,def=0123456789abcdef0123456789abcdef,rows=1..4096,cols=768,dtype=f32)",
        "resize(shape=1x8,size=1x16,scales=1/1:2/1,cubic_coeff_a=-0.75)",
        "conv2d(pad=0:0:1:1,epilogue=bias+x=s+sigmoid+mul[s]+add[1e-05]:f32,layout=NCHW8c:16c)"})
    EXPECT_EQ(to_string(*parse_workload_key(text)), text);
  for (const std::string text : {"", "tile_m=8,tile_n=4x16", "text(0123456789abcdef0123456789abcdef)",
                                 "text(0123456789abcdef0123456789abcdef,threads=128)", "vendor(cublas,12.4.5)",
                                 "vendor(cublaslt,12.4.5,algorithm=21)"})
    EXPECT_EQ(to_string(*parse_config_key(text)), text);
  for (const std::string text : {"llvm", "cuda -arch=sm_90 -sms=132",
                                 "llvm -mtriple=x86_64-linux -mcpu=znver5 -mattr=+avx512f,-prefetchi -l2=1024K"})
    EXPECT_EQ(to_string(*parse_target_key(text)), text);
}

TEST(Key, SaysWhatItsPartsAre) {
  const WorkloadKey key = *parse_workload_key(" dense( m = 1..512 ,n=7..7,dtype=bf16:f32,k=007 ) ");
  EXPECT_EQ(key.name, "dense");
  EXPECT_EQ(key.attributes, (std::vector<KeyAttribute>{{"m", {KeyExtents{{1, 512}}}},
                                                       {"n", {KeyExtents{{7, 7}}}},
                                                       {"dtype", {std::string("bf16"), std::string("f32")}},
                                                       {"k", {std::string("007")}}}));
  EXPECT_TRUE(has_range(key.attributes[0].value));
  EXPECT_FALSE(has_range(key.attributes[1].value));
  EXPECT_EQ(to_string(key), "dense(m=1..512,n=7,dtype=bf16:f32,k=007)");
  EXPECT_EQ(space_of(*parse_config_key("")), SpaceKind::kTemplate);
  EXPECT_EQ(space_of(*parse_config_key(std::string("text(") + kHash + ")")), *parse_space_key("text"));
  EXPECT_EQ(space_of(*parse_config_key("vendor(cudnn,9.1)")), *parse_space_key("vendor"));
  EXPECT_EQ(*parse_space_key(kHash), SpaceKind::kTemplate);
  EXPECT_EQ(workload_name("op(name=a"), "op");
  EXPECT_EQ(target_kind("cuda -arch=sm_90"), "cuda");
  EXPECT_TRUE(is_key_hash(key_hash("a kernel")));
}

TEST(Key, NumbersEndAtTwoToThe63) {
  const auto value = [](const std::string& text) {
    return parse_workload_key("w(m=" + text + ")")->attributes[0].value;
  };
  EXPECT_EQ(value("9223372036854775807"), (KeyValue{KeyExtents{{INT64_MAX, INT64_MAX}}}));
  EXPECT_EQ(value("0..9223372036854775807"), (KeyValue{KeyExtents{{0, INT64_MAX}}}));
  EXPECT_EQ(value("9223372036854775808"), (KeyValue{std::string("9223372036854775808")})) << "the attribute refuses it";
  EXPECT_THAT(workload_refusal("w(m=1..9223372036854775808)"), HasSubstr("up to 2^63 - 1"));
}

TEST(Key, RefusesInOneLine) {
  EXPECT_EQ(workload_refusal("conv2d"), "workload 'conv2d' is not of the form task(attribute=value,...)");
  EXPECT_EQ(workload_refusal("w(m=1"), "workload 'w(m=1' is not of the form task(attribute=value,...)");
  EXPECT_EQ(workload_refusal("2d(m=1)"), "workload '2d': a task's name is letters, digits and _, no digit first");
  EXPECT_EQ(workload_refusal("w(3)"), "w: '3' is not of the form attribute=value");
  EXPECT_EQ(workload_refusal("w(m=1,)"), "w: '' is not of the form attribute=value");
  EXPECT_EQ(workload_refusal("w(m)"), "w: attribute 'm' has no value");
  EXPECT_EQ(workload_refusal("w(m=1,m=2)"), "w: attribute 'm' is given twice");
  EXPECT_EQ(workload_refusal("w(m=5..2)"), "m=5..2: 5..2 is empty");
  for (const char* range : {"1..", "..2", "1...3", "01..3", "-1..2", "a..b", "1..2..3", "4x1..", "1..2xa"})
    EXPECT_EQ(workload_refusal(std::string("w(m=") + range + ")"),
              std::string("m=") + range + ": a range is LEAST..MOST, whole numbers up to 2^63 - 1");
  EXPECT_EQ(workload_refusal("w(dtype=f32::f32)"), "dtype=f32::f32: nothing stands at a colon");
  EXPECT_EQ(workload_refusal("w(e=mul[c)"), "e=mul[c: its brackets do not match");
  EXPECT_EQ(workload_refusal("w(e=mul]c[)"), "e=mul]c[: its brackets do not match");
  EXPECT_EQ(workload_refusal("w(e=[[[[[[[[[1]]]]]]]]])"), "e=[[[[[[[[[1]]]]]]]]]: more than 8 brackets in each other");
  EXPECT_THAT(workload_refusal("w(m=f(1))"), HasSubstr("m=f(1): a character that no value has"));
  EXPECT_THAT(workload_refusal("w(m=1 2)"), HasSubstr("m=1 2: a character that no value has"));
  for (const char* op :
       {"op()", "op(def=0123456789abcdef0123456789abcdef,name=a)", "op(name=a,def=0123456789ab)",
        "op(name=1..2,def=0123456789abcdef0123456789abcdef)", "op(name=a,def=0123456789ABCDEF0123456789ABCDEF)"})
    EXPECT_EQ(workload_refusal(op),
              "op: its first attributes are name=NAME and def=HASH, 32 lower-case hexadecimal digits");

  EXPECT_EQ(config_refusal("a="), "config: knob 'a' has no value");
  EXPECT_EQ(config_refusal("[]"), "config: '[]' is not of the form knob=value");
  EXPECT_EQ(config_refusal("a=1,a=2"), "config: knob 'a' is given twice");
  EXPECT_EQ(config_refusal("text(0123456789ab)"),
            "config 'text(0123456789ab)': a hash is 32 lower-case hexadecimal digits");
  for (const char* config : {"call(x)", "text()", "text(", "vendor(cublas)", "vendor(cublas,1.0"})
    EXPECT_EQ(config_refusal(config),
              std::string("config '") + config + "' is none of knob=value,..., text(HASH) and vendor(LIBRARY,VERSION)");
  EXPECT_THAT(config_refusal("vendor(cu blas,1)"), HasSubstr("a library is a name, its version letters"));
  EXPECT_THAT(config_refusal("vendor(cublas,1,tile=)"), HasSubstr("knob 'tile' has no value"));

  EXPECT_THAT(target_refusal(""), HasSubstr("does not begin with a kind"));
  EXPECT_EQ(target_refusal("llvm mcpu=x"), "target: 'mcpu=x' is not of the form -flag=value");
  EXPECT_EQ(target_refusal("llvm -mcpu="), "target: flag '-mcpu' needs a value: -mcpu=...");
  EXPECT_EQ(target_refusal("llvm -l1=1 -l1=1"), "target: flag '-l1' is given twice");
  EXPECT_THAT(refusal_in_key(parse_space_key("a space")), HasSubstr("none of a fingerprint"));
}

TEST(Key, InputIsBounded) {
  EXPECT_EQ(workload_refusal("w(m=" + std::string(kMostKeyBytes, '1') + ")"),
            "workload of 65541 bytes; at most 65536 are allowed");
  EXPECT_EQ(config_refusal(std::string(kMostKeyBytes + 1, 'a')), "config of 65537 bytes; at most 65536 are allowed");
  EXPECT_EQ(target_refusal(std::string(kMostKeyBytes + 1, 'a')), "target of 65537 bytes; at most 65536 are allowed");
  std::string many;
  for (size_t i = 0; i <= kMostKeyParts; ++i) many += (i ? ",a" : "a") + std::to_string(i) + "=1";
  EXPECT_EQ(workload_refusal("w(" + many + ")"), "w: 1025 attributes; at most 1024 are allowed");
  EXPECT_EQ(config_refusal(many), "config: 1025 knobs; at most 1024 are allowed");
}

// Bytes put in, left out and changed in keys: read, or refused in a short line without control characters; a key that
// is read prints canonically.
TEST(Key, HostileTextsAreReadOrRefused) {
  Draw draw(2);
  std::mt19937_64 rng(3);
  const auto mutated = [&](std::string text) {
    static constexpr std::string_view kBytes("(),=:.x[]-0129ato \t\n\0\x1b\xff\"", 27);
    for (size_t n = 1 + rng() % 4; n > 0; --n) {
      const size_t at = rng() % (text.size() + 1);
      if (rng() % 2) text.insert(at, 1, kBytes[rng() % kBytes.size()]);
      if (rng() % 2 && at < text.size()) text[at] = kBytes[rng() % kBytes.size()];
      if (rng() % 2 && at < text.size()) text.erase(at, 1 + rng() % 3);
    }
    return text;
  };
  size_t read = 0, refused = 0;
  const auto check = [&](const std::string& text, const auto& parse) {
    const auto key = parse(text);
    if (!key.ok()) {
      ++refused;
      EXPECT_LE(key.status().message().size(), 400u);
      for (const char c : key.status().message()) EXPECT_TRUE(static_cast<unsigned char>(c) >= ' ' && c != 0x7f);
      return;
    }
    ++read;
    const std::string canonical = to_string(*key);
    const auto again = parse(canonical);
    ASSERT_TRUE(again.ok()) << canonical << ": " << again.status();
    EXPECT_EQ(*again, *key);
    EXPECT_EQ(to_string(*again), canonical);
  };
  for (int i = 0; i < 5000; ++i) {
    check(mutated(to_string(draw.workload())), [](const std::string& t) { return parse_workload_key(t); });
    check(mutated(to_string(draw.config())), [](const std::string& t) { return parse_config_key(t); });
    check(mutated(to_string(draw.target())), [](const std::string& t) { return parse_target_key(t); });
  }
  EXPECT_GT(read, 1000u);
  EXPECT_GT(refused, 1000u);
}

}  // namespace
}  // namespace hone
