#include "datamanager/point_topics.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "bus/record_page.h"
#include "bus/topic.h"
#include "datamanager/run_source.h"
#include "glog/logging.h"

namespace datamanager {
namespace {

msg::Span SpanOf(std::uint64_t generation, std::uint64_t first, std::size_t points) {
  return msg::Span(generation, first, first + points);
}

msg::PointsT ToMessage(const std::string& run, const std::string& tag,
                       std::span<const Point> points) {
  msg::PointsT message;
  message.run = run;
  message.tag = tag;
  for (const Point& point : points) {
    message.steps.push_back(point.step);
    message.wall_times.push_back(point.wall_time);
    message.values.push_back(point.value);
  }
  return message;
}

struct Wanted {
  std::string_view topic;
  std::vector<RunCatalog::Place> known;  // One for each lane that is named.
};

// Each topic once, in the order of the request.
std::vector<Wanted> WantedBy(const msg::SinceRequestT& request) {
  std::vector<Wanted> all;
  std::map<std::string_view, std::size_t> index;
  for (const auto& place : request.places) {
    const auto [known, fresh] = index.try_emplace(place->topic, all.size());
    if (fresh) all.push_back({place->topic, {}});
    all[known->second].known.push_back({place->lane, place->position});
  }
  return all;
}

class Answer {
 public:
  Answer(RunCatalog& catalog, std::int64_t since_us)
      : catalog_(catalog), since_(static_cast<double>(since_us) / 1e6) {}

  // False: there is more, for the next page, or it has failed.
  bool Add(const Wanted& wanted) {
    std::vector<RunCatalog::Place> known = wanted.known;
    bool passes = since_ > 0;  // Nothing of that time has been found yet.
    bool passed = false;
    for (;;) {
      std::optional<RunSource::Request> wait_for;
      const auto stretch =
          catalog_.PointsAfter(wanted.topic, known, kPointsOfARecordedEvent, &wait_for, since_);
      if (!stretch.ok()) {
        if (!Read(*wait_for)) return false;
        continue;
      }
      const std::span<const Point> points = stretch->points;
      const std::size_t earlier = passes ? CountEarlier(points) : 0;
      const RunCatalog::Place next = {stretch->generation, stretch->first + earlier};
      if (earlier > 0 && earlier == points.size()) {
        passed = true;
        known = {next};
        continue;
      }
      const bool begins = passes && (passed || earlier > 0 || stretch->passed);
      if (begins && !page_.AddBeginning(wanted.topic, next.generation, next.position)) return false;
      any_ = any_ || begins;
      passes = false;
      if (points.empty()) return true;
      const auto rest = points.subspan(earlier);
      if (!page_.Add(wanted.topic, SpanOf(next.generation, next.position, rest.size()),
                     ToMessage(stretch->run, stretch->tag, rest))) {
        return false;
      }
      any_ = true;
      known = {{next.generation, next.position + rest.size()}};
    }
  }

  absl::StatusOr<msg::SinceReplyT> Take() {
    if (!status_.ok() && !any_) return status_;
    msg::SinceReplyT reply = page_.Take();
    reply.more = reply.more || more_;
    return reply;
  }

 private:
  // Waits for a run to be read; for another one with the next page, if there is anything in this.
  bool Read(const RunSource::Request& request) {
    more_ = any_ && read_;
    if (more_) return false;
    read_ = true;
    status_ = catalog_.LookWithin(until_ - catalog_.Monotonic(), request,
                                  [](const RunSource::View&) { return absl::OkStatus(); });
    // A run that has gone meanwhile has no points.
    if (absl::IsNotFound(status_)) status_ = absl::OkStatus();
    more_ = !status_.ok();
    return status_.ok();
  }

  std::size_t CountEarlier(std::span<const Point> points) const {
    const auto first = std::find_if(points.begin(), points.end(),
                                    [&](const Point& point) { return point.wall_time >= since_; });
    return static_cast<std::size_t>(first - points.begin());
  }

  RunCatalog& catalog_;
  const double since_;  // Seconds since 1970; 0: all.
  const absl::Duration until_ = catalog_.Monotonic() + kSinceWithin;
  bus::SincePage page_;
  absl::Status status_;
  bool any_ = false;
  bool read_ = false;
  bool more_ = false;
};

}  // namespace

void PublishPoints(const PublishEvent& publish, const std::string& run, const std::string& tag,
                   std::uint64_t generation, std::uint64_t first,
                   const std::vector<Point>& points) {
  const std::string topic = bus::TopicOf({"m", run, tag});
  const std::span<const Point> all = points;
  for (std::size_t at = 0; at < all.size(); at += kPointsOfAnEvent) {
    const auto some = all.subspan(at, std::min(kPointsOfAnEvent, all.size() - at));
    msg::EnvelopeT event;
    event.span = std::make_unique<msg::Span>(SpanOf(generation, first + at, some.size()));
    event.body.Set(ToMessage(run, tag, some));
    const absl::Status status = publish(topic, std::move(event));
    if (!status.ok()) LOG(WARNING) << "Points of " << topic << " not published: " << status;
  }
}

absl::StatusOr<msg::EndsReplyT> EndsOfPoints(RunCatalog& catalog,
                                             const msg::EndsRequestT& request) {
  const absl::Status scanned = catalog.CheckScanned();
  if (!scanned.ok()) return scanned;
  bus::EndsPage page(request);
  const absl::Status visited = catalog.VisitTopics(
      request.prefix, request.after,
      [&](const std::string& topic, std::uint64_t generation, std::uint64_t points) {
        return page.Add(topic, generation, points);
      });
  if (!visited.ok()) return visited;
  return page.Take();
}

absl::StatusOr<msg::SinceReplyT> PointsSince(RunCatalog& catalog,
                                             const msg::SinceRequestT& request) {
  const absl::Status scanned = catalog.CheckScanned();
  if (!scanned.ok()) return scanned;
  Answer answer(catalog, request.since_us);
  for (const Wanted& wanted : WantedBy(request)) {
    if (!answer.Add(wanted)) break;
  }
  return answer.Take();
}

}  // namespace datamanager
