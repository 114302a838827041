#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bus/event/subscriber.h"
#include "bus/schema/registry_methods.h"
#include "runtime/counted.h"
#include "runtime/mutex.h"
#include "runtime/text/printable.h"
#include "tools/yard/event/rate_window.h"
#include "tools/yard/follow/follow.h"
#include "tools/yard/follow/json_output.h"
#include "tools/yard/services/failure.h"
#include "tools/yard/text/table.h"
#include "tools/yard/verbs/verbs.h"

namespace yard {
namespace {

constexpr absl::Duration kConnect = absl::Seconds(5);
constexpr absl::Duration kEvery = absl::Seconds(1);  // Interval of reports.
// Limit of topics measured at once; nobody could read more.
constexpr std::size_t kMaxTopics = 100;

// Statistics of events: the bus thread feeds them, another thread reports them. Thread-safe.
class Meter {
 public:
  Meter(runtime::Clock* clock, absl::Duration window) : clock_(clock), window_(window) {}

  void Hear(std::string_view topic, const msg::Envelope& event, std::size_t bytes) {
    const absl::Duration now = clock_->Monotonic();
    const absl::Duration delay = clock_->Now() - absl::FromUnixMicros(event.head()->sent_us());
    runtime::MutexLock lock(mutex_);
    if (RateWindow* const window = Find(topic); window != nullptr) window->Add(now, bytes, delay);
  }
  void Lose(std::string_view topic, std::uint64_t events) {
    runtime::MutexLock lock(mutex_);
    if (events == 0) {
      restarts_ += 1;
    } else if (RateWindow* const window = Find(topic); window != nullptr) {
      window->AddLost(events);
    }
  }
  void Close() {
    runtime::MutexLock lock(mutex_);
    closed_ = true;
    changed_.SignalAll();
  }

  struct Report {
    std::vector<std::pair<std::string, RateWindow::Report>> topics;  // With events; sorted.
    std::uint64_t left_out = 0;  // Events of topics above the limit.
    std::uint64_t restarts = 0;  // Restarts of the hub; events lost meanwhile are unknown.
    bool closed = false;
  };
  // Returns the report of `time`, or earlier if Close() is called. Blocks.
  Report ReportAt(absl::Duration time) {
    runtime::MutexLock lock(mutex_);
    while (!closed_ && clock_->Monotonic() < time) {
      (void)clock_->WaitUntil(changed_, mutex_, time);
    }
    Report report;
    // Topics that were silent for a whole window are dropped, to make room for others.
    for (auto window = windows_.begin(); window != windows_.end();) {
      const RateWindow::Report of = window->second.Describe(clock_->Monotonic());
      if (of.events > 0) report.topics.emplace_back(window->first, of);
      window = of.events > 0 ? std::next(window) : windows_.erase(window);
    }
    report.left_out = left_out_;
    report.restarts = restarts_;
    report.closed = closed_;
    return report;
  }

 private:
  RateWindow* Find(std::string_view topic) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    auto found = windows_.find(topic);
    if (found == windows_.end()) {
      if (windows_.size() >= kMaxTopics) {
        ++left_out_;
        return nullptr;
      }
      found = windows_.emplace(std::string(topic), RateWindow(window_)).first;
    }
    return &found->second;
  }

