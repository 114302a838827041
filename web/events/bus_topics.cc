// The bus's thread adds to the pending events, under the mutex; the loop's thread hands them on at
// each pace. Lock order: none, there is one lock.

#include "web/events/bus_topics.h"

#include <iterator>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "bus/event/subscriber.h"
#include "bus/json/alert_json.h"
#include "bus/json/sweep_json.h"
#include "bus/json/things_json.h"
#include "bus/schema/envelope_generated.h"
#include "bus/wire/topic.h"
#include "runtime/mutex.h"

namespace web {
namespace {

using nlohmann::json;

constexpr std::string_view kYard = "yard";
constexpr std::string_view kRun = "run:";
constexpr std::string_view kLogs = "logs:";
constexpr std::string_view kSweep = "sweep:";

// Events that have come since the last pace.
struct Pending {
  using Series = std::pair<std::string, std::string>;  // Topic, tag.
  using Source = std::tuple<std::string, std::string, std::uint32_t, msg::LogStream>;
  struct Lines {
    std::uint64_t end = 0;
    std::vector<std::string> lines;
  };
  std::map<Series, msg::PointsT> points;
  std::map<Source, Lines> lines;
  struct Sweep {
    json sweep;
    std::map<std::uint64_t, json> trials;  // By number; the newest state of each.
  };
  std::map<std::string, Sweep> sweeps;  // By topic.
  std::map<std::string, json> trials, jobs, services, sweep_news, alerts;
  std::set<std::string> gaps;

  bool empty() const {
    return points.empty() && lines.empty() && trials.empty() && jobs.empty() && services.empty() &&
           sweeps.empty() && sweep_news.empty() && alerts.empty() && gaps.empty();
  }
};

json TrialNews(const msg::TrialT& trial) {
  json news = bus::ToJson(trial);
  for (const char* long_one : {"argv", "error_lines"}) news.erase(long_one);
  return news;
}

json LeaseNews(const msg::LeaseEvent& event) {
  const msg::Lease* lease = event.lease();
  const auto text = [](const flatbuffers::String* string) {
    return string == nullptr ? std::string() : string->str();
  };
  return {{"name", text(lease->name())},
          {"instance", text(lease->instance())},
          {"state", bus::StateName(lease->state())},
          {"reason", text(event.reason())}};
}

class Topics : public BusTopics {
 public:
  explicit Topics(Options options) : options_(std::move(options)) {}
  ~Topics() override {
    followed_.clear();  // No callback runs afterwards.
    options_.loop->Cancel(timer_);
    *alive_ = false;
  }

  void Follow(const std::string& topic) override {
    const auto prefixes = BusPrefixesOf(topic);
    if (prefixes.empty()) return;
    bus::Subscriber::Options options{.prefixes = prefixes};
    options.on_event = [this, topic](std::string_view, const msg::Envelope& event) {
      Add(topic, event);
    };
    options.on_lost = [this, topic](std::string_view, std::uint64_t) { AddGap(topic); };
    // Events published before the hub knew this subscriber, or while the hub was away, are lost.
    options.on_connected = [this, topic](std::uint64_t) { AddGap(topic); };
    followed_[topic] = std::make_unique<bus::Subscriber>(options_.node, std::move(options));
  }
  void Unfollow(const std::string& topic) override { followed_.erase(topic); }

 private:
  // On the bus's thread.
  void Add(const std::string& topic, const msg::Envelope& event) {
    const runtime::MutexLock lock(mutex_);
    if (const auto* points = event.body_as_Points()) {
      AddPoints(topic, *points);
    } else if (const auto* lines = event.body_as_LogLines()) {
      AddLines(topic, *lines);
    } else if (const auto* trial = event.body_as_TrialEvent()) {
      if (trial->trial() != nullptr) {
        const std::unique_ptr<msg::TrialT> news(trial->trial()->UnPack());
        pending_.trials[news->id] = TrialNews(*news);
      }
    } else if (const auto* sweep = event.body_as_SweepEvent()) {
      AddSweep(topic, *sweep);
    } else if (const auto* job = event.body_as_JobEvent()) {
      if (job->job() != nullptr) {
        const std::unique_ptr<msg::JobT> news(job->job()->UnPack());
        pending_.jobs[news->id] = {{"id", news->id}, {"state", bus::StateName(news->state)}};
      }
    } else if (const auto* alert = event.body_as_Alert()) {
      const std::unique_ptr<msg::AlertT> news(alert->UnPack());
      pending_.alerts[news->id] = bus::ToJson(*news);
    } else if (const auto* lease = event.body_as_LeaseEvent()) {
      if (lease->lease() != nullptr) {
        json news = LeaseNews(*lease);
        const std::string name = news["name"];
        pending_.services[name] = std::move(news);
      }
    }
    HandOnLater();
  }

  void AddPoints(const std::string& topic, const msg::Points& points)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const std::unique_ptr<msg::PointsT> news(points.UnPack());
    msg::PointsT& known = pending_.points[{topic, news->tag}];
    known.run = news->run;
    known.tag = news->tag;
    if (known.steps.size() + news->steps.size() > kMostPointsAtOnce) {
      pending_.gaps.insert(topic);
      return;
    }
    known.steps.insert(known.steps.end(), news->steps.begin(), news->steps.end());
    known.wall_times.insert(known.wall_times.end(), news->wall_times.begin(),
                            news->wall_times.end());
    known.values.insert(known.values.end(), news->values.begin(), news->values.end());
  }

