// Compiled maxima and minima keep NaNs, in vectors and alone, at the cost that they should have.
#include <gmock/gmock.h>

#include <cmath>
#include <functional>

#include "compiler/codegen/llvm/compile.h"
#include "compiler/ir/interp.h"
#include "tests/fakes/assembly.h"
#include "tests/unit/codegen/programs.h"

namespace hone {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;

constexpr int64_t kNanCount = 64;

struct Form {
  const char* name;
  std::function<Expr(const Expr& x, const Expr& y)> of;
};

std::vector<Form> forms(DType t) {
  const auto number = [t](double v) { return make_const(v, t); };
  return {{"max", [](const Expr& x, const Expr& y) { return max(x, y); }},
          {"min", [](const Expr& x, const Expr& y) { return min(x, y); }},
          {"relu", [=](const Expr& x, const Expr&) { return max(x, number(0)); }},
          {"relu, turned", [=](const Expr& x, const Expr&) { return max(number(0), x); }},
          {"relu6", [=](const Expr& x, const Expr&) { return min(max(x, number(0)), number(6)); }},
          {"clip", [=](const Expr& x, const Expr& y) { return max(min(y, number(1)), number(-1)) + x - x; }},
          {"leaky", [=](const Expr& x, const Expr&) { return max(x, x * number(0.01)); }},
          {"three", [](const Expr& x, const Expr& y) { return max(min(x, y), x * y); }}};
}

// z[i] = f(x[i], y[i]), as vectors of `lanes`; 1: one by one.
Function kernel(const Form& f, DType t, int64_t lanes) {
  const Buffer x = make_buffer("x", t, std::vector<int64_t>{kNanCount}), y = make_buffer("y", t, {kNanCount}),
               z = make_buffer("z", t, {kNanCount});
  const Var i("i"), l("l");
  const Expr at = Expr(i) * lanes + l;
  const auto value = [&](const Buffer& b) { return load(b, {at}); };
  Function out;
  out.name = "extremes";
  out.params = {x, y, z};
  out.body = make_for(i, make_int(0), make_int(kNanCount / lanes), LoopKind::kSerial,
                      make_for(l, make_int(0), make_int(lanes), lanes > 1 ? LoopKind::kVectorize : LoopKind::kSerial,
                               make_store(z, {at}, cast(t, f.of(value(x), value(y))))));
  return out;
}

// NaNs of both signs at some places, of x, of y and of both; infinities and numbers elsewhere.
template <class T>
std::vector<HostTensor> with_nans(const Function& f) {
  std::vector<HostTensor> t = tensors_of(f);
  for (int which : {0, 1}) {
    T* v = t[static_cast<size_t>(which)].as<T>();
    for (int64_t i = 0; i < kNanCount; ++i) {
      v[i] = static_cast<T>((i * 7 + which * 3) % 17) / 2 - 4;
      if (i % 5 == which || i % 7 == 0) v[i] = i % 2 ? NAN : -NAN;
      if (i % 11 == 3) v[i] = which ? -INFINITY : INFINITY;
    }
  }
  return t;
}

template <class T>
void expect_as_interpreted(DType type, const Target& target) {
  for (const Form& form : forms(type))
    for (const int64_t lanes : {1, 4, 16}) {
      const Function f = kernel(form, type, lanes);
      const Module m = module_of(f);
      const std::vector<HostTensor> got = with_nans<T>(f), want = with_nans<T>(f);
      ASSERT_EQ(CompiledModule(m, {}, target).run(got), HONE_OK);
      std::vector<InterpArg> arguments;
      for (const HostTensor& t : want) arguments.push_back({t.data(), kNanCount});
      interpret(m, arguments);
      int nans = 0;
      for (int64_t i = 0; i < kNanCount; ++i) {
        const T a = got[2].as<T>()[i], b = want[2].as<T>()[i];
        nans += std::isnan(b);
        EXPECT_EQ(std::isnan(a), std::isnan(b)) << form.name << " " << lanes << " " << to_string(target) << " " << i;
        if (!std::isnan(b)) {
          EXPECT_EQ(a, b) << form.name << " " << lanes << " " << i;
        }
      }
      EXPECT_GT(nans, 10) << form.name;
      EXPECT_LT(nans, 3 * kNanCount / 4) << form.name;
    }
}

TEST(CompiledNan, StaysInMaximaAndMinima) {
  for (const Target& target : targets_here()) {
    expect_as_interpreted<float>(f32, target);
    expect_as_interpreted<double>(f64, target);
  }
}

std::string assembly(const Form& f, const char* target, bool assume_finite = false) {
  Module m = module_of(kernel(f, f32, 16));
  m.assume_finite = assume_finite;
  return emit_asm_text(m, Target::parse(target));
}

size_t count(const std::string& text, const std::string& what) {
  size_t n = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
  return n;
}

TEST(CompiledNan, CostsNothingBesideANumber) {
  for (const char* target : {"llvm -mtriple=x86_64-linux -mcpu=x86-64-v3 -threads=1",
                             "llvm -mtriple=x86_64-linux -mcpu=x86-64-v4 -threads=1"})
    for (const Form& f : forms(f32)) {
      if (std::string(f.name).find("relu") != 0) continue;
      const std::string kept = assembly(f, target), lost = assembly(f, target, true);
      EXPECT_GT(count(kept, "vmaxps"), 0u) << f.name;
      for (const char* what : {"vmaxps", "vminps", "vcmp", "vblend"})
        EXPECT_EQ(count(kept, what), count(lost, what)) << f.name << " " << what << "\n" << kept;
      EXPECT_EQ(count(kept, "vcmp"), 0u) << f.name << "\n" << kept;
    }
}

TEST(CompiledNan, CostsAComparisonAndAChoiceElsewhere) {
  const Form most = forms(f32)[0];
  const char* const avx512 = "llvm -mtriple=x86_64-linux -mcpu=x86-64-v4 -mattr=-prefer-256-bit -threads=1";
  const std::string kept = assembly(most, avx512), lost = assembly(most, avx512, true);
  EXPECT_EQ(count(kept, "vmaxps"), count(lost, "vmaxps"));
  EXPECT_EQ(count(kept, "vcmpunordps"), count(kept, "vmaxps"));
  EXPECT_EQ(count(lost, "vcmpunordps"), 0u);
}

TEST(CompiledNan, IsTheInstructionsOwnOnAarch64) {
  for (const Form& f : forms(f32)) {
    if (std::string(f.name) != "max" && std::string(f.name) != "relu") continue;
    const std::string text = assembly(f, "llvm -mtriple=aarch64-linux -mcpu=cortex-a72 -threads=1");
    EXPECT_THAT(text, ContainsRegex("fmax\tv")) << f.name;
    EXPECT_THAT(text, testing::Not(HasSubstr("fmaxnm"))) << f.name;
    EXPECT_THAT(text, testing::Not(ContainsRegex("fcm|bsl|bif|bit\t"))) << f.name;
  }
}

// Saturating conversions, whose bounds are maxima and minima: a NaN becomes 0 in vectors as it does alone.
TEST(CompiledNan, BecomesZeroInWholeNumbers) {
  for (const DType to : {u8, i8})
    for (const bool rounds : {false, true})
      for (const int64_t lanes : {1, 4, 8, 16}) {
        const double least = to == u8 ? 0 : -128, most = to == u8 ? 255 : 127;
        const Buffer x = make_buffer("x", f32, std::vector<int64_t>{kNanCount}), z = make_buffer("z", to, {kNanCount});
        const Var i("i"), l("l");
        const Expr at = Expr(i) * lanes + l, read = load(x, {at}), v = rounds ? call(Intrinsic::kRint, {read}) : read;
        Function f;
        f.name = "saturated";
        f.params = {x, z};
        f.body =
            make_for(i, make_int(0), make_int(kNanCount / lanes), LoopKind::kSerial,
                     make_for(l, make_int(0), make_int(lanes), lanes > 1 ? LoopKind::kVectorize : LoopKind::kSerial,
                              make_store(z, {at}, cast(to, max(min(v, make_float(most)), make_float(least))))));
        const std::vector<HostTensor> t = tensors_of(f);
        for (int64_t n = 0; n < kNanCount; ++n)
          t[0].as<float>()[n] = n % 3 == 0 ? NAN : static_cast<float>(n * 11 - 300);
        for (const Target& target : targets_here()) {
          ASSERT_EQ(CompiledModule(module_of(f), {}, target).run(t), HONE_OK);
          for (int64_t n = 0; n < kNanCount; ++n) {
            const int got = to == u8 ? t[1].as<uint8_t>()[n] : t[1].as<int8_t>()[n];
            const double want = n % 3 == 0 ? 0 : std::clamp(static_cast<double>(n * 11 - 300), least, most);
            EXPECT_EQ(got, want) << to_string(to) << " " << lanes << " " << n << " " << to_string(target);
          }
        }
      }
}

}  // namespace
}  // namespace hone
