// Applies recorded steps to a fresh schedule of the same definition.
#include "compiler/schedule/schedule.h"

namespace hone {

void Schedule::replay(const std::vector<Step>& steps) {
  for (const Step& s : steps) {
    const auto loop = [&](size_t i) { return LoopRef{static_cast<int>(s.args.at(i))}; };
    const auto block = [&](size_t i) { return BlockRef{static_cast<int>(s.args.at(i))}; };
    // Steps may come from elsewhere (steps_text.h).
    const auto scope = [&](size_t i) {
      HONE_USER_CHECK(s.args.at(i) > 0 && s.args[i] <= static_cast<int64_t>(BufferScope::kShared))
          << "replay: there is no scope " << s.args[i];
      return static_cast<BufferScope>(s.args[i]);
    };
    const auto kind = [&](size_t i) {
      HONE_USER_CHECK(s.args.at(i) >= 0 && s.args[i] <= static_cast<int64_t>(LoopKind::kWarp))
          << "replay: there is no kind of loop " << s.args[i];
      return static_cast<LoopKind>(s.args[i]);
    };
    switch (s.primitive) {
      case Primitive::kSplit: split(loop(0), s.args.at(1)); break;
      case Primitive::kFuse: fuse(loop(0), loop(1)); break;
      case Primitive::kReorder: {
        std::vector<LoopRef> order;
        for (size_t i = 0; i < s.args.size(); ++i) order.push_back(loop(i));
        reorder(order);
        break;
      }
      case Primitive::kVectorize: vectorize(loop(0)); break;
      case Primitive::kUnroll: unroll(loop(0)); break;
      case Primitive::kParallel: parallel(loop(0)); break;
      case Primitive::kBind: bind(loop(0), kind(1)); break;
      case Primitive::kComputeAt: compute_at(block(0), loop(1)); break;
      case Primitive::kComputeInline: compute_inline(block(0)); break;
      case Primitive::kCacheRead: cache_read(s.name, block(0), scope(1)); break;
      case Primitive::kCacheWrite: cache_write(block(0), scope(1)); break;
      case Primitive::kDecomposeReduction: decompose_reduction(block(0), loop(1)); break;
      case Primitive::kTransformLayout: {
        Layout layout;
        for (size_t i = 0; i + 2 < s.args.size(); i += 3)
          layout.dims.push_back({static_cast<int>(s.args[i]), s.args[i + 1], s.args[i + 2]});
        transform_layout(s.name, layout);
        break;
      }
      case Primitive::kSetScope: set_scope(block(0), scope(1)); break;
      case Primitive::kStorageAlign:
        storage_align(block(0), static_cast<int>(s.args.at(1)), s.args.at(2), s.args.at(3));
        break;
      case Primitive::kDoubleBuffer: double_buffer(block(0), s.args.size() > 1 ? s.args[1] : 2); break;
      case Primitive::kSplitParts: split_parts(loop(0), s.args.at(1)); break;
      case Primitive::kReverseComputeAt: reverse_compute_at(block(0), loop(1)); break;
      case Primitive::kReverseComputeInline: reverse_compute_inline(block(0)); break;
      case Primitive::kRfactor: rfactor(block(0), loop(1)); break;
      case Primitive::kPad: pad(block(0), {s.args.begin() + 1, s.args.end()}); break;
      case Primitive::kAnnotateLoop: annotate(loop(0), s.name, s.args.at(1)); break;
      case Primitive::kTensorize: tensorize(block(0), loop(1), s.name); break;
      case Primitive::kAnnotate: annotate(s.name, s.args.at(0)); break;
      case Primitive::kPrepack: {
        std::vector<BlockRef> results;
        for (size_t i = 0; i < s.args.size(); ++i) results.push_back(block(i));
        prepack(results);
        break;
      }
    }
  }
}

}  // namespace hone
