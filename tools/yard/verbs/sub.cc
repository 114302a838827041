#include <algorithm>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "bus/event/subscriber.h"
#include "bus/schema/registry_methods.h"
#include "bus/thread/recovery.h"
#include "bus/wire/receive.h"
#include "runtime/counted.h"
#include "runtime/text/printable.h"
#include "tools/yard/event/event_dump.h"
#include "tools/yard/event/event_queue.h"
#include "tools/yard/event/event_view.h"
#include "tools/yard/follow/follow.h"
#include "tools/yard/follow/json_output.h"
#include "tools/yard/json/message_json.h"
#include "tools/yard/services/failure.h"
#include "tools/yard/text/quantities.h"
#include "tools/yard/text/table.h"
#include "tools/yard/verbs/verbs.h"

namespace yard {
namespace {

constexpr absl::Duration kConnect = absl::Seconds(5);

// Position of a topic's last printed value in the sequence of its source.
struct Place {
  std::uint64_t source = 0;
  std::uint64_t seq = 0;
};
using Places = std::map<std::string, Place>;

class Sub : public Verb {
 public:
  void Declare(OptionSet& options) override {
    options.Add("topic", topics_, "Topics that begin so, or like m/*/loss or t/> (default: all).");
    options.Add("-n", count_, "End after N events.");
    options.Add("--timeout", timeout_, "Seconds to listen; exit 5 if -n has not come by then.");
    options.Add("--since", since_, "Also what was since then (10m, 14:30), or from number N on.");
    options.Flag("--timestamps", timestamps_, "When it was sent, and how long it was on its way.");
    options.Add("--dump", dump_, "Keep events in this new file, for yard pub --replay.");
    options.Add("--max_bytes", max_bytes_,
                "Largest size of the file (default: 1GiB); then exit 1.");
    options.Flag("--last", last_, "Begin with the last event of each topic.");
    options.Add("--field", fields_,
                "Print this alone: row.step, row.metrics.loss, steps[*]; may be repeated.");
    options.Add("--filter", filter_, "Only events like 'row.metrics.loss>10 & !values[*]<0'.");
  }

  int Run(Context& context) override {
    if (topics_.empty()) topics_.push_back("");
    // The queue is shared because an interrupt handler may still use it when this function returns.
    const auto queue = std::make_shared<EventQueue>(EventQueue::Options{.clock = context.clock});
    const auto view = EventView::Make({.topics = topics_,
                                       .fields = fields_,
                                       .filter = filter_,
                                       .json = context.json,
                                       .for_terminal = context.out_is_terminal,
                                       .timestamps = timestamps_,
                                       .zone = context.zone(),
                                       .on_missing = [queue](std::string line) {
                                         queue->Add({.text = std::move(line), .is_notice = true});
                                       }});
    if (!view.ok()) return Fail(context, "sub", view.status());
    const auto beginning = ParseSince(context);
    if (!beginning.ok()) return Fail(context, "sub", beginning.status());
    auto messages = MessageJson::Load();
    if (!messages.ok()) return Fail(context, "sub", messages.status());
    auto node = context.node();
    if (!node.ok()) return Fail(context, "sub", node.status());
    auto client = context.client();
    if (!client.ok()) return Fail(context, "sub", client.status());
    auto dump = OpenDump();
    if (!dump.ok()) return Fail(context, "sub", dump.status());
    const absl::Duration deadline = timeout_ > 0
                                        ? context.clock->Monotonic() + absl::Seconds(timeout_)
                                        : absl::InfiniteDuration();
    const Closer closer(context.interrupt, queue);
    bus::Subscriber::Options options = Options(context, **messages, *view, *client, queue.get());
    options.beginning = *beginning;
    std::atomic<std::int64_t> hub_since_us = 0;
    options.on_connected = [&](std::uint64_t epoch) {
      hub_since_us = static_cast<std::int64_t>(epoch);
    };
    bus::Subscriber subscriber(*node, std::move(options));
    if (!subscriber.WaitUntilConnected(kConnect).ok()) {
      return Fail(context, "sub",
                  absl::UnavailableError("the registry's event hub cannot be heard; yard status"));
    }
    if (beginning->has_value()) SayHowFarBack(context, *view, **beginning, hub_since_us);
    *context.err << "yard sub: listening\n";
    context.err->flush();
    std::uint64_t seen = 0;
    Places places;
    if (last_) {
      // The values are read after the subscription: an event in both is printed once.
      const absl::Status told = TellLast(context, **messages, *view, **client, &seen, &places);
      if (!told.ok()) return Fail(context, "sub", told);
    }
    const int code = *dump == nullptr ? Listen(context, *queue, deadline, seen, places)
                                      : Record(context, *queue, deadline, **dump);
    for (const std::string& line : view->Missing()) SayNotice(context, line);
    if (*dump != nullptr) SayRecorded(context, **dump);
    return code;
  }

