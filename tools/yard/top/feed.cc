#include "tools/yard/top/feed.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/time/time.h"

namespace yard::top {
namespace {

using runtime::MutexLock;

constexpr absl::Duration kEvery = absl::Seconds(1);
// Minimum interval between reads, however many events arrive.
constexpr absl::Duration kApart = absl::Milliseconds(200);
constexpr std::size_t kMostOrders = 100;

}  // namespace

Feed::Feed(Context& context, Options options)
    : context_(context),
      options_(std::move(options)),
      reader_(context),
      thread_(std::in_place, "yard-top", [this] { Run(); }) {}

Feed::~Feed() {
  subscriber_.reset();
  reader_.GiveUp();
  {
    MutexLock lock(mutex_);
    over_ = true;
    changed_.SignalAll();
  }
  (void)thread_->Join();
}

void Feed::Subscribe(bus::Node* node) {
  subscriber_.emplace(
      node, bus::Subscriber::Options{.prefixes = {"t/", "s/"},
                                     .on_event = [this](std::string_view, const msg::Envelope&) {
                                       MutexLock lock(mutex_);
                                       due_ = true;
                                       changed_.SignalAll();
                                     }});
}

std::shared_ptr<const Facts> Feed::TakeFacts() {
  MutexLock lock(mutex_);
  return std::exchange(facts_, nullptr);
}

std::string Feed::TakeSaid() {
  MutexLock lock(mutex_);
  return std::exchange(said_, {});
}

void Feed::Look(const Subject& subject) {
  MutexLock lock(mutex_);
  // The number of reports alone changes constantly, so it does not trigger a read.
  const bool is_other = subject.trial != subject_.trial || subject.output_of != subject_.output_of;
  subject_ = subject;
  if (!is_other) return;
  hurry_ = true;
  changed_.SignalAll();
}

void Feed::Do(const Order& order) {
  MutexLock lock(mutex_);
  if (orders_.size() < kMostOrders) orders_.push_back(order);
  hurry_ = true;
  changed_.SignalAll();
}

void Feed::Run() {
  absl::Duration last = -absl::InfiniteDuration();
  for (;;) {
    std::optional<Order> order;
    Subject subject;
    {
      MutexLock lock(mutex_);
      while (!over_ && !hurry_ && context_.clock->Monotonic() < last + (due_ ? kApart : kEvery)) {
        context_.clock->WaitUntil(changed_, mutex_, last + (due_ ? kApart : kEvery));
      }
      if (over_) return;
      subject = subject_;
      if (!orders_.empty()) {
        order = orders_.front();
        orders_.pop_front();
      }
      hurry_ = !orders_.empty();
      due_ = false;
    }
    std::string said = order.has_value() ? reader_.Carry(*order) : std::string();
    auto facts = std::make_shared<const Facts>(reader_.Read(subject));
    last = context_.clock->Monotonic();
    {
      MutexLock lock(mutex_);
      facts_ = std::move(facts);
      if (!said.empty()) said_ = std::move(said);
    }
    options_.on_news();
  }
}

absl::StatusOr<std::unique_ptr<Feed>> Feed::Start(Context& context, Options options) {
  auto node = context.node();
  if (!node.ok()) return node.status();
  std::unique_ptr<Feed> feed(new Feed(context, std::move(options)));
  feed->Subscribe(*node);
  return feed;
}

}  // namespace yard::top
