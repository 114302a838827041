#ifndef DATAMANAGER_TENSORBOARD_CHOICE_CACHE_H_
#define DATAMANAGER_TENSORBOARD_CHOICE_CACHE_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <tuple>

#include "absl/base/thread_annotations.h"
#include "runtime/mutex.h"

namespace datamanager::tensorboard {

// Caches recently chosen points of series, encoded for a message. TensorBoard's pages request the
// same points again and again: each page every 30 seconds, for everything that it shows. Thread
// safe.
class ChoiceCache {
 public:
  struct Series {
    std::string run;
    std::uint32_t tag = 0;
    std::uint64_t limit = 0;  // Number of requested points.

    bool operator<(const Series& other) const {
      return std::tie(run, tag, limit) < std::tie(other.run, other.tag, other.limit);
    }
  };
  // Equal states of a series have the same points.
  struct State {
    std::uint64_t generation = 0;
    std::uint64_t points = 0;

    bool operator==(const State&) const = default;
  };

  // Keeps the latest choices, up to `most_bytes`.
  explicit ChoiceCache(std::size_t most_bytes) : most_bytes_(most_bytes) {}

  // Returns null if no choice of that state is cached.
  std::shared_ptr<const std::string> Find(const Series& series, const State& state);
  // Adds a choice; replaces one of another state.
  void Put(const Series& series, const State& state, std::shared_ptr<const std::string> message);
  // Size of all cached choices.
  std::size_t bytes() const;

 private:
  struct Entry {
    Series series;
    State state;
    std::shared_ptr<const std::string> message;
  };
  using Entries = std::list<Entry>;

  static std::size_t BytesOf(const Entry& entry);
  void Remove(Entries::iterator entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::size_t most_bytes_;
  mutable runtime::Mutex mutex_;
  Entries entries_ ABSL_GUARDED_BY(mutex_);  // The most recently used entry first.
  std::map<Series, Entries::iterator> by_series_ ABSL_GUARDED_BY(mutex_);
  std::size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace datamanager::tensorboard

#endif  // DATAMANAGER_TENSORBOARD_CHOICE_CACHE_H_