 private:
  // Ends the subscription on Ctrl-C, for as long as this object lives.
  class Closer {
   public:
    Closer(Interrupt* interrupt, std::shared_ptr<EventQueue> queue) : interrupt_(interrupt) {
      if (interrupt_ != nullptr) interrupt_->Handle([queue] { queue->Close(); });
    }
    ~Closer() {
      if (interrupt_ != nullptr) interrupt_->Handle({});
    }
    Closer(const Closer&) = delete;
    Closer& operator=(const Closer&) = delete;

   private:
    Interrupt* const interrupt_;
  };

  // Opens the file of --dump; null if events are printed.
  absl::StatusOr<std::unique_ptr<EventDumpWriter>> OpenDump() const {
    if (dump_.empty()) return nullptr;
    if (last_ || timestamps_ || !fields_.empty()) {
      return absl::InvalidArgumentError(
          "--dump keeps events as they are: no --last, --field or --timestamps");
    }
    const auto most = ParseSize(max_bytes_);
    if (!most.has_value()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--max_bytes takes ", kSizeForm, ", not ", max_bytes_));
    }
    return EventDumpWriter::Create(dump_, *most);
  }

  // Parses --since; nothing if the subscription begins now.
  absl::StatusOr<std::optional<bus::Beginning>> ParseSince(const Context& context) const {
    if (since_.empty()) return std::nullopt;
    if (last_) return absl::InvalidArgumentError("--since and --last: which?");
    std::uint64_t number = 0;
    if (absl::SimpleAtoi(since_, &number)) {
      return bus::Beginning{.position = std::max<std::uint64_t>(number, 1) - 1};
    }
    const auto time = ParseMoment(since_, context.clock->Now(), context.zone());
    if (time.has_value()) return bus::Beginning{.time = *time};
    return absl::InvalidArgumentError(
        absl::StrCat("--since takes ", kMomentForm, ", or the number of an event, not ", since_));
  }

  // Warns about topics and times that the history does not cover. This is no data loss, but should
  // not go unnoticed.
  static void SayHowFarBack(Context& context, const EventView& view,
                            const bus::Beginning& beginning, std::int64_t hub_since_us) {
    const std::vector<std::string> prefixes = view.Prefixes();
    if (!std::all_of(prefixes.begin(), prefixes.end(), bus::HasRecord)) {
      *context.err << "yard sub: nobody keeps states (s/, $sys/): they come from now on\n";
    }
    const bool has_users = std::any_of(prefixes.begin(), prefixes.end(), [](const auto& prefix) {
      return prefix.empty() || prefix.starts_with("e");
    });
    const bool by_time = beginning.time != absl::InfinitePast();
    if (has_users && by_time && absl::ToUnixMicros(beginning.time) < hub_since_us) {
      *context.err << "yard sub: e/ goes back to " << LocalTime(hub_since_us, context.zone())
                   << ", when the registry was started\n";
    }
  }

  bus::Subscriber::Options Options(const Context& context, const MessageJson& messages,
                                   const EventView& view, bus::Client* client,
                                   EventQueue* queue) const {
    bus::Subscriber::Options options;
    options.prefixes = view.Prefixes();
    options.on_message = [&messages, &view, queue, clock = context.clock, keeps = !dump_.empty()](
                             std::string_view topic, const msg::Envelope& event,
                             std::span<const std::uint8_t> message) {
      const absl::Time heard = clock->Now();
      const msg::Head* const head = event.head();
      EventQueue::Item item{.topic = std::string(topic),
                            .heard_us = absl::ToUnixMicros(heard),
                            .source = head == nullptr ? 0 : head->source(),
                            .seq = head == nullptr ? 0 : head->seq()};
      if (keeps) {
        if (!view.Passes(messages, topic, event)) return;
        item.text.assign(message.begin(), message.end());
        return queue->Add(std::move(item));
      }
      for (std::string& line : view.LinesOf(messages, topic, event, heard)) {
        item.text = std::move(line);
        queue->Add(item);
      }
    };
    options.on_lost = [&view, queue](std::string_view topic, std::uint64_t lost) {
      if (!view.Wants(topic)) return;
      queue->Add({.topic = std::string(topic), .is_loss = true, .lost_events = lost});
    };
    options.client = client;
    options.has_room = [queue] { return queue->HasHalf(); };
    return options;
  }

