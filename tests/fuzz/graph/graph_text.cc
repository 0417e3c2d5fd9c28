// A graph's text: parsed, printed, rewritten by every pass and interpreted.
#include <algorithm>
#include <cctype>

#include "base/check.h"
#include "compiler/graph/element_text.h"
#include "compiler/graph/evaluate.h"
#include "compiler/graph/passes/passes.h"
#include "compiler/graph/text.h"
#include "compiler/ir/layout.h"
#include "tests/fakes/workloads.h"
#include "tests/fuzz/graph/target.h"

namespace hone::fuzz {
namespace {

constexpr size_t kMostText = 1 << 14;
constexpr double kMostWork = 1 << 16;  // operations, and elements of all values, that are computed
constexpr size_t kMostNodes = 200;

double work_of(const Graph& g) {
  double work = 0;
  for (const Node& n : g.nodes) work += flops(n.workload);
  for (const Value& v : g.values) work += static_cast<double>(element_count(v.type.shape));
  for (const Port& p : g.outputs) work += static_cast<double>(element_count(p.type.shape));
  return work;
}

std::vector<TensorData> inputs_of(const Graph& g) {
  std::vector<TensorData> out;
  for (const Port& p : g.inputs)
    out.emplace_back(p.type, filled_elements(p.type.dtype, element_count(p.type.shape), out.size() + 1));
  return out;
}

bool has_floats(const Graph& g) {
  return std::any_of(g.values.begin(), g.values.end(), [](const Value& v) { return v.type.dtype.is_float(); });
}

}  // namespace

void run_graph_text(std::string_view bytes) {
  if (bytes.size() > kMostText) return;
  Graph g;
  try {
    g = parse_graph(test_operators(), bytes);
  } catch (const UserError& e) {
    require(std::string_view(e.what()).find('\n') == std::string_view::npos, "more than one line", e.what());
    return;
  }
  verify(g);
  const std::string text = to_string(g, 1 << 10);
  if (text.find(" hash ") == std::string::npos)
    require(to_string(parse_graph(test_operators(), text), 1 << 10) == text, "another text", text);
  if (g.nodes.size() > kMostNodes) return;
  const bool is_small = work_of(g) <= kMostWork;
  const std::vector<TensorData> inputs = is_small ? inputs_of(g) : std::vector<TensorData>();
  const std::vector<TensorData> wanted = is_small ? interpret(g, inputs, &evaluate) : std::vector<TensorData>();
  Graph now = g;
  for (const Pass<Graph>& pass : graph_passes({test_operators(), test_functions()})) {
    now = pass.run(now);
    verify(now);
  }
  if (!is_small) return;
  const std::vector<TensorData> got = interpret(now, inputs, &evaluate);
  for (size_t o = 0; o < wanted.size(); ++o) {
    require(got[o].type() == wanted[o].type(), "an output of another type", text);
    // Rounding may decide anything in a graph of floats; tests/property/graphs compares those.
    if (!has_floats(g))
      require(std::equal(got[o].bytes().begin(), got[o].bytes().end(), wanted[o].bytes().begin()), "another output",
              text);
  }
}

std::vector<std::string> graph_seeds() {
  return {
      "graph g\ninput \"x\" %x f32[2, 3]\ninput \"e\" none f32[0]\n"
      "%c = constant f32[1, 3] [0.5, -1, nan]\n"
      "%a = elementwise(op=mul+relu,shape=2x3,operands=1x3) %x %c   # a\n"
      "%b = elementwise(op=x=s+sigmoid+mul[s],shape=2x3) %a\n"
      "%t = transpose(shape=2x3,perm=1:0) %b\n%r = reshape(shape=3x2,to=6) %t\n"
      "output \"r\" %r f32[6]\noutput \"e\" none f32[0, 2]\n",
      "graph conv\ninput \"x\" %x f32[1, 4, 5, 5]\n%w = constant f32[8, 4, 3, 3] fill 1\n"
      "%b = constant f32[1, 8, 1, 1] fill 2\n"
      "%c = conv2d(n=1,ci=4,h=5,w=5,co=8,kh=3,kw=3,pad=1,layout=NCHW) %x %w\n"
      "%y = elementwise(op=add+relu,shape=1x8x5x5,operands=1x8x1x1) %c %b\n"
      "%p = max_pool2d(n=1,c=8,h=5,w=5,kh=2,kw=2,stride=2,pad=0,layout=NCHW) %y\noutput \"p\" %p f32[1, 8, 2, 2]\n",
      "graph ints\ninput \"x\" %x s32[2, 2]\ninput \"i\" %i s64[3]\n%k = constant s32[2, 2] [1, -2, 2147483647, 0]\n"
      "%a = elementwise(op=sub,shape=2x2,operands=same,dtype=s32) %k %x\n"
      "%m = elementwise(op=less,shape=2x2,operands=same,dtype=s32) %a %x\n"
      "%w = elementwise(op=where,shape=2x2,operands=same:same,dtype=s32) %a %m %k\n"
      "%s = reduce(op=max,shape=2x2,axes=1,keepdims=1,dtype=s32) %w\n"
      "%q = concat(shapes=2x2:2x1,axis=1,dtype=s32) %w %s\n"
      "%g = gather(shape=2x3,indices=3,axis=1,dtype=s32) %q %i\n"
      "%z = slice(shape=2x3,begin=1:0,step=-1:2,size=2x2,dtype=s32) %g\noutput \"z\" %z s32[2, 2]\noutput \"m\" %m "
      "bool[4]\n",
      "graph dense\ninput \"x\" %x f16[2, 3, 4]\n%w = constant f16[5, 4] fill 3\n"
      "%f = reshape(shape=2x3x4,to=6x4,dtype=f16) %x\n%d = dense(m=6,n=5,k=4,dtype=f16:f16:f32:f16) %f %w\n"
      "%v = reshape(shape=6x5,to=2x3x5,dtype=f16) %d\n%b = constant f16[1, 1, 5] [1, 2, 0x7e01, -inf, 65504]\n"
      "%y = elementwise(op=add,shape=2x3x5,operands=1x1x5,dtype=f16) %v %b\n"
      "%u = elementwise(op=cast:f32,shape=2x3x5,dtype=f16) %y\noutput \"u\" %u f32[2, 3, 5]\n",
      "graph move\ninput \"x\" %x u8[1, 4, 2, 2]\n%p = pad(shape=1x4x2x2,before=0:0:1:1,after=0:0:0:1,dtype=u8) %x\n"
      "%b = broadcast(shape=1x4x3x4,to=2x4x3x4,dtype=u8) %p\n"
      "%d = depth_to_space(shape=1x4x2x2,block=2,dtype=u8) %x\n%s = space_to_depth(shape=1x1x4x4,block=2,dtype=u8) %d\n"
      "%r = resize(shape=1x4x2x2,size=1x4x4x4,dtype=u8) %s\noutput \"b\" %b u8[2, 4, 3, 4]\noutput \"r\" %r u8[1, 4, "
      "4, 4]\n",
  };
}

std::string mutate_graph_text(const std::string& bytes, std::mt19937_64& rng) {
  std::vector<std::string> lines(1);
  for (const char c : bytes) {
    lines.back() += c;
    if (c == '\n') lines.emplace_back();
  }
  std::string& line = lines[rng() % lines.size()];
  switch (rng() % 8) {
    case 0: std::swap(line, lines[rng() % lines.size()]); break;
    case 1: line.clear(); break;
    case 2: line = lines[rng() % lines.size()]; break;
    case 3:
    case 4: {  // a number becomes another one
      std::vector<size_t> digits;
      for (size_t i = 0; i < line.size(); ++i)
        if (std::isdigit(static_cast<unsigned char>(line[i])) &&
            (i == 0 || !std::isdigit(static_cast<unsigned char>(line[i - 1]))))
          digits.push_back(i);
      if (digits.empty()) break;
      const size_t at = digits[rng() % digits.size()];
      size_t end = at;
      while (end < line.size() && std::isdigit(static_cast<unsigned char>(line[end]))) ++end;
      line.replace(at, end - at, std::to_string(odd_number(rng)));
      break;
    }
    case 5: {  // a word becomes one of another place
      static constexpr const char* kWords[] = {"f32", "f16", "bf16", "s32",      "s64",   "u8",     "bool", "relu",
                                               "add", "mul", "exp",  "cast:f16", "where", "same",   "none", "NCHWc",
                                               "%x",  "%y",  "nan",  "inf",      "x=s",   "mul[s]", "sub",  "reshape"};
      std::vector<size_t> begins;
      for (size_t i = 0; i < line.size(); ++i)
        if (std::isalpha(static_cast<unsigned char>(line[i])) &&
            (i == 0 || !std::isalnum(static_cast<unsigned char>(line[i - 1]))))
          begins.push_back(i);
      if (begins.empty()) break;
      const size_t at = begins[rng() % begins.size()];
      size_t end = at;
      while (end < line.size() && std::isalnum(static_cast<unsigned char>(line[end]))) ++end;
      line.replace(at, end - at, kWords[rng() % std::size(kWords)]);
      break;
    }
    default: line = mutate_bytes(line, rng); break;
  }
  std::string out;
  for (const std::string& l : lines) out += l;
  return out;
}

}  // namespace hone::fuzz
