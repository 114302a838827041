#include "tuning/sample/grid_sampler.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "tuning/sample/sampler.h"
#include "tuning/space/space.h"

namespace tuning {
namespace {

class GridSampler : public Sampler {
 public:
  explicit GridSampler(std::vector<Point> points) : points_(std::move(points)) {}
  std::optional<Point> Suggest(std::span<const Observation> /*history*/,
                               std::uint64_t number) const override {
    if (number >= points_.size()) return std::nullopt;
    return points_[number];
  }

 private:
  const std::vector<Point> points_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Sampler>> MakeGridSampler(const Space* space) {
  for (std::size_t i = 0; i < space->size(); ++i) {
    if (!(*space)[i].Count()) {
      return absl::InvalidArgumentError(
          absl::StrCat("parameter ", (*space)[i].name,
                       ": a grid takes values, integers, or numbers with a step"));
    }
  }
  auto points = space->All(kMaxGrid);
  if (!points) {
    return absl::InvalidArgumentError(
        absl::StrCat("the grid has more than ", kMaxGrid, " combinations"));
  }
  std::vector<std::size_t> by_name(space->size());
  std::iota(by_name.begin(), by_name.end(), std::size_t{0});
  std::sort(by_name.begin(), by_name.end(),
            [&](std::size_t a, std::size_t b) { return (*space)[a].name < (*space)[b].name; });
  std::stable_sort(points->begin(), points->end(), [&](const Point& a, const Point& b) {
    for (const std::size_t i : by_name) {
      // (An inactive parameter sorts first.)
      const double left = std::isnan(a[i]) ? -INFINITY : a[i];
      const double right = std::isnan(b[i]) ? -INFINITY : b[i];
      if (left != right) return left < right;
    }
    return false;
  });
  return std::make_unique<GridSampler>(*std::move(points));
}

}  // namespace tuning
