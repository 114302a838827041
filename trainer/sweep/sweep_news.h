#ifndef TRAINER_SWEEP_SWEEP_NEWS_H_
#define TRAINER_SWEEP_SWEEP_NEWS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "bus/schema/trainer_generated.h"
#include "runtime/event_loop.h"

namespace trainer {

// Tells of sweeps that have changed: the service's topic, with the trials that have changed since
// it was told last, and the observers of the sweep. All that happens to a sweep in one turn of the
// loop is told once. On the loop's thread.
class SweepNews {
 public:
  // A sweep at hand as it is shown, and its trials that have changed after an event; the number of
  // its events up to now.
  struct Changes {
    msg::SweepT sweep;
    std::vector<std::unique_ptr<msg::SweepTrialT>> trials;
    std::int64_t events = 0;
  };
  struct Options {
    runtime::EventLoop* loop = nullptr;  // Not owned; outlives it.
    // Unset: the sweep is not at hand, and its observers alone are told.
    std::function<std::optional<Changes>(const std::string& id, std::int64_t after)> changes;
    std::function<void(msg::SweepEventT)> on_event = {};  // See Sweeps::Options.
  };
  explicit SweepNews(Options options) : options_(std::move(options)) {}
  ~SweepNews() { *alive_ = false; }
  SweepNews(const SweepNews&) = delete;
  SweepNews& operator=(const SweepNews&) = delete;

  // The sweep has changed.
  void TellLater(const std::string& id);
  // The same, but it is told now.
  void Tell(const std::string& id);
  // The sweep was removed: nothing is told of it any more.
  void Drop(const std::string& id);

  // As Sweeps::Observe() and Sweeps::Forget().
  std::uint64_t Observe(const std::string& id, std::function<void()> changed);
  void Forget(std::uint64_t observer) { observers_.erase(observer); }

 private:
  struct Observer {
    std::string id;
    std::function<void()> changed;
  };
  void TellTopic(const std::string& id);

  const Options options_;
  std::set<std::string> due_;
  std::map<std::string, std::int64_t> told_;  // The last event that on_event has had, by sweep.
  std::map<std::uint64_t, Observer> observers_;
  std::uint64_t last_observer_ = 0;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace trainer

#endif  // TRAINER_SWEEP_SWEEP_NEWS_H_
