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
// which an administrator creates (docs/shared_machine.md). Not thread-safe; blocks only on the
// disk.
//
// A member has one file, RESOURCE.MEMBER.lock, that is never removed. The launcher that has claimed
// the member locks its first byte, until the launcher releases it or ends; open file descriptions
// that the processes of the job have inherited lock its second byte (ForTree()). A claim is one
// lock of both bytes, so it fails while another launcher has claimed the member, or a process of a
// dead launcher still uses it. The content of the file names the holder. It serves only messages,
// since every member of the directory's group can write it.
//
// GPUs are identified by uuid if the driver provides it, so that the order in which a launcher sees
// them does not matter. The shared resources are `gpu` and those in the file `shared` of the
// directory; that file is used only if nobody but root or the directory's owner can write it.
class MachineLocks final : public Claims {
 public:
  struct Options {
    std::string directory;
    std::string yard;  // State directory of this yard, for the messages of others.
    // Returns the uuid of the GPU that the launcher knows as `member`; empty if the driver has no
    // such GPU or there is no driver; nullopt while the driver has not answered yet. Unset if there
    // is no driver.
    std::function<std::optional<std::string>(const std::string& member)> gpu_uuid = {};
    // Time to wait for the driver's answer, during which no GPU can be claimed; after it GPUs are
    // identified by the launcher's names.
    absl::Duration driver_patience = absl::Seconds(30);
    runtime::Clock* clock = runtime::Clock::Real();
  };
  // Opens the directory; null if it does not exist.
  static std::unique_ptr<MachineLocks> Open(Options options);

  // The names of a job for the notes of its claims. `names` is called at each claim.
  struct Names {
    std::string trial;  // Empty if the job belongs to no trial.
    std::string job;    // The job's name, or its id if it has no name.
  };
  void SetNames(std::function<Names(const std::string& job)> names) { names_ = std::move(names); }

  // Returns an open file description that locks a claimed member until all its copies are closed.
  // Claims the member first if it is not claimed. FailedPrecondition if another launcher holds it.
  absl::StatusOr<runtime::UniqueFd> ForTree(const std::string& resource, const std::string& member,
                                            const std::string& job);
  // Why nothing can be claimed, or why the file `shared` is ignored; empty if there is no problem.
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
  // `error` is the errno if the directory could not be opened.
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
  bool is_closed_ = false;                    // The directory cannot be used: see problem_.
  std::map<std::string, std::string> uuids_;  // By the launcher's name of the GPU.
  bool gives_up_on_uuids_ = false;
  std::map<std::pair<std::string, std::string>, runtime::UniqueFd> claims_;
};

}  // namespace launcher

#endif  // LAUNCHER_SHARE_MACHINE_LOCKS_H_
