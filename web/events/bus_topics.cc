// The bus thread collects pending events under the mutex; the loop's thread passes them on once per
// pace. There is only this one lock.

#include "web/events/bus_topics.h"

#include <cstdint>
#include <utility>

#include "bus/schema/envelope_generated.h"
#include "bus/wire/topic.h"

namespace web {
namespace {

constexpr std::string_view kYard = "yard";
constexpr std::string_view kRun = "run:";
constexpr std::string_view kLogs = "logs:";
constexpr std::string_view kSweep = "sweep:";

}  // namespace

BusTopics::BusTopics(Options options) : options_(std::move(options)) {}

BusTopics::~BusTopics() {
  followed_.clear();  // After this, no callback runs.
  *alive_ = false;
}

void BusTopics::Follow(const std::string& topic) {
  const auto prefixes = BusPrefixesOf(topic);
  if (prefixes.empty()) return;
  bus::Subscriber::Options options{.prefixes = prefixes};
  options.on_event = [this, topic](std::string_view, const msg::Envelope& event) {
    const runtime::MutexLock lock(mutex_);
    pending_.Add(topic, event);
    HandOnLater();
  };
  options.on_lost = [this, topic](std::string_view, std::uint64_t) { AddGap(topic); };
  // Reported as a gap: events before this connection, or while the hub was away, are lost.
  options.on_connected = [this, topic](std::uint64_t) { AddGap(topic); };
  followed_[topic] = std::make_unique<bus::Subscriber>(options_.node, std::move(options));
}

void BusTopics::Unfollow(const std::string& topic) { followed_.erase(topic); }

void BusTopics::AddGap(const std::string& topic) {
  const runtime::MutexLock lock(mutex_);
  pending_.AddGap(topic);
  HandOnLater();
}

void BusTopics::HandOnLater() {
  if (is_armed_ || pending_.empty()) return;
  is_armed_ = true;
  options_.loop->Post([this, alive = alive_] {
    if (!*alive) return;
    pace_.Start(options_.loop, options_.pace, [this] { HandOn(); });
  });
}

void BusTopics::HandOn() {
  PendingEvents pending;
  {
    const runtime::MutexLock lock(mutex_);
    std::swap(pending, pending_);
    is_armed_ = false;
  }
  pending.Tell(options_.on_event, options_.on_gap);
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
