#ifndef BENCH_SUPERVISORS_H_
#define BENCH_SUPERVISORS_H_

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace bench {

// Measurements of other programs that do the launcher's work, with the same program to start
// (stamp.cc). NotFound says how to install a missing peer.

// supervisord from Debian's package or the PATH.
struct Supervisord {
  absl::Duration all_started;    // From its exec to the last program running.
  absl::Duration first_to_last;  // From the first program running to the last.
  absl::Duration stopped;        // From SIGTERM to the last program gone.
  double resident_kilobytes = 0;
};
absl::StatusOr<Supervisord> MeasureSupervisord(int programs);

// From SIGKILL of a program to the new one running: the median of `kills`, each of another program.
absl::StatusOr<absl::Duration> SupervisordRestart(int kills);
absl::StatusOr<absl::Duration> S6Restart(int kills);
// The same for one program of a group of four, to the last of the four new ones; torchrun from
// Debian or tools/peers.
absl::StatusOr<absl::Duration> TorchrunRestart(int kills);

}  // namespace bench

#endif  // BENCH_SUPERVISORS_H_
