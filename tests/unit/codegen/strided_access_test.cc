// Elements that lie apart in memory become neighbouring lanes: whole vectors are read, and shuffled.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "compiler/ir/printer.h"
#include "tests/unit/codegen/programs.h"

namespace hone {
namespace {

// A tile is written to the frame by rows and read by columns; the last of its rows may be missing.
TEST(StridedAccess, ColumnsOfATileInTheFrame) {
  for (const DType t : {f32, i32, f64, u8})
    for (const int64_t columns : {2, 4, 8, 16, 3})
      for (const int64_t rows : {4, 8, 16, 32})
        for (const int64_t filled : {rows, rows - 3}) {
          const Buffer in = make_buffer("in", t, std::vector<int64_t>{filled * columns}),
                       out = make_buffer("out", t, std::vector<int64_t>{columns * rows});
          const Buffer tile = make_buffer("tile", t, std::vector<int64_t>{rows * columns}, BufferScope::kStack);
          const Var r("r"), c("c"), column("column"), lane("lane");
          const Stmt fill = make_for(
              r, make_int(0), make_int(rows), LoopKind::kUnroll,
              make_if(lt(Expr(r), make_int(filled)),
                      make_for(c, make_int(0), make_int(columns), LoopKind::kVectorize,
                               make_store(tile, {Expr(r) * columns + Expr(c)}, load(in, {Expr(r) * columns + c})))));
          const Stmt turn = make_for(column, make_int(0), make_int(columns), LoopKind::kUnroll,
                                     make_for(lane, make_int(0), make_int(rows), LoopKind::kVectorize,
                                              make_if(lt(Expr(lane), make_int(filled)),
                                                      make_store(out, {Expr(column) * rows + Expr(lane)},
                                                                 load(tile, {Expr(lane) * columns + Expr(column)})))));
          Function f;
          f.name = "turn";
          f.params = {in, out};
          f.body = make_allocate(tile, -1, make_seq({fill, turn}));
          const CompiledModule compiled(module_of(f));
          const std::vector<HostTensor> tensors = tensors_of(f);
          const DLTensor* args[] = {tensors[0].view(), tensors[1].view()};
          ASSERT_EQ(compiled.entry()(args, 2, nullptr, nullptr), HONE_OK);
          const auto element = [&](const HostTensor& of, int64_t at) {
            return static_cast<const char*>(of.view()->data) + at * t.bytes();
          };
          for (int64_t y = 0; y < filled; ++y)
            for (int64_t x = 0; x < columns; ++x)
              ASSERT_EQ(std::memcmp(element(tensors[1], x * rows + y), element(tensors[0], y * columns + x),
                                    static_cast<size_t>(t.bytes())),
                        0)
                  << to_string(t) << " " << rows << "x" << columns << " at " << y << ", " << x;
        }
}

// A copy of a tensor, of a page at most, that begins or ends where its page does; who touches a neighbour dies.
class BesideGuard {
 public:
  BesideGuard(const HostTensor& of, bool at_end) : view_(*of.view()) {
    pages_ = static_cast<char*>(mmap(nullptr, 3 * page_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    EXPECT_NE(pages_, MAP_FAILED);
    EXPECT_EQ(mprotect(pages_ + page_, page_, PROT_READ | PROT_WRITE), 0);
    const auto bytes = static_cast<size_t>(of.bytes());
    EXPECT_LE(bytes, page_);
    view_.data = pages_ + page_ + (at_end ? page_ - bytes : 0);
    std::memcpy(view_.data, of.data(), bytes);
  }
  ~BesideGuard() { munmap(pages_, 3 * page_); }
  BesideGuard(const BesideGuard&) = delete;
  BesideGuard& operator=(const BesideGuard&) = delete;

  const DLTensor* view() const { return &view_; }

 private:
  const size_t page_ = static_cast<size_t>(getpagesize());
  char* pages_;
  DLTensor view_;
};

struct Apart {
  DType type;
  int64_t size, stride, first, count, lanes;
  bool is_masked;
};

// out[n] = in[begin + n * stride + first], n < count * lanes, where this is an element from `begin` to `begin + size`
// (`is_masked`), else 0; `lanes` numbers of n in one vector.
Function function_of(const Apart& a, int64_t begin, int64_t elements) {
  const Buffer in = make_buffer("in", a.type, std::vector<int64_t>{elements}),
               out = make_buffer("out", a.type, std::vector<int64_t>{a.lanes * a.count});
  const Var i("i"), j("j");
  const Expr at = Expr(i) * a.lanes + Expr(j), from = at * a.stride + (begin + a.first), read = load(in, {from});
  const Expr is_there = logical_and(ge(from, begin), lt(from, begin + a.size));
  Function f;
  f.name = "apart";
  f.params = {in, out};
  f.body =
      make_for(i, make_int(0), make_int(a.count), LoopKind::kSerial,
               make_for(j, make_int(0), make_int(a.lanes), LoopKind::kVectorize,
                        make_store(out, {at}, a.is_masked ? select(is_there, read, make_const(0, a.type)) : read)));
  return f;
}

// Once with the elements at a page's begin, once at its end.
void expect_apart(const Apart& a) {
  const int64_t elements = (a.size + 63) / 64 * 64;  // whose bytes end where vectors do, as tensors' memory must
  for (const int64_t begin : {int64_t{0}, elements - a.size}) {
    SCOPED_TRACE(to_string(a.type) + ", stride " + std::to_string(a.stride) + ", first " + std::to_string(a.first) +
                 ", " + std::to_string(a.count) + " x " + std::to_string(a.lanes) + " lanes, " +
                 std::to_string(a.size) + " elements from " + std::to_string(begin));
    const Function f = function_of(a, begin, elements);
    const CompiledModule compiled(module_of(f));
    const std::vector<HostTensor> tensors = tensors_of(f);
    const BesideGuard in(tensors[0], begin > 0);
    const DLTensor* args[] = {in.view(), tensors[1].view()};
    ASSERT_EQ(compiled.entry()(args, 2, nullptr, nullptr), HONE_OK);
    const auto element = static_cast<size_t>(a.type.bytes());
    const char zero[8] = {};
    for (int64_t n = 0; n < a.lanes * a.count; ++n) {
      const int64_t from = n * a.stride + a.first;
      const char* wanted = static_cast<const char*>(in.view()->data) + static_cast<size_t>(begin + from) * element;
      if (from < 0 || from >= a.size) wanted = zero;
      const char* got = static_cast<const char*>(tensors[1].data()) + static_cast<size_t>(n) * element;
      ASSERT_EQ(std::memcmp(got, wanted, element), 0) << "element " << n;
    }
  }
}

TEST(StridedAccess, ReadsWhatItNeeds) {
  for (const DType t : {f32, f64, u8})
    for (const int64_t stride : {2, 3, 4, 5})
      for (const int64_t lanes : {4, 6, 8, 16, 24, 32})
        expect_apart({t, stride * (lanes * 3 - 1) + 1, stride, 0, 3, lanes, false});
}

// Zeros around an image: lanes in front of it, behind it, both, and none. In one vector the mask is known when the code
// is made, in several it is not.
TEST(StridedAccess, MaskedLanesReadNothing) {
  for (const DType t : {f32, u8})
    for (const int64_t stride : {2, 3, 4})
      for (const int64_t lanes : {4, 16})
        for (const int64_t count : {1, 3})
          for (const int64_t first : {int64_t{0}, int64_t{-1}, -stride - 1, -stride * lanes})
            for (const int64_t missing : {int64_t{0}, int64_t{1}, stride + 1}) {
              const int64_t size = stride * (lanes * count - 1) + 1 + first - missing;
              if (size > 0) expect_apart({t, size, stride, first, count, lanes, true});
            }
}

// Lanes take turns in rows that lie apart, as the elements of a word do in a panel.
TEST(StridedAccess, RowsByTurns) {
  for (const DType t : {f32, bf16, u8})
    for (const int64_t rows : {2, 3, 4, 8})
      for (const int64_t columns : {1, 2, 4, 16}) {
        SCOPED_TRACE(to_string(t) + ", " + std::to_string(rows) + " rows of " + std::to_string(columns));
        constexpr int64_t kParts = 3, kPitch = 64;
        const int64_t lanes = rows * columns;
        const Buffer in = make_buffer("in", t, std::vector<int64_t>{rows * kPitch}),
                     out = make_buffer("out", t, std::vector<int64_t>{lanes * kParts});
        const Var i("i"), j("j");
        const Expr from = floor_mod(Expr(j), rows) * kPitch + floor_div(Expr(j), rows) + Expr(i) * columns +
                          (kPitch - kParts * columns);
        Function f;
        f.name = "turns";
        f.params = {in, out};
        f.body = make_for(i, make_int(0), make_int(kParts), LoopKind::kSerial,
                          make_for(j, make_int(0), make_int(lanes), LoopKind::kVectorize,
                                   make_store(out, {Expr(i) * lanes + Expr(j)}, load(in, {from}))));
        const CompiledModule compiled(module_of(f));
        const std::vector<HostTensor> tensors = tensors_of(f);
        const BesideGuard beside(tensors[0], true);
        const DLTensor* args[] = {beside.view(), tensors[1].view()};
        ASSERT_EQ(compiled.entry()(args, 2, nullptr, nullptr), HONE_OK);
        const auto element = static_cast<size_t>(t.bytes());
        for (int64_t part = 0; part < kParts; ++part)
          for (int64_t lane = 0; lane < lanes; ++lane) {
            const int64_t at = lane % rows * kPitch + lane / rows + part * columns + kPitch - kParts * columns;
            ASSERT_EQ(
                std::memcmp(
                    static_cast<const char*>(tensors[1].data()) + static_cast<size_t>(part * lanes + lane) * element,
                    static_cast<const char*>(tensors[0].data()) + static_cast<size_t>(at) * element, element),
                0)
                << "part " << part << ", lane " << lane;
          }
      }
}

}  // namespace
}  // namespace hone
