#include "datamanager/series/step_view.h"

#include <algorithm>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "datamanager/series/columns.h"
#include "datamanager/series/scalar_summary.h"

namespace datamanager {

struct StepView::Kept {
  Overlap policy = Overlap::kRaw;
  // `points` covers this many points and purges of the series.
  std::uint64_t size = 0;
  std::size_t purges = 0;
  ScalarColumns points;
};

namespace {

constexpr std::int64_t kHighest = std::numeric_limits<std::int64_t>::max();

// True if the series itself is the answer.
bool NothingToDo(const ScalarColumns& series, const SeriesMarks& marks, Overlap policy) {
  if (policy == Overlap::kRaw) return series.sorted();
  return series.increasing() && marks.purges().empty();
}

// The points and purges that were added since the view was made.
struct News {
  std::vector<Point> points;            // In file order.
  std::vector<std::uint64_t> kept;      // Places in `points`, ordered by step.
  std::int64_t lowest = kHighest;       // Smallest step of all points.
  std::int64_t purged_from = kHighest;  // Drops older points from this step on,
  bool purged = false;                  // if true.
};

News Since(const ScalarColumns& series, const SeriesMarks& marks, std::uint64_t size,
           std::size_t purges, Overlap policy) {
  News news;
  series.Read(size, series.size() - size, &news.points);
  std::vector<std::int64_t> steps;
  std::vector<double> wall_times;
  steps.reserve(news.points.size());
  wall_times.reserve(news.points.size());
  for (const Point& point : news.points) {
    steps.push_back(point.step);
    wall_times.push_back(point.wall_time);
  }
  std::vector<Purge> rebased;
  for (Purge purge : marks.purges().subspan(purges)) {
    purge.before -= std::min(purge.before, size);
    rebased.push_back(purge);
  }
  std::vector<FileSpan> parts;
  for (FileSpan part : marks.parts()) {
    // Only the last one of the parts that began earlier continues.
    if (part.first <= size) parts.clear();
    part.first -= std::min(part.first, size);
    parts.push_back(part);
  }
  news.kept = KeptPoints(steps, rebased, parts, policy, wall_times);
  for (const std::int64_t step : steps) news.lowest = std::min(news.lowest, step);
  for (const Purge& purge : rebased) {
    if (!Follows(purge, policy)) continue;
    news.purged = true;
    news.purged_from = std::min(news.purged_from, purge.from_step);
  }
  if (policy == Overlap::kRustServer && !steps.empty()) {
    news.purged = true;
    news.purged_from = news.lowest;
  }
  return news;
}

// Keeps only the point with the later wall time of each step; `old` and the news each have a step
// at most once.
void KeepTheLast(News* news, std::vector<Point>* old) {
  std::size_t next = 0;
  std::vector<bool> earlier(news->kept.size());
  std::erase_if(*old, [&](const Point& point) {
    const auto fresh = [&]() -> const Point& { return news->points[news->kept[next]]; };
    while (next < news->kept.size() && fresh().step < point.step) ++next;
    if (next == news->kept.size() || fresh().step != point.step) return false;
    earlier[next] = !IsNotEarlier(fresh().wall_time, point.wall_time);
    return !earlier[next];
  });
  std::size_t place = 0;
  std::erase_if(news->kept, [&](std::uint64_t) { return earlier[place++]; });
}

// Removes from `old`, which must be ordered by step, what the news purge; or from the news what is
// older.
void DropPurged(Overlap policy, News* news, std::vector<Point>* old) {
  if (news->purged) {
    std::erase_if(*old, [&](const Point& point) { return point.step >= news->purged_from; });
  }
  if (policy == Overlap::kLastWrite) KeepTheLast(news, old);
}

void Merge(News news, Overlap policy, ScalarColumns* view) {
  const std::int64_t from = news.purged ? std::min(news.lowest, news.purged_from) : news.lowest;
  const std::uint64_t first = view->Find(from, kHighest).first;
  std::vector<Point> old;
  view->Read(first, view->size() - first, &old);
  view->Truncate(first);
  DropPurged(policy, &news, &old);
  auto next = old.begin();
  for (const std::uint64_t place : news.kept) {
    const Point& point = news.points[place];
    // The older of two points with equal steps comes first.
    for (; next != old.end() && next->step <= point.step; ++next) view->Append(*next);
    view->Append(point);
  }
  for (; next != old.end(); ++next) view->Append(*next);
}

}  // namespace

StepView::StepView() = default;
StepView::~StepView() = default;
StepView::StepView(StepView&&) noexcept = default;
StepView& StepView::operator=(StepView&&) noexcept = default;

const ScalarColumns& StepView::Get(const ScalarColumns& series, const SeriesMarks& marks,
                                   Overlap policy) {
  if (NothingToDo(series, marks, policy)) {
    Drop();
    return series;
  }
  if (kept_ == nullptr || kept_->policy != policy) {
    kept_ = std::make_unique<Kept>();
    kept_->policy = policy;
  }
  if (kept_->size == series.size() && kept_->purges == marks.purges().size()) return kept_->points;
  News news = Since(series, marks, kept_->size, kept_->purges, policy);
  // The view does not record which of the older points a newer file purges, so rebuild it.
  const bool anew = policy == Overlap::kMindInsight && kept_->size > 0 && !kept_->points.empty() &&
                    news.lowest <= kept_->points.last_step();
  if (anew) {
    kept_->points = ScalarColumns();
    news = Since(series, marks, 0, 0, policy);
  }
  Merge(std::move(news), policy, &kept_->points);
  kept_->size = series.size();
  kept_->purges = marks.purges().size();
  return kept_->points;
}

void StepView::Drop() { kept_.reset(); }

std::size_t StepView::Bytes() const {
  return kept_ == nullptr ? 0 : sizeof(Kept) + kept_->points.Bytes();
}

}  // namespace datamanager
