#ifndef LAUNCHER_SHARE_CLAIMS_H_
#define LAUNCHER_SHARE_CLAIMS_H_

#include <string>

namespace launcher {

// The claims of this launcher on members of resources that several launchers of the machine share.
// A member is an element of a set ("0" of "gpu=0,1"), or a slot of an amount ("0" to "3" of
// "slots=4"). Not thread-safe.
class Claims {
 public:
  virtual ~Claims() = default;

  // True if other launchers share the resource. The other methods are called only for shared
  // resources.
  virtual bool IsShared(const std::string& resource) const = 0;
  // Claims a member for a job. Returns true if the job now holds it, false if another launcher
  // does.
  virtual bool Claim(const std::string& resource, const std::string& member,
                     const std::string& job) = 0;
  // Claims a member again that an earlier launcher of this yard had claimed for the job and that
  // the job's processes may still use. With `only_if_noted`, a member whose note does not name the
  // job is left alone. Returns true if the job now holds it.
  virtual bool Reclaim(const std::string& resource, const std::string& member,
                       const std::string& job, bool only_if_noted) = 0;
  // Releases a claimed member. Processes that still use it keep it locked for others.
  virtual void Release(const std::string& resource, const std::string& member) = 0;
  // Returns why a member cannot be claimed: "gpu 0 is held by alice's trial lr-3 since 21:04";
  // empty if it can.
  virtual std::string WhyNot(const std::string& resource, const std::string& member) = 0;
};

}  // namespace launcher

#endif  // LAUNCHER_SHARE_CLAIMS_H_
