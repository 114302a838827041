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

// Gives tasks what they wait for: looks what can be granted whenever something was asked for or
// released, and again and again while a task waits for what others have, who do not tell when they
// give it back. On the loop's thread.
class GrantRounds {
 public:
  struct Options {
    // Not owned; both outlive this.
    runtime::EventLoop* loop = nullptr;
    Grants* grants = nullptr;
    // How often it looks whether others have given something back, while a task waits for that.
    absl::Duration look_for_others = absl::Milliseconds(500);
    // Takes all grants that one look has made for a job: each task is told of all before one
    // starts. Later, from the loop.
    std::function<void(const std::string& job, const std::vector<Grants::Grant>&)> on_granted;
    // The job may wait for something else now. Called inside Look().
    std::function<void(const std::string& job)> on_waits = {};
  };
  explicit GrantRounds(Options options) : options_(std::move(options)) {}
  ~GrantRounds() { *alive_ = false; }
  GrantRounds(const GrantRounds&) = delete;
  GrantRounds& operator=(const GrantRounds&) = delete;

  // Grants what can be granted now. Call this after each Grants::Request(), Release() and
  // SetNodes().
  void Look();

 private:
  void LookAgainForOthers();

  const Options options_;
  runtime::Timer others_timer_;  // Set while a task waits for others.
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace launcher

#endif  // LAUNCHER_RUN_GRANT_ROUNDS_H_
