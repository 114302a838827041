#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bus/subscriber.h"
#include "runtime/mutex.h"
#include "tools/yard/message_json.h"
#include "tools/yard/printable.h"
#include "tools/yard/table.h"
#include "tools/yard/things_json.h"
#include "tools/yard/verbs/verbs.h"

namespace yard {
namespace {

constexpr absl::Duration kConnect = absl::Seconds(5);

// Between the bus thread, which must not wait for a slow terminal, and the one that prints.
class Inbox {
 public:
  struct Item {
    std::string topic;
    std::unique_ptr<msg::EnvelopeT> event;  // Null: `lost` events of the topic are missing.
    std::uint64_t lost = 0;                 // 0: nobody knows how many.
  };

  explicit Inbox(runtime::Clock* clock) : clock_(clock) {}

  void Add(Item item) {
    runtime::MutexLock lock(mutex_);
    if (items_.size() >= kLimit) {
      ++dropped_;
      return;
    }
    items_.push_back(std::move(item));
    changed_.Signal();
  }
  // Nothing: `deadline` has come.
  std::optional<Item> Take(absl::Duration deadline) {
    runtime::MutexLock lock(mutex_);
    while (items_.empty()) {
      if (!clock_->WaitUntil(changed_, mutex_, deadline) && items_.empty()) return std::nullopt;
    }
    Item item = std::move(items_.front());
    items_.pop_front();
    return item;
  }
  // How many had no room since the last call.
  std::uint64_t TakeDropped() {
    runtime::MutexLock lock(mutex_);
    return std::exchange(dropped_, 0);
  }

 private:
  static constexpr std::size_t kLimit = 10'000;
  runtime::Clock* const clock_;
  runtime::Mutex mutex_;
  runtime::CondVar changed_;
  std::deque<Item> items_ ABSL_GUARDED_BY(mutex_);
  std::uint64_t dropped_ ABSL_GUARDED_BY(mutex_) = 0;
};

class Sub : public Verb {
 public:
  void Declare(CLI::App& app) override {
    app.add_option("prefix", prefixes_, "Topics that begin so (default: all).");
    app.add_option("-n", count_, "End after N events.");
    app.add_option("--timeout", timeout_, "Seconds to listen; then exit 5.");
  }

  int Run(Context& context) override {
    auto messages = MessageJson::Load();
    if (!messages.ok()) return Fail(context, "sub", messages.status());
    auto node = context.node();
    if (!node.ok()) return Fail(context, "sub", node.status());
    const absl::Duration deadline = timeout_ > 0
                                        ? context.clock->Monotonic() + absl::Seconds(timeout_)
                                        : absl::InfiniteDuration();
    Inbox inbox(context.clock);
    if (prefixes_.empty()) prefixes_.push_back("");
    bus::Subscriber subscriber(*node, Options(&inbox));
    if (!subscriber.WaitUntilConnected(kConnect).ok()) {
      return Fail(context, "sub",
                  absl::UnavailableError("the registry's event hub cannot be heard; yard status"));
    }
    *context.err << "yard sub: listening\n";
    context.err->flush();
    return Listen(context, **messages, inbox, deadline);
  }

 private:
  bus::Subscriber::Options Options(Inbox* inbox) const {
    bus::Subscriber::Options options;
    options.prefixes = prefixes_;
    options.on_event = [inbox](std::string_view topic, const msg::Envelope& event) {
      inbox->Add({std::string(topic), std::unique_ptr<msg::EnvelopeT>(event.UnPack()), 0});
    };
    options.on_lost = [inbox](std::string_view topic, std::uint64_t lost) {
      inbox->Add({std::string(topic), nullptr, lost});
    };
    return options;
  }

  int Listen(Context& context, const MessageJson& messages, Inbox& inbox,
             absl::Duration deadline) const {
    for (std::uint64_t seen = 0; count_ == 0 || seen < count_;) {
      const auto item = inbox.Take(deadline);
      if (!item.has_value()) {
        return Fail(context, "sub",
                    absl::DeadlineExceededError(absl::StrCat("timed out after ", seen, " events")));
      }
      if (item->event == nullptr) {
        SayLost(context, item->topic, item->lost);
        continue;
      }
      Print(context, messages, *item);
      ++seen;
      if (!context.out->good()) return kDone;  // Nobody reads any more.
      if (const std::uint64_t dropped = inbox.TakeDropped(); dropped > 0) {
        *context.err << "yard sub: " << dropped << " events dropped: printing is too slow\n";
      }
    }
    return kDone;
  }

  static void SayLost(Context& context, const std::string& topic, std::uint64_t lost) {
    *context.err << "yard sub: lost " << (lost == 0 ? "an unknown number" : absl::StrCat(lost))
                 << " of " << Printable(topic) << "\n";
  }

  static void Print(Context& context, const MessageJson& messages, const Inbox::Item& item) {
    const msg::EnvelopeT& event = *item.event;
    const nlohmann::json body = messages.ToJson(event);
    if (!context.json) {
      *context.out << Printable(item.topic) << "  "
                   << Printable(body.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace))
                   << "\n";
      context.out->flush();
      return;
    }
    nlohmann::json line = {{"topic", item.topic}};
    if (event.head != nullptr) {
      line["seq"] = event.head->seq();
      line["sent"] = IsoTime(event.head->sent_us());
      line["source"] = absl::StrCat(absl::Hex(event.head->source(), absl::kZeroPad16));
    }
    if (event.body.type != msg::Body::NONE) line["type"] = msg::EnumNameBody(event.body.type);
    line["body"] = body;
    PrintJson(context, line);
  }

  std::vector<std::string> prefixes_;
  std::uint64_t count_ = 0;
  double timeout_ = 0;
};

}  // namespace

std::unique_ptr<Verb> MakeSub() { return std::make_unique<Sub>(); }

}  // namespace yard
