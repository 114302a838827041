#ifndef DATAMANAGER_ANSWER_SCALAR_MESSAGES_H_
#define DATAMANAGER_ANSWER_SCALAR_MESSAGES_H_

// Points of a series as answers have them: as columns, or all of them, page by page.
//
// Re-imagined: TensorBoard's and MindInsight's answers are one sample of a series; here every point
// of it can be had, and a plot's columns lose none of its spikes.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>

#include "absl/status/statusor.h"
#include "bus/schema/datamanager_generated.h"
#include "datamanager/series/columns.h"
#include "datamanager/series/overlap_policy.h"
#include "datamanager/series/scalar_columns.h"

namespace datamanager {

// Converts the schema's policy; nothing for a number of a later version.
std::optional<Overlap> OverlapOf(msg::Overlap overlap);

// A plot is not wider than this; a caller that wants more asks for the points.
inline constexpr std::size_t kMaxColumns = 16'384;

// Appends at most `limit` columns, and no more than kMaxColumns, of the points with
// first_step <= step <= last_step: ScalarColumns::PictureColumns(). `series` is sorted().
void AppendColumns(const ScalarColumns& series, std::int64_t first_step, std::int64_t last_step,
                   std::size_t limit, msg::ScalarsReplyT* reply);
// The same columns, packed.
std::unique_ptr<msg::PackedColumnsT> PackColumns(const ScalarColumns& series,
                                                 std::int64_t first_step, std::int64_t last_step,
                                                 std::size_t limit);

// Points of one series in pages, between which the series may grow. Not thread safe.
class PointPages {
 public:
  static constexpr std::size_t kPagePoints = 8'192;
  // Most points of a file-ordered series that one page looks through, however few of them are
  // wanted.
  static constexpr std::size_t kSearchedPoints = 65'536;

  struct Options {
    std::int64_t first_step = std::numeric_limits<std::int64_t>::min();  // Both inclusive.
    std::int64_t last_step = std::numeric_limits<std::int64_t>::max();
    std::uint64_t first_point = 0;  // Index among the points with such steps.
    std::uint64_t limit = std::numeric_limits<std::uint64_t>::max();
    // The series is given as it stands in the files; else it is sorted().
    bool by_file_order = false;
    std::size_t page_points = kPagePoints;
  };
  explicit PointPages(Options options) : options_(options) {}

  // No page has to follow the first one of `series`, which is sorted().
  bool FitsOne(const ScalarColumns& series) const;

  // Appends the next points to `page`, whose first_point and more it sets. True: there is more.
  // `series` is that of the last call, or has grown out of it; a series of another generation is
  // another series. Aborted: points have changed their places since the last page, so that no page
  // can continue it; ask again from the start. `page` is unchanged then.
  absl::StatusOr<bool> Next(const ScalarColumns& series, std::uint64_t generation,
                            msg::ScalarsReplyT* page);

 private:
  bool NextByStep(const ScalarColumns& series, msg::ScalarsReplyT* page);
  bool NextByFile(const ScalarColumns& series, msg::ScalarsReplyT* page);
  void Take(const Point& point, msg::ScalarsReplyT* page);

  const Options options_;
  std::uint64_t taken_ = 0;
  std::uint64_t skipped_ = 0;  // In file order: points with such steps before first_point.
  std::uint64_t place_ = 0;    // Place of the next point in the series.
  // Generation and last point of the last page, to check that the point still stands there.
  std::optional<std::uint64_t> generation_;
  std::optional<Point> last_;
};

}  // namespace datamanager

#endif  // DATAMANAGER_ANSWER_SCALAR_MESSAGES_H_