  runtime::Clock* const clock_;
  const absl::Duration window_;
  runtime::Mutex mutex_;
  runtime::CondVar changed_;
  std::map<std::string, RateWindow, std::less<>> windows_ ABSL_GUARDED_BY(mutex_);
  std::uint64_t left_out_ ABSL_GUARDED_BY(mutex_) = 0;
  std::uint64_t restarts_ ABSL_GUARDED_BY(mutex_) = 0;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
};

std::string Milliseconds(double seconds) { return ShortNumber(seconds * 1e3); }
// Returns "12.3 MB", or "?" for a negative (unknown) number.
std::string Bytes(double bytes) {
  return bytes >= 0 ? ShortBytes(static_cast<std::uint64_t>(bytes)) : "?";
}

std::string RateText(const RateWindow::Report& report) {
  if (!(report.hz > 0)) return "1 event";
  return absl::StrCat(ShortNumber(report.hz), " Hz, ", runtime::Counted(report.events, "event"),
                      ", ", Milliseconds(report.min_interval), " to ",
                      Milliseconds(report.max_interval), " ms apart (deviation ",
                      Milliseconds(report.interval_deviation), " ms)");
}

std::string BandwidthText(const RateWindow::Report& report) {
  return absl::StrCat(Bytes(report.bytes_per_second), "/s, ",
                      runtime::Counted(report.events, "event"), " of ", Bytes(report.min_bytes),
                      " to ", Bytes(report.max_bytes), " (mean ", Bytes(report.mean_bytes), ")");
}

std::string DelayText(const RateWindow::Report& report) {
  std::string text =
      absl::StrCat("p50 ", Milliseconds(report.median_delay), " ms, p99 ",
                   Milliseconds(report.p99_delay), " ms, max ", Milliseconds(report.max_delay),
                   " ms, ", runtime::Counted(report.events, "event"));
  if (report.from_the_future > 0) {
    absl::StrAppend(&text, ", ", report.from_the_future, " heard before they were sent (clocks)");
  }
  return text;
}

nlohmann::json RateJson(const RateWindow::Report& report) {
  return {{"hz", NumberToJson(report.hz)},
          {"min_s", NumberToJson(report.min_interval)},
          {"max_s", NumberToJson(report.max_interval)},
          {"deviation_s", NumberToJson(report.interval_deviation)}};
}

nlohmann::json BandwidthJson(const RateWindow::Report& report) {
  return {{"bytes_per_s", NumberToJson(report.bytes_per_second)},
          {"min_bytes", NumberToJson(report.min_bytes)},
          {"mean_bytes", NumberToJson(report.mean_bytes)},
          {"max_bytes", NumberToJson(report.max_bytes)}};
}

nlohmann::json DelayJson(const RateWindow::Report& report) {
  return {{"p50_s", NumberToJson(report.median_delay)},
          {"p99_s", NumberToJson(report.p99_delay)},
          {"max_s", NumberToJson(report.max_delay)},
          {"clock", report.from_the_future}};
}

struct Measure {
  const char* name;
  std::string (*text)(const RateWindow::Report& report);
  nlohmann::json (*json)(const RateWindow::Report& report);
};
constexpr Measure kMeasures[] = {{"hz", RateText, RateJson},
                                 {"bw", BandwidthText, BandwidthJson},
                                 {"delay", DelayText, DelayJson}};

class Topic : public Verb {
 public:
  void Declare(OptionSet& options) override {
    options.Add("what", what_, "ls, or hz, bw, delay: what is measured each second.",
                OptionSet::Need::kRequired);
    options.Add("topic", topic_, "Topics that begin so (ls: default all).");
    options.Add("--window", window_, "Measure the last so many seconds (default: 10).");
    options.Add("-n", count_, "End after N reports.");
    options.Add("--timeout", timeout_, "Seconds to listen; exit 5 if nothing, or not -n, came.");
  }

  int Run(Context& context) override {
    if (what_ == "ls") return List(context);
    const auto* const measure = std::find_if(std::begin(kMeasures), std::end(kMeasures),
                                             [&](const Measure& m) { return what_ == m.name; });
    if (measure == std::end(kMeasures)) {
      return Fail(
          context, "topic",
          absl::InvalidArgumentError(absl::StrCat("\"", what_, "\" is none of ls, hz, bw, delay")));
    }
    if (topic_.empty()) {
      return Fail(context, "topic", absl::InvalidArgumentError("which topic is to be measured?"));
    }
    return Listen(context, *measure);
  }

 private:
  int List(Context& context) const {
    auto client = context.client();
    if (!client.ok()) return Fail(context, "topic", client.status());
    Table table({"TOPIC", "TYPE", ">EVENTS", ">BYTES", ">LAST", ">SUBSCRIBERS"});
    msg::TopicsRequestT request;
    request.prefix = topic_;
    std::uint64_t topics = 0;
    for (;;) {
      const auto page = (*client)->Call<rpc::Registry::Topics>(request, Patient());
      if (!page.ok()) return Fail(context, "topic", page.status());
      for (const auto& info : page->topics) {
        ++topics;
        if (context.json) {
          PrintJson(context, ToJsonRow(*info));
        } else {
          AddRow(context, *info, &table);
        }
      }
      if (!page->more || page->topics.empty()) break;
      request.after = page->topics.back()->topic;
    }
    if (context.json) return kDone;
    *context.out << table.ToString(context.out_width());
    *context.err << runtime::Counted(topics, "topic") << " since the registry was started\n";
    return kDone;
  }

  static void AddRow(const Context& context, const msg::TopicInfoT& info, Table* table) {
    const absl::Duration age = context.clock->Now() - absl::FromUnixMicros(info.last_us);
    table->AddRow({info.topic, info.type.empty() ? "?" : info.type, absl::StrCat(info.events),
                   ShortBytes(info.bytes), ShortDuration(age), absl::StrCat(info.subscribers)});
  }

