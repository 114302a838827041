#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bus/subscriber.h"
#include "tools/yard/event_queue.h"
#include "tools/yard/message_json.h"
#include "tools/yard/printable.h"
#include "tools/yard/table.h"
#include "tools/yard/things_json.h"
#include "tools/yard/verbs/verbs.h"

namespace yard {
namespace {

constexpr absl::Duration kConnect = absl::Seconds(5);

// One event as it is printed: "TOPIC  {...}", or one object with everything about it.
std::string LineOf(const MessageJson& messages, bool json, std::string_view topic,
                   const msg::Envelope& event) {
  constexpr auto kReplace = nlohmann::json::error_handler_t::replace;
  nlohmann::json body = messages.ToJson(event);
  if (!json) {
    return absl::StrCat(Printable(topic), "  ", Printable(body.dump(-1, ' ', false, kReplace)));
  }
  nlohmann::json line = {{"topic", std::string(topic)}};
  if (const msg::Head* const head = event.head(); head != nullptr) {
    line["seq"] = head->seq();
    line["sent"] = IsoTime(head->sent_us());
    line["source"] = absl::StrCat(absl::Hex(head->source(), absl::kZeroPad16));
  }
  if (event.body_type() != msg::Body::NONE) line["type"] = msg::EnumNameBody(event.body_type());
  line["body"] = std::move(body);
  return line.dump(-1, ' ', false, kReplace);
}

class Sub : public Verb {
 public:
  void Declare(OptionSet& options) override {
    options.Add("prefix", prefixes_, "Topics that begin so (default: all).");
    options.Add("-n", count_, "End after N events.");
    options.Add("--timeout", timeout_, "Seconds to listen; exit 5 if -n has not come by then.");
  }

  int Run(Context& context) override {
    auto messages = MessageJson::Load();
    if (!messages.ok()) return Fail(context, "sub", messages.status());
    auto node = context.node();
    if (!node.ok()) return Fail(context, "sub", node.status());
    auto client = context.client();
    if (!client.ok()) return Fail(context, "sub", client.status());
    const absl::Duration deadline = timeout_ > 0
                                        ? context.clock->Monotonic() + absl::Seconds(timeout_)
                                        : absl::InfiniteDuration();
    // An interrupt that is being handled while this ends still has it.
    const auto queue = std::make_shared<EventQueue>(EventQueue::Options{.clock = context.clock});
    const Closer closer(context.interrupt, queue);
    if (prefixes_.empty()) prefixes_.push_back("");
    bus::Subscriber subscriber(*node, Options(**messages, context.json, *client, queue.get()));
    if (!subscriber.WaitUntilConnected(kConnect).ok()) {
      return Fail(context, "sub",
                  absl::UnavailableError("the registry's event hub cannot be heard; yard status"));
    }
    *context.err << "yard sub: listening\n";
    context.err->flush();
    return Listen(context, *queue, deadline);
  }

 private:
  // Ctrl-C ends the listening, for as long as this lives.
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

  bus::Subscriber::Options Options(const MessageJson& messages, bool json, bus::Client* client,
                                   EventQueue* queue) const {
    bus::Subscriber::Options options;
    options.prefixes = prefixes_;
    options.on_event = [&messages, json, queue](std::string_view topic,
                                                const msg::Envelope& event) {
      queue->Add({.topic = std::string(topic), .text = LineOf(messages, json, topic, event)});
    };
    options.on_lost = [queue](std::string_view topic, std::uint64_t lost) {
      queue->Add({.topic = std::string(topic), .is_loss = true, .lost_events = lost});
    };
    options.client = client;
    return options;
  }

  int Listen(Context& context, EventQueue& queue, absl::Duration deadline) const {
    std::uint64_t seen = 0;
    while (count_ == 0 || seen < count_) {
      const auto item = queue.Take(deadline);
      if (!item.has_value()) return End(context, queue.closed(), seen);
      if (item->is_loss) {
        SayLost(context, *item);
        continue;
      }
      *context.out << item->text << "\n";
      context.out->flush();
      if (!context.out->good()) return kDone;  // Nobody reads any more.
      ++seen;
    }
    return kDone;
  }

  // An endless listening ends so; one that counts has not got what it was to wait for.
  int End(Context& context, bool interrupted, std::uint64_t seen) const {
    if (count_ == 0) return kDone;
    if (interrupted) return kInterrupted;
    return Fail(context, "sub",
                absl::DeadlineExceededError(
                    absl::StrCat("timed out after ", seen, " of ", count_, " events")));
  }

  static void SayLost(Context& context, const EventQueue::Item& item) {
    if (context.json) {
      nlohmann::json line = {{"lost", "unknown"}, {"topic", item.topic}};
      if (item.lost_events > 0) line["lost"] = item.lost_events;
      PrintJson(context, line);
    }
    const std::string of = item.topic.empty() ? "" : " of " + Printable(item.topic);
    if (item.lost_events > 0) {
      *context.err << "yard sub: lost " << item.lost_events << " events" << of
                   << (item.topic.empty() ? ": printing is too slow" : "") << "\n";
    } else {
      *context.err << "yard sub: events" << of << " may be lost"
                   << (item.topic.empty() ? ": the registry was restarted" : "") << "\n";
    }
  }

  std::vector<std::string> prefixes_;
  std::uint64_t count_ = 0;
  double timeout_ = 0;
};

}  // namespace

std::unique_ptr<Verb> MakeSub() { return std::make_unique<Sub>(); }

}  // namespace yard
