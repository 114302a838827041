#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "bus/schema/registry_methods.h"
#include "runtime/counted.h"
#include "runtime/mutex.h"
#include "runtime/text/printable.h"
#include "runtime/text/random_id.h"
#include "tools/yard/cli/publish_pace.h"
#include "tools/yard/event/event_maker.h"
#include "tools/yard/event/event_replay.h"
#include "tools/yard/follow/follow.h"
#include "tools/yard/follow/input_line_reader.h"
#include "tools/yard/follow/json_output.h"
#include "tools/yard/json/message_json.h"
#include "tools/yard/services/failure.h"
#include "tools/yard/text/event_template.h"
#include "tools/yard/verbs/verbs.h"

namespace yard {
namespace {

// Limits of one request: number of events, and bytes.
constexpr std::size_t kEventsAtOnce = 500;
constexpr std::size_t kBytesAtOnce = 512 << 10;  // The bus limits a request to 1 MiB.
constexpr std::size_t kOverhead = 64;            // Overhead of an event in a request, in bytes.
constexpr std::size_t kMaxTextBytes = 1 << 20;
constexpr absl::Duration kWait = absl::Seconds(60);
// A publisher up to this late has kept its pace.
constexpr absl::Duration kLateness = absl::Milliseconds(100);
constexpr const char* kJson = "json";

// Returns the size of an event in a request.
std::size_t BytesOf(const msg::NewEventT& event) {
  return event.topic.size() + event.payload.size() + event.envelope.size() + kOverhead;
}

constexpr std::uint64_t kNotGiven = std::numeric_limits<std::uint64_t>::max();

// Source of the texts that become events.
class Texts {
 public:
  virtual ~Texts() = default;
  // Returns true if Next() has a text or an error to return. May block.
  virtual bool More() = 0;
  virtual bool MoreWouldWait() const = 0;
  // Requires More().
  virtual absl::StatusOr<std::string> Next() = 0;
  // Position of the text that Next() returned last, as a prefix for errors: "line 3: ".
  virtual std::string Place() const = 0;
};

class FilledTexts : public Texts {
 public:
  FilledTexts(std::string text, bool is_template, std::uint64_t count, runtime::Clock* clock)
      : text_(std::move(text)),
        fills_(is_template && absl::StrContains(text_, "{{")),
        count_(count),
        clock_(clock) {}
  bool More() override { return made_ < count_; }
  bool MoreWouldWait() const override { return false; }
  absl::StatusOr<std::string> Next() override {
    ++made_;
    if (!fills_) return text_;
    return FillTemplate(text_,
                        {.count = made_, .time = clock_->Now(), .random = runtime::RandomId()});
  }
  std::string Place() const override {
    return made_ > 1 ? absl::StrCat("event ", made_, ": ") : "";
  }

 private:
  const std::string text_;
  const bool fills_;
  const std::uint64_t count_;
  runtime::Clock* const clock_;
  std::uint64_t made_ = 0;
};

class LineTexts : public Texts {
 public:
  // With `count` 0, reads all lines.
  LineTexts(int fd, std::uint64_t count) : reader_(fd, kMaxTextBytes), count_(count) {}
  bool More() override {
    if (!next_.has_value()) {
      if (count_ > 0 && reader_.number() == count_) return false;
      next_ = reader_.Next();
    }
    return !next_->ok() || (*next_)->has_value();
  }
  bool MoreWouldWait() const override { return !next_.has_value() && !reader_.HasLine(); }
  absl::StatusOr<std::string> Next() override {
    const auto line = *std::exchange(next_, std::nullopt);
    if (!line.ok()) return line.status();
    return **line;
  }
  std::string Place() const override { return absl::StrCat("line ", reader_.number(), ": "); }

 private:
  InputLineReader reader_;
  const std::uint64_t count_;
  std::optional<absl::StatusOr<std::optional<std::string>>> next_;
};

// Groups events into batches that fit into one request.
class Batches {
 public:
  struct Batch {
    std::vector<std::unique_ptr<msg::NewEventT>> events;
    absl::Status why_last;  // If not OK, why no more events follow these.
  };
  Batches(Texts* texts, const EventMaker* maker) : texts_(*texts), maker_(*maker) {}

