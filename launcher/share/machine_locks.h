#ifndef LAUNCHER_SHARE_MACHINE_LOCKS_H_
#define LAUNCHER_SHARE_MACHINE_LOCKS_H_

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "launcher/share/claims.h"
#include "runtime/clock.h"
#include "runtime/file/unique_fd.h"

namespace launcher {

// The claims of the launchers of all users of a machine, as locks on the files of one directory,
// which an administrator makes (docs/shared_machine.md). One thread; blocks on the disk alone.
//
// A member has one file, RESOURCE.MEMBER.lock, that is never removed. Its first byte is locked by
// the launcher that has claimed the member, until that releases it or ends; its second byte, by
// open file descriptions that the processes of the job have inherited (ForTree()). So a member
// that a launcher has claimed, or that a process of a dead launcher still has, is nobody else's; a
// claim is one lock of both bytes. The content of the file says who has it: only words for people,
// as every member of the directory's group can write them.
//
// GPUs are named by uuid where the driver says it, so that it does not matter in which order a
// launcher sees them. The resource `gpu` is shared, and those that the file `shared` of the
// directory names; that file counts only if root or the directory's owner alone can write it.
class MachineLocks final : public Claims {
 public:
  struct Options {
    std::string directory;
    std::string yard;  // State directory of this yard, to be told to others.
    // The uuid of the GPU that the launcher knows as `member`; empty if the driver has no such GPU
    // or there is no driver; nothing while the driver has not answered yet. Unset: no driver.
    std::function<std::optional<std::string>(const std::string& member)> gpu_uuid = {};
    // For so long at most nobody gets a GPU because the driver has not answered; then GPUs are
    // named as the launcher names them.
    absl::Duration driver_patience = absl::Seconds(30);
    runtime::Clock* clock = runtime::Clock::Real();
  };
  // Null if there is no such directory.
  static std::unique_ptr<MachineLocks> Open(Options options);

  // Words for the job in the notes of its claims; they are called when it claims something.
  struct Names {
    std::string trial;  // Empty: it is the job of no trial.
    std::string job;    // Its name, if it has one, else its id.
  };
  void SetNames(std::function<Names(const std::string& job)> names) { names_ = std::move(names); }

  // An open file description that keeps a claimed member from others until it is closed everywhere;
  // claims the member before that if it is not claimed. FailedPrecondition: somebody else has it.
  absl::StatusOr<runtime::UniqueFd> ForTree(const std::string& resource, const std::string& member,
                                            const std::string& job);
  // Why nothing can be claimed, or the file `shared` does not count. Empty: all is well.
  const std::string& problem() const { return problem_; }
  const std::string& directory() const { return options_.directory; }

  bool IsShared(const std::string& resource) const override { return shared_.contains(resource); }
  bool Claim(const std::string& resource, const std::string& member,
             const std::string& job) override;
  bool Reclaim(const std::string& resource, const std::string& member, const std::string& job,
               bool only_if_noted) override;
  void Release(const std::string& resource, const std::string& member) override;
  std::string WhyNot(const std::string& resource, const std::string& member) override;

 private:
  struct Note;
  // `error`: errno, if the directory could not be opened.
  MachineLocks(Options options, runtime::UniqueFd directory, int error);

  absl::Status Claimed(const std::string& resource, const std::string& member,
                       const std::string& job);
  absl::StatusOr<std::string> FileOf(const std::string& resource, const std::string& member);
  absl::StatusOr<runtime::UniqueFd> OpenFile(const std::string& file) const;
  bool IsStillNamed(int fd, const std::string& file) const;
  void WriteNote(int fd, const std::string& job) const;
  std::string HolderWords(const Note& note) const;
  void ReadShared();

  const Options options_;
  const runtime::UniqueFd directory_;
  const std::string user_;
  absl::Duration opened_;
  std::function<Names(const std::string&)> names_;
  std::set<std::string> shared_;
  std::string problem_;
  bool is_closed_ = false;                    // We are not let in.
  std::map<std::string, std::string> uuids_;  // By the launcher's name of the GPU.
  bool gives_up_on_uuids_ = false;
  std::map<std::pair<std::string, std::string>, runtime::UniqueFd> claims_;
};

}  // namespace launcher

#endif  // LAUNCHER_SHARE_MACHINE_LOCKS_H_
