#ifndef DATAMANAGER_TENSORBOARD_POINT_CHOICE_H_
#define DATAMANAGER_TENSORBOARD_POINT_CHOICE_H_

// Chooses which points of a series TensorBoard gets when it requests fewer than the series has.
// TensorBoard draws a thin line through the points and a thick line that is their moving average,
// so both must resemble those of all points. The least and the greatest point of each bucket, which
// a plot of columns shows, would pull the thick line away from the mean of a noisy series. Most
// points are therefore chosen at an even stride, and a few are points that a viewer must not miss.
//
// TensorBoard's own servers keep a random sample instead, which may lack a spike or the first
// point.
//
// Pure; nothing here fails.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "datamanager/series/columns.h"

namespace datamanager::tensorboard {

// Chooses from points that arrive in the order of their steps. The `limit` points are, by priority:
//
//   the last; the first; the greatest and the least; the first that is not finite, and the one
//   before it;
//   one in 50, at most 20, that stand out: points whose distance from the median of their bucket
//   is largest, measured in units of the bucket's median distance;
//   the rest at an even stride of steps, so that series that were written together keep the same
//   steps; if steps are so uneven that this stride finds too few points, at an even stride of
//   places.
//
// Deterministic. The result may have fewer points than `limit`, if a point is chosen for two
// reasons. Uses O(limit) memory, and that of a bucket.
class PointChoice {
 public:
  // Describes all points that will arrive.
  struct Series {
    std::uint64_t points = 0;
    std::int64_t first_step = 0;
    std::int64_t last_step = 0;
  };

  PointChoice(Series series, std::uint64_t limit);

  // Adds the next points of the series.
  void Add(std::span<const Point> points);
  // Returns the chosen points, in the order of their arrival, once all points were added.
  std::vector<Point> Take() &&;

 private:
  struct Chosen {
    std::uint64_t place = 0;
    Point point;
  };
  // A point that may stand out; the candidates with the highest scores are chosen.
  struct Candidate {
    double score = 0;     // In units of the median distance.
    double distance = 0;  // Breaks ties between equal scores.
    Chosen chosen;
  };

  void AddOne(const Point& point);
  void NoteExtremes(const Chosen& chosen);
  void NoteStride(const Chosen& chosen);
  void EndBucket();
  void Offer(const Candidate& candidate);
  // Set the next step and place of the strides, and the end of the bucket. They divide, so they are
  // not called for each point.
  void AimByStep();
  void AimByPlace();
  void AimAtBucketEnd();

  const Series series_;
  const std::uint64_t limit_;
  std::uint64_t most_outstanding_ = 0;
  std::uint64_t stride_ = 0;  // Number of points at a stride, including the first and the last.
  std::uint64_t buckets_ = 0;

  std::uint64_t next_ = 0;  // Place of the next point.
  Point before_;            // The previous point.
  std::optional<Chosen> first_, last_, least_, greatest_, not_finite_, before_not_finite_;
  std::uint64_t next_by_step_ = 0, next_by_place_ = 0;  // Next numbers of the two strides.
  std::int64_t aim_step_ = 0;                           // Step of next_by_step_.
  std::uint64_t aim_place_ = 0;                         // Place of next_by_place_.
  std::uint64_t bucket_end_ = 0;                        // Place after the bucket.
  std::vector<Chosen> by_step_, by_place_;
  std::uint64_t bucket_ = 0;
  std::vector<Chosen> in_bucket_;       // Finite ones only.
  std::vector<double> numbers_;         // Scratch space for medians.
  std::vector<Candidate> outstanding_;  // A heap with the least on top.
};

// Chooses at most `limit` of `count` values that are not numbers, evenly spaced, including the
// first and the last; a limit of 1 chooses the last. Returns their places.
std::vector<std::size_t> ChooseEvenly(std::size_t count, std::uint64_t limit);

// Returns the number of points for each of `series` series if `wanted` are requested of each. An
// answer has at most kMostPoints (or, if the user has set a number, what fits in a message), but at
// least kFewestPoints of each series if that many are wanted and fit.
inline constexpr std::uint64_t kMostPoints = 100'000;
inline constexpr std::uint64_t kFewestPoints = 50;
inline constexpr std::uint64_t kMostPointsInMessage = 2'700'000;  // 59 MB, at 22 bytes each.
std::uint64_t PointsOfEach(std::uint64_t wanted, std::uint64_t series, bool said_by_user);

}  // namespace datamanager::tensorboard

#endif  // DATAMANAGER_TENSORBOARD_POINT_CHOICE_H_