  static nlohmann::json ToJsonRow(const msg::TopicInfoT& info) {
    return {{"topic", info.topic},
            {"type", info.type},
            {"payload", info.is_payload},
            {"events", info.events},
            {"bytes", info.bytes},
            {"first", TimeToJson(info.first_us)},
            {"last", TimeToJson(info.last_us)},
            {"seq", info.last_seq},
            {"subscribers", info.subscribers}};
  }

  // Subscribes without a bus::Client: events that a client recovers arrive late and not from the
  // hub.
  int Listen(Context& context, const Measure& measure) const {
    auto node = context.node();
    if (!node.ok()) return Fail(context, "topic", node.status());
    // The meter is shared because an interrupt handler may still use it when this function returns.
    const auto meter = std::make_shared<Meter>(
        context.clock, window_ > 0 ? absl::Seconds(window_) : absl::Seconds(10));
    if (context.interrupt != nullptr) context.interrupt->Handle([meter] { meter->Close(); });
    const int code = Measured(context, **node, measure, *meter);
    if (context.interrupt != nullptr) context.interrupt->Handle({});
    return code;
  }

  int Measured(Context& context, bus::Node& node, const Measure& measure, Meter& meter) const {
    bus::Subscriber::Options options;
    options.prefixes = {topic_};
    options.on_message = [&meter](std::string_view topic, const msg::Envelope& event,
                                  std::span<const std::uint8_t> message) {
      meter.Hear(topic, event, message.size());
    };
    options.on_lost = [&meter](std::string_view topic, std::uint64_t lost) {
      meter.Lose(topic, lost);
    };
    bus::Subscriber subscriber(&node, std::move(options));
    if (!subscriber.WaitUntilConnected(kConnect).ok()) {
      return Fail(context, "topic",
                  absl::UnavailableError("the registry's event hub cannot be heard; yard status"));
    }
    *context.err << "yard topic: listening\n";
    context.err->flush();
    return Reports(context, measure, meter);
  }

  int Reports(Context& context, const Measure& measure, Meter& meter) const {
    const absl::Duration begin = context.clock->Monotonic();
    const absl::Duration end =
        timeout_ > 0 ? begin + absl::Seconds(timeout_) : absl::InfiniteDuration();
    std::uint64_t reports = 0, left_out = 0, restarts = 0;
    for (int i = 1;; ++i) {
      const absl::Duration time = std::min(begin + i * kEvery, end);
      const Meter::Report report = meter.ReportAt(time);
      if (report.closed) return count_ == 0 ? kDone : kInterrupted;
      for (const auto& [topic, of] : report.topics) Print(context, measure, topic, of);
      context.out->flush();
      if (!context.out->good()) return kDone;  // The reader of stdout is gone.
      if (std::exchange(restarts, report.restarts) != report.restarts) {
        *context.err << "yard topic: the registry was restarted: events may be lost\n";
      }
      if (std::exchange(left_out, report.left_out) == 0 && report.left_out > 0) {
        *context.err << "yard topic: more than " << kMaxTopics
                     << " topics: the others are left out\n";
      }
      reports += report.topics.empty() ? 0 : 1;
      if (count_ > 0 && reports == count_) return kDone;
      if (time == end) break;
      // Reports that were due while this process was suspended are skipped.
      i = std::max(i, static_cast<int>((context.clock->Monotonic() - begin) / kEvery));
    }
    if (count_ == 0 && reports > 0) return kDone;
    return Fail(context, "topic",
                absl::DeadlineExceededError(
                    count_ == 0 ? absl::StrCat("nothing came on ", topic_)
                                : absl::StrCat("timed out after ", reports, " of ",
                                               runtime::Counted(count_, "report"))));
  }

  static void Print(Context& context, const Measure& measure, const std::string& topic,
                    const RateWindow::Report& report) {
    if (context.json) {
      nlohmann::json line = measure.json(report);
      line["topic"] = topic;
      line["events"] = report.events;
      line["lost"] = report.lost;
      return PrintJson(context, line);
    }
    *context.out << runtime::Printable(topic) << "  " << measure.text(report);
    if (report.lost > 0) *context.out << ", " << report.lost << " lost";
    *context.out << "\n";
  }

  std::string what_, topic_;
  double window_ = 0, timeout_ = 0;
  std::uint64_t count_ = 0;
};

}  // namespace

std::unique_ptr<Verb> MakeTopic() { return std::make_unique<Topic>(); }

}  // namespace yard
