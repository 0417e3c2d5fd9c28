#include "tests/unit/batch/compare_runs.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <random>
#include <sstream>

#include "compiler/graph/builder.h"

namespace hone {
namespace {

TensorData at_random(const TensorType& t, std::mt19937& random) {
  std::string bytes(static_cast<size_t>(bytes_of(t)), '\0');
  std::uniform_real_distribution<float> real(-2, 2);
  std::uniform_int_distribution<int> whole(0, 2);
  for (size_t i = 0; i < bytes.size(); i += static_cast<size_t>(t.dtype.bytes())) {
    const float f = real(random);
    if (t.dtype == f32)
      std::memcpy(&bytes[i], &f, sizeof(f));
    else
      bytes[i] = static_cast<char>(whole(random) % (t.dtype.is_bool() ? 2 : 3));  // little-endian
  }
  return {t, bytes};
}

// The part of run `r` in a tensor of all runs.
TensorData of_run(const TensorData& t, int64_t r) {
  TensorType type = t.type();
  type.shape[0] /= kImages;
  const size_t bytes = t.bytes().size() / kImages;
  return {type, std::string(t.bytes().data() + static_cast<size_t>(r) * bytes, bytes)};
}

}  // namespace

void expect_same_runs(const Graph& one, const Graph& all) {
  verify(all);
  std::mt19937 random(7);
  std::vector<TensorData> inputs;
  for (const Port& p : all.inputs) inputs.push_back(at_random(p.type, random));
  const std::vector<TensorData> got = interpret(all, inputs, &evaluate);
  bool differs = false;
  for (int64_t r = 0; r < kImages; ++r) {
    std::vector<TensorData> own;
    for (size_t i = 0; i < inputs.size(); ++i)
      own.push_back(one.inputs[i].type == all.inputs[i].type ? inputs[i] : of_run(inputs[i], r));
    const std::vector<TensorData> wanted = interpret(one, own, &evaluate);
    ASSERT_EQ(got.size(), wanted.size());
    for (size_t o = 0; o < wanted.size(); ++o) {
      const std::vector<int64_t>& shape = wanted[o].type().shape;
      const bool has_runs = !shape.empty() && shape[0] == 1;
      const TensorData mine = has_runs ? of_run(got[o], r) : got[o];
      ASSERT_EQ(mine.type(), wanted[o].type()) << to_string(all);
      const std::vector<double> a = mine.values(), b = wanted[o].values();
      for (size_t e = 0; e < a.size(); ++e)
        ASSERT_NEAR(a[e], b[e], 1e-5 * (1 + std::abs(b[e])))
            << "run " << r << ", output " << o << ", element " << e << "\n"
            << to_string(all);
      differs = differs || (has_runs && a != of_run(got[o], 0).values());
    }
  }
  EXPECT_TRUE(differs) << "all runs give the same, so nothing was compared\n" << to_string(all);
}

void expect_same_runs(const TestModel& m) {
  const ModelFolder f;
  expect_same_runs(f.import(m).graph, f.import(m, {.batch = kImages}).graph);
}

Graph built_graph(const std::string& text) {
  GraphBuilder b(test_operators(), "g");
  std::map<std::string, ValueId> values;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const size_t origin = line.find(" # ");
    b.set_origin(origin == std::string::npos ? "" : line.substr(origin + 3));
    std::istringstream words(line.substr(0, origin));
    std::string word;
    words >> word;
    if (word == "input" || word == "output") {
      std::string name;
      words >> name;
      const std::string type = line.substr(line.find(name) + name.size() + 1);
      const TensorType t = read_graph("graph g\ninput \"x\" %x " + type + "\noutput \"x\" %x " + type).inputs[0].type;
      if (word == "input") {
        values[name] = b.input(name.substr(1), t);
      } else {
        EXPECT_EQ(b.type(values.at(name)), t) << text;
        b.output(name.substr(1), values.at(name), t);
      }
      continue;
    }
    if (line.find(" = constant ") != std::string::npos) {
      const std::string type =
          line.substr(line.find(" = constant ") + 12, line.find(']') - line.find(" = constant ") - 11);
      values[word] =
          b.constant(*read_graph("graph g\n" + line + "\noutput \"c\" " + word + " " + type).values[0].constant);
      continue;
    }
    std::vector<std::string> outputs;
    for (; word != "="; words >> word) outputs.push_back(word.back() == ',' ? word.substr(0, word.size() - 1) : word);
    std::string node;
    words >> node;
    AttributeTexts given;
    const size_t open = node.find('(');
    std::istringstream attributes(node.substr(open + 1, node.size() - open - 2));
    for (std::string a; std::getline(attributes, a, ',');) {
      const size_t equals = a.find('=');
      given.emplace_back(a.substr(0, equals), a.substr(equals + 1));
    }
    std::vector<ValueId> inputs;
    while (words >> word) inputs.push_back(values.at(word));
    const std::vector<ValueId> made = b.add(node.substr(0, open), given, inputs);
    EXPECT_EQ(made.size(), outputs.size()) << line;
    for (size_t o = 0; o < made.size(); ++o) values[outputs[o]] = made[o];
  }
  return b.take();
}

}  // namespace hone
