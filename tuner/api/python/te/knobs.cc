#include "tuner/api/python/te/knobs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "base/check.h"
#include "base/key.h"
#include "base/text.h"
#include "tuner/api/python/whole_objects.h"

namespace hone::python {

namespace py = pybind11;

py::handle knobs_are_read() {
  static PyObject* const type = PyErr_NewException("hone._te.KnobsAreRead", PyExc_BaseException, nullptr);
  return type;
}

namespace {

using Numbers = std::vector<int64_t>;

KnobCalls& live(const PyKnobs& k) {
  if (!k.calls->knobs) throw py::value_error("the template has returned: its knobs are gone");
  return *k.calls;
}

// Notes a question, or holds it against the same one of the first time.
void begin(KnobCalls& c, KnobQuestion::Kind kind, std::string_view name, const Numbers& numbers) {
  const size_t at = c.made++;
  if (c.declares) {
    c.wanted->push_back({kind, std::string(name), numbers});
    return;
  }
  if (at < c.wanted->size()) {
    const KnobQuestion& first = (*c.wanted)[at];
    if (first.kind == kind && first.name == name && first.numbers == numbers) return;
  }
  const std::string first = at < c.wanted->size() ? (*c.wanted)[at].text() : "nothing more";
  if (c.odd.empty())
    c.odd = fmt::format("it asks for {} where it asked for {}", KnobQuestion{kind, std::string(name), numbers}.text(),
                        first);
  throw UserError(c.odd);
}

void end(const KnobCalls& c) {
  if (c.declares || c.until == KnobCalls::Until::kEnd || c.made < c.wanted->size()) return;
  PyErr_SetNone(knobs_are_read().ptr());
  throw py::error_already_set();
}

// Checks a knob that is declared.
void check_new(const KnobCalls& c, const char* kind, const std::string& name) {
  const StatusOr<ConfigKey> key = parse_config_key(name + "=1");
  const bool is_word = key.ok() && std::holds_alternative<KeyKnobs>(*key) && std::get<KeyKnobs>(*key).size() == 1 &&
                       std::get<KeyKnobs>(*key)[0].first == name;
  HONE_USER_CHECK(is_word) << kind << ": '" << clean_line(name) << "' is no name of a knob: letters, digits and _";
  for (const KnobQuestion& question : *c.wanted)
    HONE_USER_CHECK(question.name != name) << kind << ": there is a knob '" << name << "' already";
}

py::tuple split(const PyKnobs& k, const std::string& name, int64_t extent, int parts,
                const std::optional<Numbers>& most, const std::optional<Numbers>& preferred, bool powers_of_two,
                int64_t all_up_to, double max_waste, bool for_threads) {
  KnobCalls& c = live(k);
  SplitRule rule;
  rule.max_inner = most.value_or(Numbers());
  rule.prefer = preferred.value_or(Numbers());
  rule.powers_of_two = powers_of_two;
  rule.all_up_to = all_up_to;
  rule.max_waste = max_waste;
  rule.for_threads = for_threads;
  if (c.declares) {
    constexpr int kMostParts = 8;
    constexpr double kMostChoices = 1e6;
    check_new(c, "split", name);
    HONE_USER_CHECK(extent >= 1 && parts >= 1 && parts <= kMostParts)
        << "split '" << name << "': extent " << extent << " in " << parts << " parts; at least 1, in 1 to "
        << kMostParts;
    for (const Numbers* given : {&rule.max_inner, &rule.prefer})
      HONE_USER_CHECK(std::all_of(given->begin(), given->end(), [](int64_t n) { return n >= 1; }))
          << "split '" << name << "': parts are at least 1";
    const auto factors =
        static_cast<double>(split_factors(extent, SplitRule{{}, powers_of_two, all_up_to, max_waste}).size());
    HONE_USER_CHECK(most || std::pow(factors, parts - 1) <= kMostChoices)
        << "split '" << name << "': too many ways to split " << extent << " in " << parts << "; say max_inner";
  }
  begin(c, KnobQuestion::Kind::kSplit, name, {extent, parts});
  const Split factors = c.knobs->split(name, extent, parts, rule);
  py::tuple out(factors.size());
  for (size_t i = 0; i < factors.size(); ++i) out[i] = factors[i];
  end(c);
  return out;
}

py::object choice(const PyKnobs& k, const std::string& name, const std::vector<py::object>& choices,
                  const py::object& preferred, bool for_threads) {
  KnobCalls& c = live(k);
  Numbers numbers;
  for (const py::object& choice : choices) {
    if (!PyLong_Check(choice.ptr())) throw py::type_error("choice '" + name + "': choices are whole numbers, or bools");
    numbers.push_back(choice.cast<int64_t>());
  }
  std::optional<int64_t> wanted;
  if (!preferred.is_none()) wanted = preferred.cast<int64_t>();
  if (c.declares) {
    check_new(c, "choice", name);
    HONE_USER_CHECK(!numbers.empty()) << "choice '" << name << "': there is none";
    Numbers sorted = numbers;
    std::sort(sorted.begin(), sorted.end());
    HONE_USER_CHECK(sorted.front() >= 0 && std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end())
        << "choice '" << name << "': choices are different numbers that are not negative";
    HONE_USER_CHECK(!wanted || std::binary_search(sorted.begin(), sorted.end(), *wanted))
        << "choice '" << name << "': its default " << *wanted << " is none of the choices";
  }
  begin(c, KnobQuestion::Kind::kChoice, name, numbers);
  const int64_t chosen =
      for_threads ? c.knobs->thread_choice(name, numbers, wanted) : c.knobs->choice(name, numbers, wanted);
  py::object out = choices[static_cast<size_t>(std::find(numbers.begin(), numbers.end(), chosen) - numbers.begin())];
  end(c);
  return out;
}

bool is_true(const py::object& condition) {
  const int truth = PyObject_IsTrue(condition.ptr());
  if (truth < 0) throw py::error_already_set();
  return truth != 0;
}

void require(const PyKnobs& k, const std::string& reason, const py::object& condition) {
  KnobCalls& c = live(k);
  const bool holds = is_true(condition);
  begin(c, KnobQuestion::Kind::kRequirement, "", {});
  c.knobs->require(clean_line(reason), holds);
  if (c.declares && c.is_active && !holds && c.broken.empty()) c.broken = clean_line(reason);
  end(c);
}

void when(const PyKnobs& k, const py::object& condition) {
  KnobCalls& c = live(k);
  c.is_active = is_true(condition);
  begin(c, KnobQuestion::Kind::kCondition, "", {});
  c.knobs->when(c.is_active);
  end(c);
}

}  // namespace

void KnobCalls::end() {
  knobs = nullptr;
  if (!declares && odd.empty() && made < wanted->size())
    odd = fmt::format("it asks for nothing more where it asked for {}", (*wanted)[made].text());
}

std::string KnobQuestion::text() const {
  switch (kind) {
    case Kind::kSplit: return fmt::format("split '{}' of {} in {}", name, numbers[0], numbers[1]);
    case Kind::kChoice: return fmt::format("choice '{}' of {}", name, fmt::join(numbers, ", "));
    case Kind::kRequirement: return "a requirement";
    case Kind::kCondition: return "a condition";
  }
  return "";
}

void bind_knobs(py::module_& m) {
  py::options texts;
  texts.disable_function_signatures();
  py::class_<PyKnobs> knobs(m, "Knobs", "The first argument of a template, which asks it for its choices.");
  make_only_whole(knobs);
  knobs
      .def(
          "split", &split, py::arg("name"), py::arg("extent"), py::arg("parts"), py::kw_only(),
          py::arg("max_inner") = py::none(), py::arg("default") = py::none(), py::arg("powers_of_two") = true,
          py::arg("all_up_to") = 0, py::arg("max_waste") = 0.34, py::arg("for_threads") = false,
          R"(split(name, extent, parts, *, max_inner, default, powers_of_two, all_up_to, max_waste, for_threads) -> factors

Factors of a split, outermost first, whose product covers the extent: what ``Schedule.split`` takes. Inner parts are
divisors, and powers of two and other small numbers whose tail wastes little.

``max_inner``: the most of each part but the outermost; ``default``: what these are nearest to where nothing is tuned
(1 where it is not given); ``powers_of_two``: whether those are parts that divide nothing; ``all_up_to``: all numbers up
to this one are; ``max_waste``: the share of iterations that a tail may waste; ``for_threads``: it divides work among
threads, so that what is best depends on how many there are.)")
      .def("choice", &choice, py::arg("name"), py::arg("choices"), py::kw_only(), py::arg("default") = py::none(),
           py::arg("for_threads") = false,
           R"(choice(name, choices, *, default, for_threads) -> one of them

One of some numbers, or of False and True. ``default``: the one where nothing is tuned; else the first.)")
      .def("require", &require, py::arg("reason"), py::arg("condition"),
           R"(require(reason, condition)

Choices for which the condition does not hold are none of the space. The reason names it, as ``tiles fit L1``.)")
      .def("when", &when, py::arg("condition"),
           R"(when(condition)

Knobs and requirements from here to the next ``when`` matter only where the condition holds: elsewhere knobs are at
their defaults, and requirements are not looked at.)")
      .def_property_readonly(
          "threads", [](const PyKnobs& k) { return live(k).target->threads; }, "How many threads the target has.")
      .def_property_readonly(
          "vector_bits", [](const PyKnobs& k) { return live(k).target->vector_bits; }, "The width of its vectors.")
      .def_property_readonly(
          "vector_registers", [](const PyKnobs& k) { return live(k).target->vector_registers; },
          "How many registers of vectors it has.")
      .def_property_readonly(
          "target", [](const PyKnobs& k) { return to_string(*live(k).target); }, "Its text.");
}

}  // namespace hone::python
