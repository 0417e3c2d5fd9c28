// transform_layout: every access goes by the layout.
#include <absl/strings/str_join.h>
#include <fmt/format.h>

#include "compiler/schedule/schedule.h"

namespace hone {

void Schedule::transform_layout(std::string_view name, const Layout& layout) {
  const Buffer from = buffer_named(name, "transform_layout");
  std::vector<int64_t> shape;
  for (const Expr& e : from->shape) shape.push_back(*as_const_int(e));
  layout.validate(shape);
  for (ScheduledParam& p : params_) {
    if (!p.buffer.same_as(from)) continue;
    HONE_USER_CHECK(p.packed.empty()) << "transform_layout: '" << name
                                      << "' is packed ahead; the kernel does not take it";
    HONE_USER_CHECK(p.shape == shape || p.layout != Layout::identity(p.shape))
        << "transform_layout: '" << name
        << "' has another shape inside than for its caller, and only the caller's layout";
    HONE_USER_CHECK(p.layout == Layout::identity(p.shape))
        << "transform_layout: '" << name << "' was transformed before";
    p.layout = layout;
  }
  for (const TreeNode* n : blocks_)
    HONE_USER_CHECK(!n || !n->block->out.same_as(from) || n->block->alignment.factor == 0)
        << "transform_layout: '" << name << "' is aligned; storage_align comes after";
  const Buffer to = make_buffer(from->name, from->dtype, layout.physical_shape(), from->scope);
  replace_buffer(from, to, &layout);
  std::vector<int64_t> args;
  for (const LayoutDim& d : layout.dims) args.insert(args.end(), {d.axis, d.stride, d.extent});
  const std::string dims = absl::StrJoin(layout.dims, ", ", [](std::string* out, const LayoutDim& d) {
    *out += fmt::format("{}/{}:{}", d.axis, d.stride, d.extent);
  });
  record(Primitive::kTransformLayout, std::move(args), std::string(name),
         fmt::format("transform_layout({}, [{}])", name, dims));
}

}  // namespace hone
