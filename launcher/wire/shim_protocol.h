#ifndef LAUNCHER_WIRE_SHIM_PROTOCOL_H_
#define LAUNCHER_WIRE_SHIM_PROTOCOL_H_

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/wire/process_limit.h"

namespace launcher {

// The messages between the launcher and a shim, and the files of an attempt's folder
// (docs/launcher.md). Plain types without dependencies, because the static shim links it.

// Files in an attempt's folder.
inline constexpr std::string_view kSpecFile = "spec";  // 0600, written by the launcher.
inline constexpr std::string_view kLockFile = "lock";  // Locked by the shim while it lives.
// Created before the program starts; then holds a TreeMark.
inline constexpr std::string_view kStartedFile = "started";
// A ShimState, written after the attempt has ended.
inline constexpr std::string_view kExitFile = "exit";
// Indexes of the growth of the output streams (log_times.h).
inline constexpr std::string_view kStdoutTimesFile = "stdout.times";
inline constexpr std::string_view kStderrTimesFile = "stderr.times";

// The argument of a shim server (shim_server.h), and the descriptor of its socket.
inline constexpr std::string_view kServeShims = "--serve";
inline constexpr int kShimServerFd = 3;
// The argument of a relay for a process that no launcher started (attached.h).
inline constexpr std::string_view kAttachShim = "--attach";
// A spare shim shows this argument instead of a folder until it gets an attempt.
inline constexpr std::string_view kSpareShim = "--spare";
// "spare PID" offers the spare shim; "taken" says that it was given an attempt (shim_server.h).
inline constexpr std::string_view kSpareOffer = "spare ";
inline constexpr std::string_view kSpareTaken = "taken";

// Exit codes of yard-shim itself.
inline constexpr int kShimDone = 0;
inline constexpr int kShimBadSpec = 2;
inline constexpr int kShimNotFirst = 75;  // Another shim runs, or has run, this attempt.

// Identifies the processes of an attempt, so that they can be found after their shim has died
// (process_table.h).
struct TreeMark {
  std::string boot;  // The mark is valid only for this BootId().
  // As in OrphanedTree, like `files`.
  std::uint64_t not_before = 0;
  std::vector<std::string> files;
  // Directories of control groups that contain only this attempt's processes.
  std::vector<std::string> cgroups = {};

  std::string Encode() const;
  static std::optional<TreeMark> Decode(std::string_view bytes);
};

// Limits of all processes of an attempt together; 0 for no limit.
struct ControlLimits {
  std::uint64_t memory_bytes = 0;
  std::uint64_t milli_cpus = 0;  // Thousandths of a core.
  std::uint64_t processes = 0;

  bool operator==(const ControlLimits&) const = default;
};

// Properties that the task inherits from the process that launched the job. A property that the
// shim may not set is skipped.
struct CallersProcess {
  bool is_known = false;  // If false, the task inherits the shim's properties.
  unsigned umask = 0;
  int nice = 0;
  std::string cpus = {};  // "0-3,8"; empty for those of the shim.
  std::vector<ProcessLimit> limits = {};

  bool operator==(const CallersProcess&) const = default;
};

// The spec of one attempt of a task. A field that an older writer does not know gets its default.
struct ShimSpec {
  std::vector<std::string> argv;  // At least one.
  // Complete except for YARD_FD, YARD_SOCKET and YARD_READY_FD.
  std::vector<std::string> environment = {};
  std::string working_directory = {};
  std::string stdout_path = {};
  std::string stderr_path = {};
  std::string control_socket = {};  // Path at which a launcher connects to this shim.
  std::string task_socket = {};     // YARD_SOCKET of the task.
  std::string trainer_socket = {};  // If empty, reports are answered with an error.
  // Identifies the attempt in the greeting to the trainer.
  std::string nonce = {};
  // Without a trainer_socket: the reason why no trainer collects reports; empty if the task is not
  // a trial. Must need no JSON escapes.
  std::string no_reports = {};
  // Maximum size of each output stream in bytes, including the output of earlier attempts; 0 for no
  // limit.
  std::uint64_t log_limit = 0;
  // Rotation of the output files (OutputPipe::Bounds); 0 bytes for no rotation.
  std::uint64_t rotate_bytes = 0;
  std::uint64_t rotate_files = 1;
  // A KillModeName() (kill_modes.h); the attempt fails if that mode is not available. "" or "auto"
  // selects the best available mode that the task cannot see.
  std::string kill_mode = {};
  // The number, from 4 on, of a descriptor that the task gets; the task is ready once it has
  // written a byte to it. 0 for none.
  int ready_fd = 0;
  std::vector<ProcessLimit> limits = {};  // The attempt fails if one cannot be set.
  // Pid of a process whose end stops the attempt, with the signal and grace below; the attempt is
  // not started if that process has already ended. 0 if the attempt depends on no process.
  pid_t owner = 0;
  std::uint64_t owner_start_ticks = 0;
  int owner_stop_signal = 0;
  std::int64_t owner_stop_grace_ms = 0;
  ControlLimits control_limits = {};  // The note in the state names the limits that cannot be set.
  CallersProcess caller = {};

