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
  explicit Answer(RunCatalog& catalog) : catalog_(catalog) {}

  // False: there is more, for the next page, or it has failed.
  bool Add(const Wanted& wanted) {
    std::vector<RunCatalog::Place> known = wanted.known;
    for (;;) {
      std::optional<RunSource::Request> wait_for;
      const auto stretch =
          catalog_.PointsAfter(wanted.topic, known, kPointsOfARecordedEvent, &wait_for);
      if (!stretch.ok()) {
        if (!Read(*wait_for)) return false;
        continue;
      }
      if (stretch->points.empty()) return true;
      if (!page_.Add(wanted.topic,
                     SpanOf(stretch->generation, stretch->first, stretch->points.size()),
                     ToMessage(stretch->run, stretch->tag, stretch->points))) {
        return false;
      }
      any_ = true;
      known = {{stretch->generation, stretch->first + stretch->points.size()}};
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

  RunCatalog& catalog_;
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
  Answer answer(catalog);
  for (const Wanted& wanted : WantedBy(request)) {
    if (!answer.Add(wanted)) break;
  }
  return answer.Take();
}

}  // namespace datamanager
