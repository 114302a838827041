#include "trainer/sweep/sweep_news.h"

#include <algorithm>
#include <cstddef>

#include "trainer/sweep/sweep_message.h"

namespace trainer {

void SweepNews::TellLater(const std::string& id) {
  if (!due_.insert(id).second) return;
  options_.loop->Post([this, id, alive = alive_] {
    if (*alive && due_.contains(id)) Tell(id);
  });
}

void SweepNews::Tell(const std::string& id) {
  due_.erase(id);
  if (options_.on_event) TellTopic(id);
  // A callback may remove any observer.
  std::vector<std::function<void()>> callbacks;
  for (const auto& [observer, one] : observers_) {
    if (one.id == id) callbacks.push_back(one.changed);
  }
  for (const auto& callback : callbacks) callback();
}

void SweepNews::TellTopic(const std::string& id) {
  std::int64_t& told = told_[id];
  auto changes = options_.changes(id, told);
  if (!changes) return;
  told = changes->events;
  auto& trials = changes->trials;
  std::size_t next = 0;
  do {
    msg::SweepEventT event;
    event.sweep = std::make_unique<msg::SweepT>(changes->sweep);
    const std::size_t end = std::min(trials.size(), next + kSweepTrialsOfAMessage);
    for (; next < end; ++next) event.trials.push_back(std::move(trials[next]));
    options_.on_event(std::move(event));
  } while (next < trials.size());
}

void SweepNews::Drop(const std::string& id) {
  due_.erase(id);
  told_.erase(id);
}

std::uint64_t SweepNews::Observe(const std::string& id, std::function<void()> changed) {
  observers_[++last_observer_] = {id, std::move(changed)};
  return last_observer_;
}

}  // namespace trainer
