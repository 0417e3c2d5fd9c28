// The algorithms between which conv2d_cpu chooses: each declares knobs of its own and, when asked to (`schedule` not
// null), makes the schedule.
#pragma once

#include "compiler/ops/definition.h"
#include "compiler/ops/templates/template.h"
#include "compiler/ops/windows/conv_shape.h"
#include "compiler/target/matrix_units.h"

namespace hone {

/// Where the padded input is made: not at all (the input is read in place: legalize takes the borders out of whole
/// tiles), once for all, or by each task.
enum PadAt : int64_t { kNowhere = 0, kOnce = 1, kInTask = 2 };
inline const ChoiceWords kPadAtWords = {{kNowhere, "nowhere"}, {kOnce, "once"}, {kInTask, "task"}};

/// How the rows of a product of pixels are gathered: not at all (read in place), by each task for its own pixels, or by
/// all tasks beforehand.
enum Gather : int64_t { kNobody = 0, kTask = 1, kBefore = 2 };
inline const ChoiceWords kGatherWords = {{kNobody, "in_place"}, {kTask, "task"}, {kBefore, "before"}};
/// On tiles also, in their place, the rows of a padded image, copied by each task or beforehand (ImageRows).
inline constexpr int64_t kImage = 3, kImageBefore = 4;

/// Whether an image has a border of zeros.
bool is_padded(const ConvShape& c);
/// Whether each pixel of the output reads the same pixel of the input and no other, so that pixels are rows of a
/// matrix.
bool reads_pixels_in_place(const ConvShape& c);

/// The columns that a tile of conv2d_direct() may have.
SplitRule columns_rule(const Target& target);

/// Any convolution; data is read in place or from one padded copy.
void conv2d_direct(const Workload& w, const Target& target, Knobs& knobs, std::unique_ptr<Schedule>* schedule);

/// One group in planes (NCHW): vectors are neighbouring columns.
void conv2d_planar(const Workload& w, const Target& target, Knobs& knobs, std::unique_ptr<Schedule>* schedule);

/// A matrix product of pixels by channels, for one group.
void conv2d_gemm(const Workload& w, const Target& target, Knobs& knobs, std::unique_ptr<Schedule>* schedule);

/// The unit of matrices that computes the convolution's products on `target`; null where it has none for them, the
/// input channels are very few (of vector registers: not in whole steps of it), or those of a pixel are no neighbours
/// in memory.
const MatrixUnit* convolution_unit(const Workload& w, const Target& target);

/// The same product on that unit: of tiles, or of blocks in vector registers.
void conv2d_tiles(const Workload& w, const Target& target, const MatrixUnit& unit, Knobs& knobs,
                  std::unique_ptr<Schedule>* schedule);
void conv2d_mmla(const Workload& w, const Target& target, const MatrixUnit& unit, Knobs& knobs,
                 std::unique_ptr<Schedule>* schedule);

/// F(m x m, 3 x 3) where winograd_applies(). The knobs are declared once for all m, so that measurements of one m help
/// the others.
void conv2d_winograd(const Workload& w, const Target& target, int m, Knobs& knobs, std::unique_ptr<Schedule>* schedule);

/// How the pixels of a product are divided: tasks and tiles of one, pixels of a tile, and whether a task runs through
/// the blocks of channels of its pixels, or has one of them.
struct PixelTasks {
  Split tasks;
  int64_t tile;
  bool channels_inside;
};
/// Loops of the writer: in which a tile is computed; over its pixels; whose iterations are tasks.
struct PixelLoops {
  LoopRef tile, pixels, task;
};
/// Schedules the writer [n, c, y, x] of a product of pixels (gemm_convolution()) in blocks of `channels`, whose lanes
/// are vectors.
PixelLoops schedule_pixels(Schedule& s, BlockRef writer, const LayoutChoice& layout, int64_t channels,
                           const PixelTasks& tasks);

/// Schedules the stage `pad`: rows of the padded input, one vector of channels (or of columns, when channels are not
/// blocked) at a time.
void schedule_padding(Schedule& s, BlockRef pad, int64_t ic_block, int64_t lanes, bool parallel);

/// When elements change as they are read (ops/prologue.h), each task changes the elements that it reads, once, into a
/// copy in planes: many outputs read each of them. Otherwise does nothing. `lanes`: of a row, in a vector.
void schedule_changed_input(Schedule& s, const Definition& d, int64_t lanes, LoopRef task);

}  // namespace hone
