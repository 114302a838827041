#ifndef TRAINER_ATTEMPT_ATTEMPT_NONCES_H_
#define TRAINER_ATTEMPT_ATTEMPT_NONCES_H_

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "absl/time/time.h"
#include "runtime/clock.h"
#include "runtime/event_loop.h"
#include "runtime/timer.h"
#include "trainer/report/line_receiver.h"

namespace trainer {

// The nonces with which attempts identify themselves to the trainer: the nonce of each live trial's
// current attempt and, for a while, that of an ended attempt, whose last reports may still be in
// flight. (Ray Tune takes no result of an actor that it has released.) Use it on the loop's thread.
class AttemptNonces {
 public:
  // How long after its end an attempt's last reports may still arrive.
  static constexpr absl::Duration kLateReports = absl::Minutes(1);

  // Neither is owned; both outlive it.
  AttemptNonces(runtime::EventLoop* loop, runtime::Clock* clock) : loop_(loop), clock_(clock) {}
  AttemptNonces(const AttemptNonces&) = delete;
  AttemptNonces& operator=(const AttemptNonces&) = delete;

  // Adds a nonce, or cancels its scheduled removal.
  void Add(const std::string& nonce, const AttemptKey& attempt);
  void Forget(const std::string& nonce) { attempts_.erase(nonce); }
  // Removes the nonce after kLateReports, unless Add() is called first.
  void ForgetLater(const std::string& nonce);
  std::optional<AttemptKey> Find(std::string_view nonce) const;

 private:
  struct Entry {
    AttemptKey attempt;
    absl::Time until = absl::InfiniteFuture();
  };
  void ForgetDue();
  void PlanForgetting();

  runtime::EventLoop* const loop_;
  runtime::Clock* const clock_;
  std::map<std::string, Entry, std::less<>> attempts_;
  runtime::Timer timer_;
};

}  // namespace trainer

#endif  // TRAINER_ATTEMPT_ATTEMPT_NONCES_H_
