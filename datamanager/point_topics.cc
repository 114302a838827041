#include "datamanager/point_topics.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "bus/call/record_page.h"
#include "bus/wire/topic.h"
#include "datamanager/answer/run_answer_maker.h"
#include "datamanager/catalog/run_source.h"
#include "glog/logging.h"
#include "runtime/mutex.h"

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

struct TopicRequest {
  std::string topic;
  std::vector<PointPosition> known;  // One for each named lane.
};

// Groups the request by topic, in the order of the request.
std::vector<TopicRequest> TopicRequestsOf(const msg::SinceRequestT& request) {
  std::vector<TopicRequest> all;
  std::map<std::string_view, std::size_t> index;
  for (const auto& place : request.places) {
    const auto [known, fresh] = index.try_emplace(place->topic, all.size());
    if (fresh) all.push_back({place->topic, {}});
    all[known->second].known.push_back({place->lane, place->position});
  }
  return all;
}

// Calls a function once, on the first call.
class FirstCall {
 public:
  explicit FirstCall(std::function<void()> function) : function_(std::move(function)) {}
  void operator()() {
    std::function<void()> function;
    {
      runtime::MutexLock lock(mutex_);
      function.swap(function_);
    }
    if (function) function();
  }

 private:
  runtime::Mutex mutex_;
  std::function<void()> function_ ABSL_GUARDED_BY(mutex_);
};

// Makes one page. Waits for a run only while the page is empty.
class SinceAnswer : public RunAnswerMaker<msg::SinceReplyT> {
 public:
  SinceAnswer(const msg::SinceRequestT& request, RunCatalog* catalog, runtime::EventLoop* loop)
      : RunAnswerMaker(catalog),
        catalog_(*catalog),
        loop_(loop),
        requests_(TopicRequestsOf(request)),
        since_(static_cast<double>(request.since_us) / 1e6) {}

  absl::StatusOr<Part> Next() override {
    Page page;
    bool whole = true;
    for (; next_ < requests_.size() && whole; ++next_) {
      const absl::StatusOr<bool> added = Add(requests_[next_], page);
      if (!added.ok() && !page.any) return Late(added.status());
      whole = added.ok() && *added;
    }
    Part part{.reply = page.page.Take(), .last = true};
    part.reply.more = !whole;
    return part;
  }

  bool OnReady(std::function<void()> ready) override {
    // Once it waits for the run, another thread may own this object.
    runtime::EventLoop* const loop = loop_;
    const absl::Duration rest = until_ - catalog_.Monotonic();
    const auto first = std::make_shared<FirstCall>(std::move(ready));
    if (!RunAnswerMaker::OnReady([first] { (*first)(); })) return false;
    loop->RunAfter(rest, [weak = std::weak_ptr<FirstCall>(first)] {
      if (const auto waits = weak.lock(); waits != nullptr) (*waits)();
    });
    return true;
  }

 private:
  struct Page {
    bus::SincePage page;
    bool any = false;
  };

  // Returns false if the page is full. Unavailable: the run is being read, and OnReady() waits for
  // it.
  absl::StatusOr<bool> Add(const TopicRequest& request, Page& page) {
    std::vector<PointPosition> known = request.known;
    bool passes = since_ > 0;  // No point of that time was found yet.
    bool passed = false;
    for (;;) {
      std::optional<RunSource::Request> wait_for;
      const auto range = catalog_.topics().PointsAfter(request.topic, known,
                                                       kPointsOfARecordedEvent, &wait_for, since_);
      if (!range.ok()) {
        const absl::Status read =
            Read(*wait_for, [](const RunSource::View&) { return absl::OkStatus(); });
        // A run that was removed meanwhile has no points.
        if (!read.ok() && !absl::IsNotFound(read)) return read;
        continue;
      }
      const std::span<const Point> points = range->points;
      const std::size_t earlier = passes ? CountEarlier(points) : 0;
      const PointPosition next = {range->generation, range->first + earlier};
      if (earlier > 0 && earlier == points.size()) {
        passed = true;
        known = {next};
        continue;
      }
      const bool begins = passes && (passed || earlier > 0 || range->passed);
      if (begins && !page.page.AddBeginning(request.topic, next.generation, next.position)) {
        return false;
      }
      page.any = page.any || begins;
      passes = false;
      if (points.empty()) return true;
      const auto rest = points.subspan(earlier);
      if (!page.page.Add(request.topic, SpanOf(next.generation, next.position, rest.size()),
                         ToMessage(range->run, range->tag, rest))) {
        return false;
      }
      page.any = true;
      known = {{next.generation, next.position + rest.size()}};
    }
  }

  absl::Status Late(const absl::Status& status) const {
    if (!absl::IsUnavailable(status) || catalog_.Monotonic() < until_) return status;
    return absl::DeadlineExceededError(status.message());
  }

  std::size_t CountEarlier(std::span<const Point> points) const {
    const auto first = std::find_if(points.begin(), points.end(),
                                    [&](const Point& point) { return point.wall_time >= since_; });
    return static_cast<std::size_t>(first - points.begin());
  }

  RunCatalog& catalog_;
  runtime::EventLoop* const loop_;
  const std::vector<TopicRequest> requests_;
  const double since_;  // Seconds since 1970; 0: everything.
  const absl::Duration until_ = catalog_.Monotonic() + kSinceWithin;
  std::size_t next_ = 0;  // Index in requests_: earlier ones are done.
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
  const absl::Status visited = catalog.topics().VisitTopics(
      request.prefix, request.after,
      [&](const std::string& topic, std::uint64_t generation, std::uint64_t points) {
        return page.Add(topic, generation, points);
      });
  if (!visited.ok()) return visited;
  return page.Take();
}

absl::StatusOr<std::unique_ptr<AnswerMaker<msg::SinceReplyT>>> MakePointsSince(
    const msg::SinceRequestT& request, RunCatalog* catalog, runtime::EventLoop* loop) {
  const absl::Status scanned = catalog->CheckScanned();
  if (!scanned.ok()) return scanned;
  return std::make_unique<SinceAnswer>(request, catalog, loop);
}

}  // namespace datamanager
