#ifndef DATAMANAGER_TENSORBOARD_POINT_CHOICE_H_
#define DATAMANAGER_TENSORBOARD_POINT_CHOICE_H_

// Chooses the points of a series that TensorBoard gets when it asks for fewer than the series has.
// TensorBoard draws a thin line through the points it gets and a thick one that is their moving
// average, so both must be like those of all points: the least and the greatest of each bucket,
// which a plot of columns shows, would pull the thick line away from the mean of a noisy series.
// Most points are therefore an even stride, and a few are points that a viewer must not miss.
//
// TensorBoard's own servers keep a random sample instead, of which neither a spike nor the first
// point is sure to be a part.
//
// Pure; nothing fails.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "datamanager/series/columns.h"

namespace datamanager::tensorboard {

// Chooses from points that come in the order of their steps. The `limit` points are, in this order:
//
//   the last; the first; the greatest and the least; the first that is not finite, and the one
//   before it;
//   one of each 50, 20 at most, that stand out: points whose distance from the median of their
//   bucket is largest, in units of the median distance there;
//   the rest at an even stride of steps, so that series that were written together keep the same
//   steps; if steps are so uneven that this stride finds too few points, at an even stride of
//   places.
//
// The same points give the same answer. It may have fewer points than `limit`, if one is chosen for
// two reasons. Keeps O(limit) points, and a bucket.
class PointChoice {
 public:
  // Describes all points that will come.
  struct Series {
    std::uint64_t points = 0;
    std::int64_t first_step = 0;
    std::int64_t last_step = 0;
  };

  PointChoice(Series series, std::uint64_t limit);

  // Adds the next points of the series.
  void Add(std::span<const Point> points);
  // The chosen points, in the order in which they came, once all points have come.
  std::vector<Point> Take() &&;

 private:
  struct Chosen {
    std::uint64_t place = 0;
    Point point;
  };
  // A point that may stand out; the largest candidates are chosen.
  struct Candidate {
    double score = 0;     // In median distances.
    double distance = 0;  // Decides between equal scores.
    Chosen chosen;
  };

  void AddOne(const Point& point);
  void NoteExtremes(const Chosen& chosen);
  void NoteStride(const Chosen& chosen);
  void EndBucket();
  void Offer(const Candidate& candidate);
  // Set the next step and place of the strides, and the end of the bucket. They divide, so they
  // are not called for each point.
  void AimByStep();
  void AimByPlace();
  void AimAtBucketEnd();

  const Series series_;
  const std::uint64_t limit_;
  std::uint64_t most_outstanding_ = 0;
  std::uint64_t stride_ = 0;  // Points of it; with the first and the last.
  std::uint64_t buckets_ = 0;

  std::uint64_t next_ = 0;  // Place.
  Point before_;            // The point that came last.
  std::optional<Chosen> first_, last_, least_, greatest_, not_finite_, before_not_finite_;
  std::uint64_t next_by_step_ = 0, next_by_place_ = 0;  // Next numbers of the two strides.
  std::int64_t aim_step_ = 0;                           // Step that next_by_step_ stands for.
  std::uint64_t aim_place_ = 0;                         // Place that next_by_place_ stands for.
  std::uint64_t bucket_end_ = 0;                        // Place behind the bucket.
  std::vector<Chosen> by_step_, by_place_;
  std::uint64_t bucket_ = 0;
  std::vector<Chosen> in_bucket_;       // Finite ones.
  std::vector<double> numbers_;         // Room for medians.
  std::vector<Candidate> outstanding_;  // A heap, the least on top.
};

// Places of at most `limit` of `count` values that are no numbers: evenly, with the first and the
// last; a limit of 1 chooses the last.
std::vector<std::size_t> ChooseEvenly(std::size_t count, std::uint64_t limit);

// How many points each of `series` series gets when `wanted` are asked for of each. An answer has
// kMostPoints, or what fits into a message where the user has said a number, but kFewestPoints of
// each series if that many are wanted and there is room.
inline constexpr std::uint64_t kMostPoints = 100'000;
inline constexpr std::uint64_t kFewestPoints = 50;
inline constexpr std::uint64_t kMostPointsInMessage = 2'700'000;  // 59 MB, if each takes 22 bytes.
std::uint64_t PointsOfEach(std::uint64_t wanted, std::uint64_t series, bool said_by_user);

}  // namespace datamanager::tensorboard

#endif  // DATAMANAGER_TENSORBOARD_POINT_CHOICE_H_
