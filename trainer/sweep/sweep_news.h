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

// Announces changed sweeps: to the service's topic, with the trials that changed since the last
// announcement, and to the sweep's observers. All changes of a sweep in one turn of the loop are
// announced together. Use it on the loop's thread.
class SweepNews {
 public:
  // The message of a loaded sweep, its trials that changed after an event, and the number of its
  // events so far.
  struct Changes {
    msg::SweepT sweep;
    std::vector<std::unique_ptr<msg::SweepTrialT>> trials;
    std::int64_t events = 0;
  };
  struct Options {
    runtime::EventLoop* loop = nullptr;  // Not owned; outlives this.
    // Returns the changes after event `after`; nullopt if the sweep is not loaded: then only its
    // observers are called.
    std::function<std::optional<Changes>(const std::string& id, std::int64_t after)> changes;
    std::function<void(msg::SweepEventT)> on_event = {};  // See Sweeps::Options.
  };
  explicit SweepNews(Options options) : options_(std::move(options)) {}
  ~SweepNews() { *alive_ = false; }
  SweepNews(const SweepNews&) = delete;
  SweepNews& operator=(const SweepNews&) = delete;

  // Schedules the announcement of a changed sweep.
  void TellLater(const std::string& id);
  // Announces a changed sweep now.
  void Tell(const std::string& id);
  // The sweep was removed: announces nothing more about it.
  void Drop(const std::string& id);

  // See Sweeps::Observe() and Sweeps::Forget().
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
  std::map<std::string, std::int64_t> told_;  // The last event passed to on_event, by sweep.
  std::map<std::uint64_t, Observer> observers_;
  std::uint64_t last_observer_ = 0;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace trainer

#endif  // TRAINER_SWEEP_SWEEP_NEWS_H_