  // Returns true if there is another event or error. May block.
  bool More() { return next_ != nullptr || texts_.More(); }
  // Returns at most `count` events. Blocks for the first only; the others are those available at
  // once. Events before a wrong text are still returned.
  Batch Next(std::uint64_t count) {
    Batch batch;
    std::size_t bytes = 0;
    while (batch.events.size() < count) {
      if (next_ == nullptr) {
        if (!batch.events.empty() && texts_.MoreWouldWait()) break;
        if (!texts_.More()) break;
        batch.why_last = Make();
        if (!batch.why_last.ok()) break;
      }
      bytes += BytesOf(*next_);
      if (!batch.events.empty() && bytes > kBytesAtOnce) break;
      batch.events.push_back(std::move(next_));
    }
    return batch;
  }

 private:
  absl::Status Make() {
    const auto text = texts_.Next();
    if (!text.ok()) return text.status();
    auto event = maker_.Make(*text);
    if (!event.ok()) {
      return absl::Status(event.status().code(),
                          absl::StrCat(texts_.Place(), event.status().message()));
    }
    next_ = *std::move(event);
    return absl::OkStatus();
  }

  Texts& texts_;
  const EventMaker& maker_;
  std::unique_ptr<msg::NewEventT> next_;
};

// Totals of the events that have been published.
struct Published {
  std::uint64_t events = 0;
  std::uint64_t first_seq = 0, last_seq = 0;
  std::uint32_t subscribers = 0;        // At the last request.
  std::uint32_t least_subscribers = 0;  // Minimum over all requests.
  absl::Duration late = absl::ZeroDuration();
};

class Pub : public Verb {
 public:
  void Declare(OptionSet& options) override {
    options.Add("topic", topic_, "Where to: e/... (a missing / at its end is added).");
    options.Add("json", text_,
                "What: JSON with {{count}} {{time}} {{id}} {{random}}; - for stdin.");
    options.Flag("--raw", raw_, "Send the text as it is.");
    options.Add("--type", type_, "A message, as TrialEvent; json for none. Default: the topic's.");
    options.Flag("--stdin", stdin_, "Each line of stdin is an event.");
    options.Add("--replay", replay_,
                "Events that yard sub --dump has kept (below TOPIC, if given).");
    options.Add("--speed", speed_, "Replay so many times as fast (default: 1; 0: at once).");
    options.Add("-n", count_, "Publish N events (default: 1; with --stdin all lines).");
    options.Add("--rate", rate_, "Events a second (default: as fast as it goes).");
    options.Add("-w,--wait", wait_, "Wait until N subscriptions of the topic are there.");
    options.Add("--timeout", timeout_, "Seconds to wait for them (default: 60); then exit 5.");
    options.Add("--require", require_, "Exit 1 if fewer than N subscriptions got an event.");
  }

  int Run(Context& context) override {
    if (!topic_.empty() && !absl::EndsWith(topic_, "/")) topic_ += '/';
    Published published;
    const absl::Status done =
        replay_.empty() ? PublishTexts(context, &published) : Replay(context, &published);
    if (published.events > 0) Say(context, published);
    if (!done.ok()) return Fail(context, "pub", done);
    if (published.late > kLateness) {
      *context.err << "yard pub: the rate was not kept: up to "
                   << absl::FormatDuration(absl::Trunc(published.late, absl::Milliseconds(1)))
                   << " late\n";
    }
    if (published.least_subscribers >= require_) return kDone;
    *context.err << "yard pub: " << runtime::Counted(published.least_subscribers, "subscription")
                 << " of " << runtime::Printable(topic_) << " when it was published, " << require_
                 << " required\n";
    return kFailed;
  }

 private:
  absl::Status PublishTexts(Context& context, Published* published) {
    auto texts = Open(context);
    if (!texts.ok()) return texts.status();
    auto client = context.client();
    if (!client.ok()) return client.status();
    auto maker = MakeMaker(**client);
    if (!maker.ok()) return maker.status();
    return PublishAll(context, **client, **texts, *maker, published);
  }

