#include "datamanager/answer/scalar_messages.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <type_traits>
#include <vector>

#include "absl/status/status.h"
#include "bus/wire/packed_numbers.h"

namespace datamanager {
namespace {

void AppendPoint(const Point& point, msg::ScalarsReplyT* reply) {
  reply->steps.push_back(point.step);
  reply->wall_times.push_back(point.wall_time);
  reply->values.push_back(point.value);
}

// Treats NaN as equal to NaN.
bool Same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

// Compares bits, because NaN does not equal itself.
bool Same(const Point& a, const Point& b) {
  const auto bits = [](double number) { return std::bit_cast<std::uint64_t>(number); };
  return a.step == b.step && bits(a.wall_time) == bits(b.wall_time) &&
         bits(a.value) == bits(b.value);
}

}  // namespace

std::optional<Overlap> OverlapOf(msg::Overlap overlap) {
  switch (overlap) {
    case msg::Overlap::Raw:
      return Overlap::kRaw;
    case msg::Overlap::LastWrite:
      return Overlap::kLastWrite;
    case msg::Overlap::TensorBoard:
      return Overlap::kTensorBoard;
    case msg::Overlap::TensorBoardV1:
      return Overlap::kTensorBoardV1;
    case msg::Overlap::TensorBoardV2:
      return Overlap::kTensorBoardV2;
    case msg::Overlap::RustServer:
      return Overlap::kRustServer;
    case msg::Overlap::MindInsight:
      return Overlap::kMindInsight;
  }
  return std::nullopt;
}

void AppendColumns(const ScalarColumns& series, std::int64_t first_step, std::int64_t last_step,
                   std::size_t limit, msg::ScalarsReplyT* reply) {
  const std::vector<Column> columns =
      series.PictureColumns(first_step, last_step, std::min(limit, kMaxColumns));
  const auto append = [&columns](auto& list, auto member) {
    list.reserve(list.size() + columns.size());
    for (const Column& column : columns) list.push_back(column.*member);
  };
  append(reply->steps, &Column::first_step);
  append(reply->last_steps, &Column::last_step);
  append(reply->wall_times, &Column::last_wall_time);
  append(reply->values, &Column::last);
  append(reply->firsts, &Column::first);
  append(reply->mins, &Column::min);
  append(reply->maxs, &Column::max);
  append(reply->counts, &Column::count);
  if (std::any_of(columns.begin(), columns.end(),
                  [](const Column& column) { return column.not_finite > 0; })) {
    append(reply->not_finite, &Column::not_finite);
  }
}

std::unique_ptr<msg::PackedColumnsT> PackColumns(const ScalarColumns& series,
                                                 std::int64_t first_step, std::int64_t last_step,
                                                 std::size_t limit) {
  const std::vector<Column> columns =
      series.PictureColumns(first_step, last_step, std::min(limit, kMaxColumns));
  const auto all = [&columns](auto member) {
    std::vector<std::decay_t<decltype(columns.front().*member)>> list(columns.size());
    for (std::size_t i = 0; i < columns.size(); ++i) list[i] = columns[i].*member;
    return list;
  };
  const auto any = [&columns](auto holds) {
    return std::any_of(columns.begin(), columns.end(), holds);
  };
  auto packed = std::make_unique<msg::PackedColumnsT>();
  packed->columns = static_cast<std::uint32_t>(columns.size());
  packed->first_steps = bus::PackSteps(all(&Column::first_step));
  if (any([](const Column& column) { return column.last_step != column.first_step; })) {
    packed->last_steps = bus::PackSteps(all(&Column::last_step));
  }
  packed->wall_times = bus::PackNumbers(all(&Column::last_wall_time));
  if (any([](const Column& column) { return !Same(column.min, column.last); })) {
    packed->mins = bus::PackNumbers(all(&Column::min));
  }
  if (any([](const Column& column) { return !Same(column.max, column.last); })) {
    packed->maxs = bus::PackNumbers(all(&Column::max));
  }
  packed->lasts = bus::PackNumbers(all(&Column::last));
  if (any([](const Column& column) { return column.not_finite > 0; })) {
    packed->not_finite = bus::PackCounts(all(&Column::not_finite));
  }
  return packed;
}

absl::StatusOr<bool> PointPages::Next(const ScalarColumns& series, std::uint64_t generation,
                                      msg::ScalarsReplyT* page) {
  bool moved = generation_.value_or(generation) != generation || series.size() < place_;
  if (!moved && last_) {
    std::vector<Point> before;
    series.Read(place_ - 1, 1, &before);
    moved = before.size() != 1 || !Same(before.front(), *last_);
  }
  if (moved) {
    return absl::AbortedError(
        "the points were read anew, or earlier steps came, between two pages; ask again");
  }
  generation_ = generation;
  page->first_point = options_.first_point + taken_;
  page->more = options_.by_file_order ? NextByFile(series, page) : NextByStep(series, page);
  return page->more;
}

bool PointPages::FitsOne(const ScalarColumns& series) const {
  const std::uint64_t found = series.Find(options_.first_step, options_.last_step).size();
  const std::uint64_t left = found - std::min(options_.first_point, found);
  return std::min(options_.limit, left) <= options_.page_points;
}

void PointPages::Take(const Point& point, msg::ScalarsReplyT* page) {
  AppendPoint(point, page);
  ++taken_;
}

bool PointPages::NextByStep(const ScalarColumns& series, msg::ScalarsReplyT* page) {
  const ScalarColumns::Range range = series.Find(options_.first_step, options_.last_step);
  if (!last_) place_ = range.first + std::min(options_.first_point, range.size());
  const std::uint64_t left = std::min(options_.limit - taken_, range.end - place_);
  std::vector<Point> points;
  series.Read(place_, std::min<std::uint64_t>(left, options_.page_points), &points);
  for (const Point& point : points) Take(point, page);
  if (points.empty()) return false;
  place_ += points.size();
  last_ = points.back();
  return points.size() < left;
}

bool PointPages::NextByFile(const ScalarColumns& series, msg::ScalarsReplyT* page) {
  const std::uint64_t end = std::min(series.size(), place_ + kSearchedPoints);
  std::uint64_t room = std::min<std::uint64_t>(options_.page_points, options_.limit - taken_);
  std::vector<Point> points;
  while (place_ < end && room > 0) {
    points.clear();
    series.Read(place_, std::min<std::uint64_t>(end - place_, 1024), &points);
    for (const Point& point : points) {
      if (room == 0) break;
      ++place_;
      last_ = point;
      if (point.step < options_.first_step || point.step > options_.last_step) continue;
      if (skipped_ < options_.first_point) {
        ++skipped_;
        continue;
      }
      Take(point, page);
      --room;
    }
  }
  return place_ < series.size() && taken_ < options_.limit;
}

}  // namespace datamanager
