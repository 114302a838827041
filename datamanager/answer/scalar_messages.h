#ifndef DATAMANAGER_ANSWER_SCALAR_MESSAGES_H_
#define DATAMANAGER_ANSWER_SCALAR_MESSAGES_H_

// Converts points of a series for answers: as columns, or all of them, page by page.
//
// Re-imagined: the answers of TensorBoard and MindInsight are a sample of a series; here every
// point is available, and a plot's columns lose none of its spikes.

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

// Converts the schema's policy; null for a value of a later version.
std::optional<Overlap> OverlapOf(msg::Overlap overlap);

// Limit of a plot's width; a caller that needs more columns can request the points.
inline constexpr std::size_t kMaxColumns = 16'384;

// Appends at most `limit` columns, and at most kMaxColumns, of the points with first_step <= step
// <= last_step: see ScalarColumns::PictureColumns(). `series` must be sorted().
void AppendColumns(const ScalarColumns& series, std::int64_t first_step, std::int64_t last_step,
                   std::size_t limit, msg::ScalarsReplyT* reply);
// Returns the same columns, packed.
std::unique_ptr<msg::PackedColumnsT> PackColumns(const ScalarColumns& series,
                                                 std::int64_t first_step, std::int64_t last_step,
                                                 std::size_t limit);

// Divides the points of one series into pages; the series may grow in between. Not thread safe.
class PointPages {
 public:
  static constexpr std::size_t kPagePoints = 8'192;
  // Limit of the points that one page examines in a series in file order, however few of them
  // match.
  static constexpr std::size_t kSearchedPoints = 65'536;

  struct Options {
    std::int64_t first_step = std::numeric_limits<std::int64_t>::min();  // Both inclusive.
    std::int64_t last_step = std::numeric_limits<std::int64_t>::max();
    std::uint64_t first_point = 0;  // Index among the points within these steps.
    std::uint64_t limit = std::numeric_limits<std::uint64_t>::max();
    // True: the series is in file order; false: it is sorted().
    bool by_file_order = false;
    std::size_t page_points = kPagePoints;
  };
  explicit PointPages(Options options) : options_(options) {}

  // True if all requested points of `series`, which must be sorted(), fit in the first page.
  bool FitsOne(const ScalarColumns& series) const;

  // Appends the next points to `page`, and sets its first_point and more. Returns true if more
  // points follow. `series` must be that of the last call, perhaps grown; a series of another
  // generation is a different one. Aborted: points have moved since the last page, so that no page
  // can continue it, and `page` is unchanged; start again.
  absl::StatusOr<bool> Next(const ScalarColumns& series, std::uint64_t generation,
                            msg::ScalarsReplyT* page);

 private:
  bool NextByStep(const ScalarColumns& series, msg::ScalarsReplyT* page);
  bool NextByFile(const ScalarColumns& series, msg::ScalarsReplyT* page);
  void Take(const Point& point, msg::ScalarsReplyT* page);

  const Options options_;
  std::uint64_t taken_ = 0;
  std::uint64_t skipped_ = 0;  // File order only: matching points before first_point.
  std::uint64_t place_ = 0;    // Index of the next point in the series.
  // Generation and last point of the last page, to check that this point has not moved.
  std::optional<std::uint64_t> generation_;
  std::optional<Point> last_;
};

}  // namespace datamanager

#endif  // DATAMANAGER_ANSWER_SCALAR_MESSAGES_H_