  // Publishes the first event at once, and each other one when it is due relative to that.
  absl::Status Replay(Context& context, Published* published) const {
    if (count_ == 0 || !text_.empty() || stdin_ || raw_ || !type_.empty()) {
      return absl::InvalidArgumentError("--replay takes its events from the file alone");
    }
    if (!(speed_ >= 0)) return absl::InvalidArgumentError("--speed is 0 or more");
    auto replay =
        EventReplay::Open({.path = replay_, .root = topic_, .speed = speed_, .rate = rate_});
    if (!replay.ok()) return replay.status();
    auto client = context.client();
    if (!client.ok()) return client.status();
    absl::Duration start = context.clock->Monotonic();
    auto next = replay->Next();
    while (published->events < count_ && next.ok() && next->has_value()) {
      WaitUntil(context, start + (*next)->due);
      const bool first = published->events == 0;
      const absl::Duration passed = context.clock->Monotonic() - start;
      published->late = std::max(published->late, passed - (*next)->due);
      std::vector<std::unique_ptr<msg::NewEventT>> events;
      std::size_t bytes = 0;
      do {
        bytes += BytesOf(*(*next)->event);
        if (!events.empty() && bytes > kBytesAtOnce) break;
        events.push_back(std::move((*next)->event));
        next = replay->Next();
      } while (next.ok() && next->has_value() && (*next)->due <= passed + PublishPace::kTogether &&
               !first &&
               events.size() < std::min<std::uint64_t>(kEventsAtOnce, count_ - published->events));
      const absl::Status sent = Send(**client, std::move(events), published);
      if (!sent.ok()) return Behind(*published, sent);
      // The clock starts after the first request, which may have waited for subscribers.
      if (first) start = context.clock->Monotonic();
    }
    if (!next.ok()) return Behind(*published, next.status());
    if (replay->torn()) *context.err << "yard pub: the last event of the file is not whole\n";
    return absl::OkStatus();
  }

  static absl::Status Behind(const Published& published, const absl::Status& why) {
    if (published.events == 0) return why;
    return absl::Status(
        why.code(),
        absl::StrCat("after ", runtime::Counted(published.events, "event"), ": ", why.message()));
  }

  absl::StatusOr<std::unique_ptr<Texts>> Open(const Context& context) {
    if (topic_.empty()) return absl::InvalidArgumentError("on which topic? yard pub e/note/ ...");
    if (count_ == 0) return absl::InvalidArgumentError("-n 0: nothing would be published");
    if (raw_ && !type_.empty()) {
      return absl::InvalidArgumentError("--raw sends text, which has no --type");
    }
    if (stdin_) {
      if (!text_.empty()) return absl::InvalidArgumentError("an event and --stdin: which?");
      return std::make_unique<LineTexts>(context.in, count_ == kNotGiven ? 0 : count_);
    }
    if (text_.empty()) {
      return absl::InvalidArgumentError("what is to be published? JSON, -, or --stdin");
    }
    std::string text = text_;
    if (text == "-") {
      auto all = InputLineReader(context.in, kMaxTextBytes).Rest();
      if (!all.ok()) return all.status();
      text = *std::move(all);
    } else if (!raw_ && type_.empty()) {
      // The JSON is checked before any call. Relaxed JSON is accepted only with --type.
      const absl::Status good = CheckJson(FillTemplate(text, {.time = context.clock->Now()}));
      if (!good.ok()) return good;
    }
    const bool is_template = !raw_ && text_ != "-";
    return std::make_unique<FilledTexts>(std::move(text), is_template,
                                         count_ == kNotGiven ? 1 : count_, context.clock);
  }

  // Without --type, events get the type of the topic's earlier events.
  absl::StatusOr<EventMaker> MakeMaker(bus::Client& client) {
    std::string type = type_;
    if (type.empty() && !raw_ && absl::StartsWith(topic_, "e/")) {
      msg::TopicsRequestT request;
      request.prefix = topic_;
      request.exact = true;
      const auto known = client.Call<rpc::Registry::Topics>(request, Patient());
      if (!known.ok()) return known.status();
      if (!known->topics.empty() && !known->topics[0]->is_payload) type = known->topics[0]->type;
    }
    if (type == kJson) type.clear();
    if (!type.empty()) {
      auto messages = MessageJson::Load();
      if (!messages.ok()) return messages.status();
      messages_ = *std::move(messages);
    }
    return EventMaker({.topic = topic_, .raw = raw_, .type = type, .messages = messages_.get()});
  }