  absl::Status TellLast(Context& context, const MessageJson& messages, const EventView& view,
                        bus::Client& client, std::uint64_t* seen, Places* places) const {
    for (const std::string& prefix : view.Prefixes()) {
      msg::LastEventsRequestT request;
      request.prefix = prefix;
      for (bool more = true; more;) {
        const auto page = client.Call<rpc::Registry::LastEvents>(request, Patient());
        if (!page.ok()) return page.status();
        for (const auto& recorded : page->events) {
          request.after = recorded->topic;
          if ((count_ > 0 && *seen == count_) || places->contains(recorded->topic)) continue;
          TellOne(context, messages, view, *recorded, seen, places);
        }
        more = page->more && !page->events.empty();
      }
    }
    return absl::OkStatus();
  }

  static void TellOne(Context& context, const MessageJson& messages, const EventView& view,
                      const msg::RecordedEventT& recorded, std::uint64_t* seen, Places* places) {
    const auto event = bus::Receive(recorded.envelope, recorded.envelope.size());
    if (!event.ok() || !event->body_known()) return;
    const std::vector<std::string> lines =
        view.LinesOf(messages, recorded.topic, **event, context.clock->Now());
    if (lines.empty()) return;
    if (const msg::Head* const head = (*event)->head(); head != nullptr) {
      (*places)[recorded.topic] = {head->source(), head->seq()};
    }
    // The last line is the topic's current value.
    *context.out << lines.back() << "\n";
    ++*seen;
  }

  int Listen(Context& context, EventQueue& queue, absl::Duration deadline, std::uint64_t seen,
             const Places& places) const {
    context.out->flush();
    while (count_ == 0 || seen < count_) {
      const auto item = queue.Take(deadline);
      if (!item.has_value()) return End(context, queue.closed(), seen);
      if (item->is_notice) {
        SayNotice(context, item->text);
        continue;
      }
      if (item->is_loss) {
        SayLost(context, *item);
        continue;
      }
      const auto place = places.find(item->topic);
      if (place != places.end() && place->second.source == item->source &&
          item->seq <= place->second.seq) {
        continue;
      }
      *context.out << item->text << "\n";
      context.out->flush();
      if (!context.out->good()) return kDone;  // The reader of stdout is gone.
      ++seen;
    }
    return kDone;
  }

  // Records events to the file, unchanged.
  int Record(Context& context, EventQueue& queue, absl::Duration deadline,
             EventDumpWriter& dump) const {
    while (count_ == 0 || dump.events() < count_) {
      const auto item = queue.Take(deadline);
      if (!item.has_value()) return End(context, queue.closed(), dump.events());
      if (item->is_notice) {
        SayNotice(context, item->text);
        continue;
      }
      if (item->is_loss) {
        SayLost(context, *item);
        continue;
      }
      const absl::Status added = dump.Add(item->heard_us, item->topic, item->text);
      if (!added.ok()) return Fail(context, "sub", added);
    }
    return kDone;
  }

  void SayRecorded(Context& context, const EventDumpWriter& dump) const {
    if (context.json) {
      return PrintJson(context,
                       {{"dump", dump_}, {"events", dump.events()}, {"bytes", dump.bytes()}});
    }
    *context.err << runtime::Printable(dump_) << ": " << runtime::Counted(dump.events(), "event")
                 << ", " << ShortBytes(dump.bytes()) << "\n";
  }

  // Returns the exit code at the end: an endless subscription ended as intended; one with --count
  // is incomplete.
  int End(Context& context, bool interrupted, std::uint64_t seen) const {
    if (count_ == 0) return kDone;
    if (interrupted) return kInterrupted;
    return Fail(context, "sub",
                absl::DeadlineExceededError(absl::StrCat("timed out after ", seen, " of ",
                                                         runtime::Counted(count_, "event"))));
  }

  static void SayNotice(Context& context, const std::string& line) {
    *context.err << "yard sub: " << line << "\n";
  }

  static void SayLost(Context& context, const EventQueue::Item& item) {
    if (context.json) {
      nlohmann::json line = {{"lost", "unknown"}, {"topic", item.topic}};
      if (item.lost_events > 0) line["lost"] = item.lost_events;
      PrintJson(context, line);
    }
    const std::string of = item.topic.empty() ? "" : " of " + runtime::Printable(item.topic);
    if (item.lost_events > 0) {
      *context.err << "yard sub: lost " << runtime::Counted(item.lost_events, "event") << of
                   << (item.topic.empty() ? ": printing is too slow" : "") << "\n";
    } else {
      *context.err << "yard sub: events" << of << " may be lost"
                   << (item.topic.empty() ? ": the registry was restarted" : "") << "\n";
    }
  }

  std::vector<std::string> topics_;
  std::vector<std::string> fields_;
  std::string filter_, since_;
  std::string dump_, max_bytes_ = "1GiB";
  std::uint64_t count_ = 0;
  double timeout_ = 0;
  bool last_ = false, timestamps_ = false;
};

}  // namespace

std::unique_ptr<Verb> MakeSub() { return std::make_unique<Sub>(); }

}  // namespace yard
