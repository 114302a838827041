#ifndef LAUNCHER_SHARE_CLAIMS_H_
#define LAUNCHER_SHARE_CLAIMS_H_

#include <string>

namespace launcher {

// The members of resources that this launcher has, where other launchers of the machine give out
// the same ones. A member is one of a set ("0" of "gpu=0,1"), or a slot of an amount ("0" to "3" of
// "slots=4"). One thread.
class Claims {
 public:
  virtual ~Claims() = default;

  // True if others may have members of the resource. False: the other methods are not called for
  // it.
  virtual bool IsShared(const std::string& resource) const = 0;
  // Takes a member for a job. True if the job has it now, false if it cannot be had.
  virtual bool Claim(const std::string& resource, const std::string& member,
                     const std::string& job) = 0;
  // Takes a member back that an earlier launcher of this yard had claimed for the job, and that the
  // job's processes may still have. With `only_if_noted` a member that is not noted as that job's
  // is left alone. True if the job has it now.
  virtual bool Reclaim(const std::string& resource, const std::string& member,
                       const std::string& job, bool only_if_noted) = 0;
  // Gives a claimed member back. Processes that still have it keep it from others.
  virtual void Release(const std::string& resource, const std::string& member) = 0;
  // Why a member cannot be had: "gpu 0 is held by alice's trial lr-3 since 21:04". Empty if it can.
  virtual std::string WhyNot(const std::string& resource, const std::string& member) = 0;
};

}  // namespace launcher

#endif  // LAUNCHER_SHARE_CLAIMS_H_