  absl::Status PublishAll(Context& context, bus::Client& client, Texts& texts,
                          const EventMaker& maker, Published* published) const {
    PublishPace pace(rate_, context.clock->Monotonic());
    Batches batches(&texts, &maker);
    // With --wait, the first event goes alone: the pace starts once subscribers exist.
    bool alone = wait_ > 0;
    while (batches.More()) {
      WaitUntil(context, pace.TimeOf(published->events));
      const absl::Duration now = context.clock->Monotonic();
      const std::uint64_t due = alone ? 1 : pace.DueBy(now) - published->events;
      Batches::Batch batch = batches.Next(std::min<std::uint64_t>(due, kEventsAtOnce));
      if (batch.events.empty()) return batch.why_last;
      if (rate_ > 0 && !alone) {
        published->late = std::max(published->late, now - pace.TimeOf(published->events));
      }
      if (absl::Status sent = Send(client, std::move(batch.events), published); !sent.ok()) {
        return Behind(*published, sent);
      }
      if (!batch.why_last.ok()) return batch.why_last;
      if (alone) pace = PublishPace(rate_, context.clock->Monotonic());
      alone = false;
    }
    return absl::OkStatus();
  }

  absl::Status Send(bus::Client& client, std::vector<std::unique_ptr<msg::NewEventT>> events,
                    Published* published) const {
    msg::PublishRequestT request;
    const std::uint64_t count = events.size();
    if (count == 1) {
      request.topic = events[0]->topic;
      request.payload = std::move(events[0]->payload);
      request.payload_type = events[0]->payload_type;
      request.envelope = std::move(events[0]->envelope);
    } else {
      request.events = std::move(events);
    }
    bus::CallOptions options = Patient();
    if (published->events == 0 && wait_ > 0) {
      request.min_subscribers = wait_;
      const absl::Duration time = timeout_ > 0 ? absl::Seconds(timeout_) : kWait;
      // The registry answers before the call times out: a quarter of the time, at most half a
      // second, earlier.
      options.timeout = time + std::min(time / 3, absl::Milliseconds(500));
    }
    const auto reply = client.Call<rpc::Registry::Publish>(request, options);
    if (!reply.ok()) return reply.status();
    if (published->events == 0) {
      published->first_seq = reply->seqs.empty() ? reply->seq : reply->seqs.front();
      published->least_subscribers = reply->subscribers;
    }
    published->events += count;
    published->last_seq = reply->seq;
    published->subscribers = reply->subscribers;
    published->least_subscribers = std::min(published->least_subscribers, reply->subscribers);
    return absl::OkStatus();
  }

  static void WaitUntil(Context& context, absl::Duration time) {
    runtime::Mutex mutex;
    runtime::CondVar never;
    runtime::MutexLock lock(mutex);
    while (context.clock->Monotonic() < time) {
      (void)context.clock->WaitUntil(never, mutex, time);
    }
  }

  void Say(Context& context, const Published& published) const {
    if (!replay_.empty()) return SayReplayed(context, published);
    if (context.json) {
      return PrintJson(context, {{"topic", topic_},
                                 {"events", published.events},
                                 {"first_seq", published.first_seq},
                                 {"seq", published.last_seq},
                                 {"subscribers", published.subscribers}});
    }
    *context.out << runtime::Printable(topic_);
    if (published.events > 1) {
      *context.out << " " << published.events << " events, seq " << published.first_seq << " to "
                   << published.last_seq;
    } else {
      *context.out << " seq " << published.last_seq;
    }
    *context.out << ", " << runtime::Counted(published.subscribers, "subscriber") << "\n";
  }

  void SayReplayed(Context& context, const Published& published) const {
    if (context.json) {
      return PrintJson(context, {{"replay", replay_},
                                 {"events", published.events},
                                 {"subscribers", published.subscribers}});
    }
    *context.out << runtime::Printable(replay_) << ": "
                 << runtime::Counted(published.events, "event") << " published\n";
  }

  std::string topic_, type_;
  std::string text_;
  bool raw_ = false, stdin_ = false;
  std::uint64_t count_ = kNotGiven;
  std::string replay_;
  double rate_ = 0, speed_ = 1, timeout_ = 0;
  std::uint32_t wait_ = 0, require_ = 0;
  std::unique_ptr<MessageJson> messages_;
};

}  // namespace

std::unique_ptr<Verb> MakePub() { return std::make_unique<Pub>(); }

}  // namespace yard
