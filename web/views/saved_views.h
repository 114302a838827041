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

// An address of the page that somebody has given a name.
struct SavedView {
  std::string name = {};
  std::string address = {};  // Path and query: "/runs?q=loss%3C0.1".
  absl::Time saved = absl::UnixEpoch();

  bool operator==(const SavedView&) const = default;
};

// Saved views, each of one log directory, in one file of this user's. Any thread may call any
// method; a method that changes something returns when the file has it.
class SavedViews {
 public:
  // A file that cannot be read, or is no JSON object, is put aside as FILE.damaged, and the log
  // says so. Entries that are no views are left out.
  static std::unique_ptr<SavedViews> Open(std::string file,
                                          runtime::Clock* clock = runtime::Clock::Real());
  SavedViews(const SavedViews&) = delete;
  SavedViews& operator=(const SavedViews&) = delete;

  // Lists the views of the log directory, by name.
  std::vector<SavedView> List(const std::string& logdir) const;
  // Saves, or saves anew. InvalidArgument: the name or the address is none; ResourceExhausted:
  // there are kMaxSavedViews; otherwise why the file cannot be written. Then nothing has changed.
  absl::Status Save(const std::string& logdir, const std::string& name, const std::string& address);
  // Forgets a view. NotFound: the log directory has no view of this name.
  absl::Status Remove(const std::string& logdir, const std::string& name);

 private:
  using Views =
      std::map<std::pair<std::string, std::string>, SavedView>;  // By log directory, name.

  SavedViews(std::string file, runtime::Clock* clock) : file_(std::move(file)), clock_(clock) {}
  static absl::StatusOr<Views> Parse(const std::string& text);
  void Read();
  absl::Status Write(Views next) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::string file_;
  runtime::Clock* const clock_;
  mutable runtime::Mutex mutex_;
  Views views_ ABSL_GUARDED_BY(mutex_);
};
inline constexpr std::size_t kMaxSavedViews = 500;  // The limit of all log directories together.
inline constexpr std::size_t kMaxViewName = 200;    // Bytes, as the address.
inline constexpr std::size_t kMaxViewAddress = 4000;

}  // namespace web

#endif  // WEB_VIEWS_SAVED_VIEWS_H_