  void AddLines(const std::string& topic, const msg::LogLines& lines)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const std::unique_ptr<msg::LogLinesT> news(lines.UnPack());
    Pending::Lines& known = pending_.lines[{topic, news->task, news->attempt, news->stream}];
    known.end = news->end_offset;
    if (known.lines.size() + news->lines.size() > kMostLinesAtOnce) {
      pending_.gaps.insert(topic);
      return;
    }
    for (std::string& line : news->lines) known.lines.push_back(std::move(line));
  }

  void AddSweep(const std::string& topic, const msg::SweepEvent& event)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (event.sweep() == nullptr) return;
    const std::unique_ptr<msg::SweepEventT> news(event.UnPack());
    if (topic == kYard) {
      pending_.sweep_news[news->sweep->id] = bus::ToJson(*news->sweep);
      return;
    }
    Pending::Sweep& known = pending_.sweeps[topic];
    known.sweep = bus::ToJson(*news->sweep);
    for (const auto& trial : news->trials) known.trials[trial->number] = bus::ToJson(*trial);
  }

  void AddGap(const std::string& topic) {
    const runtime::MutexLock lock(mutex_);
    pending_.gaps.insert(topic);
    HandOnLater();
  }

  void HandOnLater() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (is_armed_ || pending_.empty()) return;
    is_armed_ = true;
    options_.loop->Post([this, alive = alive_] {
      if (!*alive) return;
      timer_ = options_.loop->RunAfter(options_.pace, [this] { HandOn(); });
    });
  }

  // On the loop's thread.
  void HandOn() {
    Pending pending;
    {
      const runtime::MutexLock lock(mutex_);
      std::swap(pending, pending_);
      is_armed_ = false;
    }
    for (const auto& [id, news] : pending.trials) options_.on_event("yard", "trial", news, true);
    for (const auto& [id, news] : pending.jobs) options_.on_event("yard", "job", news, true);
    for (const auto& [id, news] : pending.services) {
      options_.on_event("yard", "service", news, true);
    }
    for (const auto& [id, news] : pending.alerts) options_.on_event("yard", "alert", news, true);
    for (const auto& [id, news] : pending.sweep_news) {
      options_.on_event("yard", "sweep", {{"sweep", news}}, true);
    }
    for (const auto& [topic, news] : pending.sweeps) HandOnSweep(topic, news);
    for (const auto& [series, points] : pending.points) HandOnPoints(series.first, points);
    for (const auto& [source, lines] : pending.lines) {
      options_.on_event(
          std::get<0>(source), "lines",
          {{"task", std::get<1>(source)},
           {"attempt", std::get<2>(source)},
           {"stream", std::get<3>(source) == msg::LogStream::Stderr ? "stderr" : "stdout"},
           {"end", lines.end},
           {"lines", lines.lines}},
          false);
    }
    for (const std::string& topic : pending.gaps) options_.on_gap(topic);
  }

  // If more trials have changed than one event may tell, the page of the sweep asks for them anew.
  void HandOnSweep(const std::string& topic, const Pending::Sweep& news) {
    if (news.trials.size() > kMostTrialsAtOnce) return options_.on_gap(topic);
    json trials = json::array();
    for (const auto& [number, trial] : news.trials) trials.push_back(trial);
    options_.on_event(topic, "sweep", {{"sweep", news.sweep}, {"trials", std::move(trials)}}, true);
  }

  void HandOnPoints(const std::string& topic, const msg::PointsT& points) {
    json values = json::array();
    for (const double value : points.values) values.push_back(bus::NumberToJson(value));
    options_.on_event(topic, "points",
                      {{"run", points.run},
                       {"tag", points.tag},
                       {"steps", points.steps},
                       {"times", points.wall_times},
                       {"values", std::move(values)}},
                      false);
  }

  const Options options_;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // The loop's.
  runtime::EventLoop::TimerId timer_ = 0;                             // The loop's.

  runtime::Mutex mutex_;
  Pending pending_ ABSL_GUARDED_BY(mutex_);
  bool is_armed_ ABSL_GUARDED_BY(mutex_) = false;

  // The last member, so that callbacks end before the members that they use. Used on the loop's
  // thread.
  std::map<std::string, std::unique_ptr<bus::Subscriber>> followed_;
};

}  // namespace

std::unique_ptr<BusTopics> BusTopics::Create(Options options) {
  return std::make_unique<Topics>(std::move(options));
}

bool IsTopic(std::string_view topic) { return !BusPrefixesOf(topic).empty(); }

std::vector<std::string> BusPrefixesOf(std::string_view topic) {
  if (topic == kYard) return {"t/", "s/launcher/", "$sys/reg/", "a/"};
  if (topic.starts_with(kRun) && topic.size() > kRun.size()) {
    return {bus::TopicOf({"m", topic.substr(kRun.size())})};
  }
  if (topic.starts_with(kLogs) && topic.size() > kLogs.size()) {
    return {bus::TopicOf({"l", topic.substr(kLogs.size())})};
  }
  if (topic.starts_with(kSweep) && topic.size() > kSweep.size()) {
    return {bus::TopicOf({"t", topic.substr(kSweep.size())})};
  }
  return {};
}

}  // namespace web
