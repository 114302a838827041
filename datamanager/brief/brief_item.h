#ifndef DATAMANAGER_BRIEF_BRIEF_ITEM_H_
#define DATAMANAGER_BRIEF_BRIEF_ITEM_H_

#include <any>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "datamanager/find/listed_run.h"
#include "runtime/mutex.h"

namespace datamanager {

// The entry of one run in the brief cache: how the run is listed, and content under keys, which
// updaters (BriefCache::Updater) put there. Any thread may call any method; only UnderLockOf waits.
//
// Re-imagines MindInsight's CachedTrainJob. Content is shared and does not change once it is here,
// so that a reader never waits for a thread that works out the next content; a lock for each key
// keeps such threads apart.
class BriefItem {
 public:
  static constexpr std::size_t kMaxKeys = 64;
  // Whether a missing key is an error to the caller, or nothing.
  enum class Missing : std::uint8_t { kError, kNothing };

  explicit BriefItem(ListedRunPtr run) : run_(std::move(run)) {}
  BriefItem(const BriefItem&) = delete;
  BriefItem& operator=(const BriefItem&) = delete;

  // As of the last scan. The same object as long as nothing about the run has changed: an updater
  // that remembers it can tell. A file of another kind that is rewritten in place is not noticed;
  // one that is replaced is, by the times of the directory.
  ListedRunPtr run() const;

  // `content` is not null. ResourceExhausted: the item would have more than kMaxKeys keys.
  template <typename T>
  absl::Status Set(std::string_view key, std::shared_ptr<const T> content) {
    return SetAny(key, std::any(std::move(content)));
  }
  // A missing key is NotFound, naming the key, the run, and why it is missing if its updater has
  // failed; or null. FailedPrecondition: the content is of another type than T.
  template <typename T>
  absl::StatusOr<std::shared_ptr<const T>> Get(std::string_view key,
                                               Missing missing = Missing::kError) const {
    const std::any content = GetAny(key);
    if (!content.has_value()) {
      if (missing == Missing::kNothing) return std::shared_ptr<const T>();
      return MissingError(key);
    }
    const auto* typed = std::any_cast<std::shared_ptr<const T>>(&content);
    if (typed == nullptr) return TypeError(key);
    return *typed;
  }
  // A missing key is NotFound, or nothing to do.
  absl::Status Delete(std::string_view key, Missing missing = Missing::kError);

  // Calls `work` while nobody else's `work` for this key of this item runs; it may call all other
  // methods, not this one. For Get and Set that belong together.
  absl::Status UnderLockOf(std::string_view key, const std::function<absl::Status()>& work);

  // The content goes, and `why`, not OK, stands in its place until Set or Recovered. True if there
  // was another reason or none before.
  bool Fail(std::string_view key, const absl::Status& why);
  void Recovered(std::string_view key);
  // Keys whose content could not be made, with the reason.
  std::map<std::string, absl::Status> Failures() const;

  // The same run after another scan.
  void SetRun(ListedRunPtr run);

 private:
  struct Slot {
    runtime::Mutex work;  // Before mutex_.
    std::any content;     // Guarded by mutex_ of the item, as the next.
    absl::Status failure;
  };

  // Slots stay as long as the item. Null if there would be too many.
  Slot* SlotOf(std::string_view key) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status SetAny(std::string_view key, std::any content);
  std::any GetAny(std::string_view key) const;
  absl::Status MissingError(std::string_view key) const;
  absl::Status TypeError(std::string_view key) const;

  mutable runtime::Mutex mutex_;
  ListedRunPtr run_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, Slot, std::less<>> slots_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace datamanager

#endif  // DATAMANAGER_BRIEF_BRIEF_ITEM_H_
