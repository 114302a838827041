#ifndef WEB_VIEWS_SAVED_VIEWS_H_
#define WEB_VIEWS_SAVED_VIEWS_H_

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "runtime/clock.h"
#include "runtime/mutex.h"

namespace web {

// An address of the page that a user has named.
struct SavedView {
  std::string name = {};
  std::string address = {};  // Path and query: "/runs?q=loss%3C0.1".
  absl::Time saved = absl::UnixEpoch();

  bool operator==(const SavedView&) const = default;
};

// Saved views, each for one log directory, in one file of this user. Thread-safe; a method that
// changes something returns once the file is written.
class SavedViews {
 public:
  // Opens the file. If it cannot be read or is no JSON object, renames it to FILE.damaged and logs
  // that. Skips invalid entries.
  static std::unique_ptr<SavedViews> Open(std::string file,
                                          runtime::Clock* clock = runtime::Clock::Real());
  SavedViews(const SavedViews&) = delete;
  SavedViews& operator=(const SavedViews&) = delete;

  // Lists the views of the log directory, by name.
  std::vector<SavedView> List(const std::string& logdir) const;
  // Saves or replaces a view. InvalidArgument for an invalid name or address; ResourceExhausted if
  // kMaxSavedViews exist; otherwise the error of writing the file. After an error, nothing has
  // changed.
  absl::Status Save(const std::string& logdir, const std::string& name, const std::string& address);
  // Removes a view. NotFound if the log directory has no view of this name.
  absl::Status Remove(const std::string& logdir, const std::string& name);

 private:
  using Views =
      std::map<std::pair<std::string, std::string>, SavedView>;  // By log directory and name.

  SavedViews(std::string file, runtime::Clock* clock) : file_(std::move(file)), clock_(clock) {}
  static absl::StatusOr<Views> Parse(const std::string& text);
  void Read();
  absl::Status Write(Views next) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::string file_;
  runtime::Clock* const clock_;
  mutable runtime::Mutex mutex_;
  Views views_ ABSL_GUARDED_BY(mutex_);
};
inline constexpr std::size_t kMaxSavedViews = 500;  // Limit over all log directories.
inline constexpr std::size_t kMaxViewName = 200;    // In bytes, as the next one.
inline constexpr std::size_t kMaxViewAddress = 4000;

}  // namespace web

#endif  // WEB_VIEWS_SAVED_VIEWS_H_
