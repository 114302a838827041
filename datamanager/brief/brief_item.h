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

// The entry of one run in the brief cache: its listing, and content under keys, set by updaters
// (BriefCache::Updater). Any thread may call any method; only UnderLockOf waits.
//
// Re-imagines MindInsight's CachedTrainJob. Content is shared and immutable, so that a reader never
// waits for a thread that computes new content; a lock per key serialises such threads.
class BriefItem {
 public:
  static constexpr std::size_t kMaxKeys = 64;
  // Whether a missing key is an error or a null result.
  enum class Missing : std::uint8_t { kError, kNothing };

  explicit BriefItem(ListedRunPtr run) : run_(std::move(run)) {}
  BriefItem(const BriefItem&) = delete;
  BriefItem& operator=(const BriefItem&) = delete;

  // The listing of the last scan. The object stays the same as long as nothing about the run has
  // changed, so an updater can compare pointers. It does not change if a file that is not an event
  // file is rewritten in place, but it does if the file is replaced, because the directory's times
  // change.
  ListedRunPtr run() const;

  // Sets content, which must not be null. ResourceExhausted if the item would exceed kMaxKeys.
  template <typename T>
  absl::Status Set(std::string_view key, std::shared_ptr<const T> content) {
    return SetAny(key, std::any(std::move(content)));
  }
  // Returns the content. A missing key is null or NotFound, which names the key, the run, and the
  // updater's failure if there was one. FailedPrecondition if the content's type is not T.
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
  // Removes the content. A missing key is ignored or NotFound.
  absl::Status Delete(std::string_view key, Missing missing = Missing::kError);

  // Calls `work` while no other `work` for this key of this item runs. `work` may call all methods
  // but this one. For a Get and a Set that must be atomic.
  absl::Status UnderLockOf(std::string_view key, const std::function<absl::Status()>& work);

  // Removes the content; `why`, which is not OK, takes its place until Set() or Recovered().
  // Returns true if the previous failure was different or there was no failure.
  bool Fail(std::string_view key, const absl::Status& why);
  void Recovered(std::string_view key);
  // Returns the keys whose updater failed, with the reasons.
  std::map<std::string, absl::Status> Failures() const;

  // Stores the listing of a newer scan.
  void SetRun(ListedRunPtr run);

 private:
  struct Slot {
    runtime::Mutex work;  // Lock it before mutex_.
    std::any content;     // Guarded by the item's mutex_, like the next.
    absl::Status failure;
  };

  // Slots live as long as the item. Returns null if there would be too many.
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
