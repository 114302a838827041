#ifndef LAUNCHER_RUN_GRANT_ROUNDS_H_
#define LAUNCHER_RUN_GRANT_ROUNDS_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "launcher/run/grants.h"
#include "runtime/event_loop.h"
#include "runtime/timer.h"

namespace launcher {

// Makes the grants that tasks wait for: checks which are possible after each request and release,
// and periodically while a task waits for members that other yards hold, because their release
// gives no notification. Use on the loop's thread.
class GrantRounds {
 public:
  struct Options {
    // Not owned; both outlive this.
    runtime::EventLoop* loop = nullptr;
    Grants* grants = nullptr;
    // How often it checks whether other yards have released a resource, while a task waits for one.
    absl::Duration look_for_others = absl::Milliseconds(500);
    // Called later, from the loop, with all grants that one Look() has made for a job, because the
    // environment of each task describes all of them.
    std::function<void(const std::string& job, const std::vector<Grants::Grant>&)> on_granted;
    // Called inside Look() for a job whose reason to wait may have changed.
    std::function<void(const std::string& job)> on_waits = {};
  };
  explicit GrantRounds(Options options) : options_(std::move(options)) {}
  ~GrantRounds() { *alive_ = false; }
  GrantRounds(const GrantRounds&) = delete;
  GrantRounds& operator=(const GrantRounds&) = delete;

  // Makes all grants that are possible now. Call it after each Grants::Request(), Release() and
  // SetNodes().
  void Look();

 private:
  void LookAgainForOthers();

  const Options options_;
  runtime::Timer others_timer_;  // Set while a task waits for members that other yards hold.
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace launcher

#endif  // LAUNCHER_RUN_GRANT_ROUNDS_H_
