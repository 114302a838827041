#include "datamanager/point_topics.h"

#include <algorithm>
#include <map>
#include <memory>
#include <span>
#include <utility>

#include "bus/record_page.h"
#include "bus/topic.h"
#include "glog/logging.h"

namespace datamanager {
namespace {

constexpr std::uint64_t kLane = 0;

msg::Span SpanOf(std::uint64_t first, std::size_t points) {
  return msg::Span(kLane, first, first + points);
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

absl::Status CheckScanned(const RunCatalog& catalog) {
  if (catalog.scanned()) return absl::OkStatus();
  return absl::UnavailableError("the runs are being read for the first time");
}

struct Wanted {
  std::string_view topic;
  std::uint64_t position;
};

// Each topic once, in the order of the request. One of which no known lane is named is wanted from
// its beginning.
std::vector<Wanted> WantedBy(const msg::SinceRequestT& request) {
  std::vector<Wanted> all;
  std::map<std::string_view, std::size_t> index;
  for (const auto& place : request.places) {
    const auto [known, fresh] = index.try_emplace(place->topic, all.size());
    if (fresh) all.push_back({place->topic, 0});
    if (place->lane == kLane) all[known->second].position = place->position;
  }
  return all;
}

class Answer {
 public:
  explicit Answer(RunCatalog& catalog) : catalog_(catalog) {}

  // False: there is more, for the next page.
  bool Add(const Wanted& wanted) {
    for (std::uint64_t position = wanted.position;;) {
      const RunCatalog::Stretch stretch =
          catalog_.PointsAfter(wanted.topic, position, kPointsOfARecordedEvent, !restored_);
      if (stretch.on_disk) more_ = true;
      if (stretch.points.empty()) return !more_;
      restored_ = restored_ || stretch.restored;
      if (!page_.Add(wanted.topic, SpanOf(position, stretch.points.size()),
                     ToMessage(stretch.run, stretch.tag, stretch.points))) {
        return false;
      }
      position += stretch.points.size();
    }
  }

  msg::SinceReplyT Take() {
    msg::SinceReplyT reply = page_.Take();
    reply.more = reply.more || more_;
    return reply;
  }

 private:
  RunCatalog& catalog_;
  bus::SincePage page_;
  bool restored_ = false;
  bool more_ = false;
};

}  // namespace

void PublishPoints(const PublishEvent& publish, const std::string& run, const std::string& tag,
                   std::uint64_t first, const std::vector<Point>& points) {
  const std::string topic = bus::TopicOf({"m", run, tag});
  const std::span<const Point> all = points;
  for (std::size_t at = 0; at < all.size(); at += kPointsOfAnEvent) {
    const auto some = all.subspan(at, std::min(kPointsOfAnEvent, all.size() - at));
    msg::EnvelopeT event;
    event.span = std::make_unique<msg::Span>(SpanOf(first + at, some.size()));
    event.body.Set(ToMessage(run, tag, some));
    const absl::Status status = publish(topic, std::move(event));
    if (!status.ok()) LOG(WARNING) << "Points of " << topic << " not published: " << status;
  }
}

absl::StatusOr<msg::EndsReplyT> EndsOfPoints(const RunCatalog& catalog,
                                             const msg::EndsRequestT& request) {
  const absl::Status scanned = CheckScanned(catalog);
  if (!scanned.ok()) return scanned;
  bus::EndsPage page(request);
  catalog.VisitTopics(request.prefix, request.after,
                      [&](const std::string& topic, std::uint64_t points) {
                        return page.Add(topic, kLane, points);
                      });
  return page.Take();
}

absl::StatusOr<msg::SinceReplyT> PointsSince(RunCatalog& catalog,
                                             const msg::SinceRequestT& request) {
  const absl::Status scanned = CheckScanned(catalog);
  if (!scanned.ok()) return scanned;
  Answer answer(catalog);
  for (const Wanted& wanted : WantedBy(request)) {
    if (!answer.Add(wanted)) break;
  }
  return answer.Take();
}

}  // namespace datamanager