  bool operator==(const ShimSpec&) const = default;
  // Returns the value of an environment variable; empty if it is not set.
  std::string Variable(std::string_view name) const;
  std::string Encode() const;
  static std::optional<ShimSpec> Decode(std::string_view bytes);
};

// The progress of an attempt; phases only advance.
enum class ShimPhase { kStarting, kRunning, kExited };

// The state of a task as its shim reports it. Offsets are into the whole output streams
// (log_files.h); the attempt's output begins at `_begin`, which is not 0 if the log had content
// before.
struct ShimState {
  ShimPhase phase = ShimPhase::kStarting;
  pid_t shim_pid = 0;
  pid_t pid = 0;
  std::uint64_t start_ticks = 0;
  std::int64_t started_us = 0;  // Wall time.
  std::int64_t ended_us = 0;
  int exit_code = 0;
  int signal = 0;
  bool core_dumped = false;
  std::string failure;   // Why the task could not be started (at most 4 KiB); `pid` is then 0.
  int error_number = 0;  // errno, if the program could not be executed.
  std::string note;      // Further information for the user: "2 processes outlived it", ...
  std::uint64_t stdout_begin = 0, stdout_end = 0;
  std::uint64_t stderr_begin = 0, stderr_end = 0;
  bool ready = false;     // The task has written to its ready_fd.
  std::string kill_mode;  // KillModeName() of the mode in use; empty if the task was not started.
  // The kernel killed a process of the task for lack of memory. (Known only if the task is in a
  // control group with the memory controller.)
  bool out_of_memory = false;
  // The main process ended before the shim sent it a signal to end.
  bool unasked = false;
  // When the last burst of output on stderr began; 0 if there was no output.
  std::int64_t spoke_us = 0;

  bool operator==(const ShimState&) const = default;
  std::string Encode() const;
  static std::optional<ShimState> Decode(std::string_view bytes);
};

// The task has arrived at a barrier (docs/report-channel.md). Sent to every connection, and again
// to one that asks for the state, until one connection has answered.
struct ShimBarrier {
  std::uint64_t number = 0;  // Counted from 1 within the attempt.
  std::string line;          // The line that the task wrote; at most kMaxBarrierLine bytes.

  bool operator==(const ShimBarrier&) const = default;
  std::string Encode() const;
  static std::optional<ShimBarrier> Decode(std::string_view bytes);
};
inline constexpr std::size_t kMaxBarrierLine = 32 * 1024;

// One packet from the launcher. The shim answers kState at once; after kWatch it sends one
// ShimState as soon as an offset differs from the last state sent on this connection. A change of
// phase or of readiness is sent to every connection without a request.
struct ShimRequest {
  enum class Kind { kState, kWatch, kStop, kKill, kAcknowledge, kSignal, kBarrier };
  Kind kind = Kind::kState;
  int signal = 0;             // kStop, kSignal: sent to the task's process group.
  std::int64_t grace_ms = 0;  // kStop: then the whole tree is killed.
  std::uint64_t number = 0;   // kBarrier: number of the barrier that is answered ...
  std::string line = {};      // ... with this line; at most kMaxBarrierAnswer bytes.

  std::string Encode() const;
  static std::optional<ShimRequest> Decode(std::string_view bytes);
};

inline constexpr std::size_t kMaxBarrierAnswer = 3 * 1024;

// Bounds in bytes: packets from a shim are smaller than the first, packets to a shim smaller than
// the second.
inline constexpr std::size_t kMaxShimPacket = 64 * 1024;
inline constexpr std::size_t kMaxRequestPacket = 4 * 1024;

}  // namespace launcher

#endif  // LAUNCHER_WIRE_SHIM_PROTOCOL_H_
