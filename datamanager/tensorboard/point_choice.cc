#include "datamanager/tensorboard/point_choice.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace datamanager::tensorboard {
namespace {

// The median of a smaller bucket would be meaningless.
constexpr std::uint64_t kLeastBucket = 16;
constexpr std::uint64_t kMostOutstanding = 20;
constexpr std::uint64_t kOneOutstandingOf = 50;
// First, last, least, greatest, the first that is not finite, and the one before it.
constexpr std::uint64_t kMusts = 6;

// Returns the median of `numbers`, which must not be empty; reorders `numbers`.
double Median(std::vector<double>& numbers) {
  const auto middle = numbers.begin() + static_cast<std::ptrdiff_t>(numbers.size() / 2);
  std::nth_element(numbers.begin(), middle, numbers.end());
  return *middle;
}

}  // namespace

PointChoice::PointChoice(Series series, std::uint64_t limit) : series_(series), limit_(limit) {
  if (limit_ >= series_.points || limit_ <= kMusts) return;
  most_outstanding_ = std::min(kMostOutstanding, limit_ / kOneOutstandingOf);
  // The stride includes the first point, which is required anyway. (It may lack the last point if
  // several points have that step.)
  stride_ = limit_ - (kMusts - 1) - most_outstanding_;
  buckets_ = std::clamp<std::uint64_t>(series_.points / kLeastBucket, 1, limit_);
  AimByStep();
  AimByPlace();
  AimAtBucketEnd();
}

void PointChoice::Add(std::span<const Point> points) {
  for (const Point& point : points) AddOne(point);
}

void PointChoice::AddOne(const Point& point) {
  const Chosen chosen = {next_, point};
  if (limit_ >= series_.points) {
    by_place_.push_back(chosen);
  } else if (limit_ > 0) {
    NoteExtremes(chosen);
    if (stride_ > 0) NoteStride(chosen);
    if (most_outstanding_ > 0) {
      if (std::isfinite(point.value)) in_bucket_.push_back(chosen);
      if (next_ + 1 >= bucket_end_) EndBucket();
    }
  }
  before_ = point;
  ++next_;
}

void PointChoice::NoteExtremes(const Chosen& chosen) {
  if (!first_.has_value()) first_ = chosen;
  last_ = chosen;
  if (!std::isfinite(chosen.point.value)) {
    if (not_finite_.has_value()) return;
    not_finite_ = chosen;
    if (chosen.place > 0) before_not_finite_ = {chosen.place - 1, before_};
    return;
  }
  if (!least_.has_value() || chosen.point.value < least_->point.value) least_ = chosen;
  if (!greatest_.has_value() || chosen.point.value > greatest_->point.value) greatest_ = chosen;
}

void PointChoice::AimByStep() {
  const auto width = static_cast<__int128>(series_.last_step) - series_.first_step;
  aim_step_ = static_cast<std::int64_t>(series_.first_step + width * next_by_step_ / (stride_ - 1));
}

void PointChoice::AimByPlace() {
  const auto place = static_cast<unsigned __int128>(series_.points - 1) * next_by_place_;
  aim_place_ = static_cast<std::uint64_t>(place / (stride_ - 1));
}

void PointChoice::AimAtBucketEnd() {
  const auto end = static_cast<unsigned __int128>(series_.points) * (bucket_ + 1);
  bucket_end_ = static_cast<std::uint64_t>(end / buckets_);
}

void PointChoice::NoteStride(const Chosen& chosen) {
  if (next_by_step_ < stride_ && chosen.point.step >= aim_step_) {
    by_step_.push_back(chosen);
    while (next_by_step_ < stride_ && chosen.point.step >= aim_step_) {
      ++next_by_step_;
      AimByStep();
    }
  }
  if (chosen.place == aim_place_) {
    by_place_.push_back(chosen);
    ++next_by_place_;
    AimByPlace();
  }
}

void PointChoice::EndBucket() {
  ++bucket_;
  AimAtBucketEnd();
  if (!in_bucket_.empty()) {
    const auto value_of = [](const Chosen& chosen) { return chosen.point.value; };
    numbers_.clear();
    for (const Chosen& chosen : in_bucket_) numbers_.push_back(value_of(chosen));
    const double median = Median(numbers_);
    for (double& number : numbers_) number = std::abs(number - median);
    // If most values are equal, rounding errors of floats must not stand out.
    const double unit = Median(numbers_) + 1e-7 * std::abs(median);
    const auto less = [&](const Chosen& a, const Chosen& b) { return value_of(a) < value_of(b); };
    const auto [least, greatest] = std::minmax_element(in_bucket_.begin(), in_bucket_.end(), less);
    for (const auto& end : {least, greatest}) {
      const double distance = std::abs(value_of(*end) - median);
      if (distance > 0) Offer({distance / unit, distance, *end});
    }
  }
  in_bucket_.clear();
}

void PointChoice::Offer(const Candidate& candidate) {
  // If two candidates are equal, the earlier point wins.
  const auto more = [](const Candidate& a, const Candidate& b) {
    if (a.score != b.score) return a.score > b.score;
    if (a.distance != b.distance) return a.distance > b.distance;
    return a.chosen.place < b.chosen.place;
  };
  if (outstanding_.size() == most_outstanding_) {
    if (!more(candidate, outstanding_.front())) return;
    std::pop_heap(outstanding_.begin(), outstanding_.end(), more);
    outstanding_.pop_back();
  }
  outstanding_.push_back(candidate);
  std::push_heap(outstanding_.begin(), outstanding_.end(), more);
}

std::vector<Point> PointChoice::Take() && {
  std::vector<Chosen> all;
  if (limit_ >= series_.points) {
    all = std::move(by_place_);
  } else {
    all = std::move(by_step_.size() * 2 >= stride_ ? by_step_ : by_place_);
    std::uint64_t left = stride_ > 0 ? kMusts : limit_;
    for (const auto& must : {last_, first_, greatest_, least_, not_finite_, before_not_finite_}) {
      if (!must.has_value() || left == 0) continue;
      all.push_back(*must);
      --left;
    }
    for (const Candidate& candidate : outstanding_) all.push_back(candidate.chosen);
  }
  const auto earlier = [](const Chosen& a, const Chosen& b) { return a.place < b.place; };
  const auto same = [](const Chosen& a, const Chosen& b) { return a.place == b.place; };
  std::sort(all.begin(), all.end(), earlier);
  all.erase(std::unique(all.begin(), all.end(), same), all.end());
  std::vector<Point> points;
  points.reserve(all.size());
  for (const Chosen& chosen : all) points.push_back(chosen.point);
  return points;
}

std::vector<std::size_t> ChooseEvenly(std::size_t count, std::uint64_t limit) {
  std::vector<std::size_t> places;
  if (count == 0 || limit == 0) return places;
  if (limit == 1) return {count - 1};
  const std::size_t chosen = limit < count ? static_cast<std::size_t>(limit) : count;
  places.reserve(chosen);
  for (std::size_t i = 0; i < chosen; ++i) {
    places.push_back(chosen == count ? i : i * (count - 1) / (chosen - 1));
  }
  return places;
}

std::uint64_t PointsOfEach(std::uint64_t wanted, std::uint64_t series, bool said_by_user) {
  if (series == 0) return wanted;
  const std::uint64_t room = std::max<std::uint64_t>(kMostPointsInMessage / series, 1);
  if (said_by_user) return std::min(wanted, room);
  return std::min({wanted, room, std::max(kMostPoints / series, kFewestPoints)});
}

}  // namespace datamanager::tensorboard
