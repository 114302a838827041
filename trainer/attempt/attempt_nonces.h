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

// The nonces with which attempts that may still report greet the trainer: that of every live
// trial's current attempt, and for a while that of an ended attempt, whose last reports may be
// under way. (Ray Tune takes no result of an actor that it has let go.) On the loop's thread.
class AttemptNonces {
 public:
  // For so long after its end an attempt's last reports may still arrive.
  static constexpr absl::Duration kLateReports = absl::Minutes(1);

  // Neither is owned; both outlive it.
  AttemptNonces(runtime::EventLoop* loop, runtime::Clock* clock) : loop_(loop), clock_(clock) {}
  AttemptNonces(const AttemptNonces&) = delete;
  AttemptNonces& operator=(const AttemptNonces&) = delete;

  // Stays, also if it was to be forgotten.
  void Add(const std::string& nonce, const AttemptKey& attempt);
  void Forget(const std::string& nonce) { attempts_.erase(nonce); }
  // After kLateReports, unless it is added again before.
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
