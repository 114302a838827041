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

// What the launcher and a shim say to each other, and the files of an attempt's folder
// (docs/launcher.md). Plain types and no dependencies, because the static shim links it.

// Files in an attempt's folder.
inline constexpr std::string_view kSpecFile = "spec";        // 0600, written by the launcher.
inline constexpr std::string_view kLockFile = "lock";        // Locked by the shim while it lives.
inline constexpr std::string_view kStartedFile = "started";  // Before the spawn; a TreeMark.
inline constexpr std::string_view kExitFile = "exit";        // A ShimState, once all is over.
// When the output has grown (log_times.h).
inline constexpr std::string_view kStdoutTimesFile = "stdout.times";
inline constexpr std::string_view kStderrTimesFile = "stderr.times";

// yard-shim --serve (shim_server.h), and the number of its socket.
inline constexpr std::string_view kServeShims = "--serve";
inline constexpr int kShimServerFd = 3;
// yard-shim --attach (attached.h).
inline constexpr std::string_view kAttachShim = "--attach";
// The next shim shows this in the place of its folder as long as it has none.
inline constexpr std::string_view kSpareShim = "--spare";
// "spare PID" offers it, "taken" says that it has an attempt (shim_server.h).
inline constexpr std::string_view kSpareOffer = "spare ";
inline constexpr std::string_view kSpareTaken = "taken";

// Exit codes of yard-shim itself.
inline constexpr int kShimDone = 0;
inline constexpr int kShimBadSpec = 2;
inline constexpr int kShimNotFirst = 75;  // Another shim has, or had, this attempt.

// Marks the processes of an attempt, so that they are found after their shim is gone
// (process_table.h).
struct TreeMark {
  std::string boot;  // Holds for this BootId() only.
  std::uint64_t not_before = 0;
  std::vector<std::string> files;
  std::vector<std::string> cgroups = {};  // Directories that only this attempt's processes are in.

  std::string Encode() const;
  static std::optional<TreeMark> Decode(std::string_view bytes);
};

// Limits of all processes of an attempt together; 0: no limit.
struct ControlLimits {
  std::uint64_t memory_bytes = 0;
  std::uint64_t milli_cpus = 0;  // Thousandths of a core.
  std::uint64_t processes = 0;

  bool operator==(const ControlLimits&) const = default;
};

// Properties that the task inherits from the process that has asked for it. A property that we may
// not set is left out.
struct CallersProcess {
  bool is_known = false;  // False: the task inherits our own properties.
  unsigned umask = 0;
  int nice = 0;
  std::string cpus = {};  // "0-3,8"; empty: ours.
  std::vector<ProcessLimit> limits = {};

  bool operator==(const CallersProcess&) const = default;
};

// One attempt of a task. A field that the writer does not know has its default for the reader.
struct ShimSpec {
  std::vector<std::string> argv;  // At least one.
  // Complete, but for YARD_FD, YARD_SOCKET and YARD_READY_FD.
  std::vector<std::string> environment = {};
  std::string working_directory = {};
  std::string stdout_path = {};
  std::string stderr_path = {};
  std::string control_socket = {};  // Where the launcher finds this shim again.
  std::string task_socket = {};     // YARD_SOCKET of the task.
  std::string trainer_socket = {};  // Empty: reports are answered with an error.
  std::string nonce = {};
  // Without a trainer_socket: why nobody collects the reports. Empty: the task is no trial. Must
  // need no JSON escapes.
  std::string no_reports = {};
  // Neither output stream grows past it, what earlier attempts have left included; 0: no limit.
  std::uint64_t log_limit = 0;
  // Rotation of the output files (OutputPipe::Bounds); 0 bytes: none.
  std::uint64_t rotate_bytes = 0;
  std::uint64_t rotate_files = 1;
  // A KillModeName() (kill_modes.h): the attempt fails where that cannot be had. "" or "auto": the
  // best that can, of those that the task does not see.
  std::string kill_mode = {};
  // From 4 on: the task gets this descriptor and is ready once it has written a byte to it. 0:
  // none.
  int ready_fd = 0;
  std::vector<ProcessLimit> limits = {};  // The attempt fails if one cannot be set.
  // The attempt is stopped, with this signal and grace, when this process has ended, and is not
  // begun if it has already. 0: it goes on whatever ends.
  pid_t owner = 0;
  std::uint64_t owner_start_ticks = 0;
  int owner_stop_signal = 0;
  std::int64_t owner_stop_grace_ms = 0;
  ControlLimits control_limits = {};  // The state's note tells which cannot be set.
  CallersProcess caller = {};

  bool operator==(const ShimSpec&) const = default;
  // The value of a variable of the environment; empty if it is not set.
  std::string Variable(std::string_view name) const;
  std::string Encode() const;
  static std::optional<ShimSpec> Decode(std::string_view bytes);
};

enum class ShimPhase { kStarting, kRunning, kExited };

// Everything that a shim knows of its task. Offsets are into the whole output streams
// (log_files.h); they begin at `_begin`, which is not 0 when the file had content before.
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
  std::string failure;   // Why the task could not be started (at most 4 KiB); then it has no pid.
  int error_number = 0;  // errno, if that was because its program could not be executed.
  std::string note;      // More that a person should know: "2 processes outlived it", ...
  std::uint64_t stdout_begin = 0, stdout_end = 0;
  std::uint64_t stderr_begin = 0, stderr_end = 0;
  bool ready = false;     // It has written to its ready_fd.
  std::string kill_mode;  // A KillModeName(): by what it is held together. Empty: not started.
  // A process of the task was killed because memory was short. (Known where a control group with
  // that controller holds it.)
  bool out_of_memory = false;
  // The main process had ended before we sent it a signal that ends it.
  bool unasked = false;
  // When its last words to stderr began to come; 0: it said nothing.
  std::int64_t spoke_us = 0;

  bool operator==(const ShimState&) const = default;
  std::string Encode() const;
  static std::optional<ShimState> Decode(std::string_view bytes);
};

// The task is at a barrier (docs/report-channel.md). Sent to every connection, and again to one
// that asks for the state, until one of them has answered.
struct ShimBarrier {
  std::uint64_t number = 0;  // From 1; of this attempt.
  std::string line;          // As the task wrote it; at most kMaxBarrierLine bytes.

  bool operator==(const ShimBarrier&) const = default;
  std::string Encode() const;
  static std::optional<ShimBarrier> Decode(std::string_view bytes);
};
inline constexpr std::size_t kMaxBarrierLine = 32 * 1024;

// One packet from the launcher. The shim answers kState at once; after kWatch it sends one
// ShimState as soon as an offset differs from what this connection was sent last. A change of
// phase, or of being ready, is sent to every connection unasked.
struct ShimRequest {
  enum class Kind { kState, kWatch, kStop, kKill, kAcknowledge, kSignal, kBarrier };
  Kind kind = Kind::kState;
  int signal = 0;             // kStop, kSignal: sent to the task's process group.
  std::int64_t grace_ms = 0;  // kStop: then the whole tree is killed.
  std::uint64_t number = 0;   // kBarrier: of the one that is answered ...
  std::string line = {};      // ... with this; at most kMaxBarrierAnswer bytes.

  std::string Encode() const;
  static std::optional<ShimRequest> Decode(std::string_view bytes);
};

inline constexpr std::size_t kMaxBarrierAnswer = 3 * 1024;

// Any packet from a shim is smaller, and any to a shim smaller than the second.
inline constexpr std::size_t kMaxShimPacket = 64 * 1024;
inline constexpr std::size_t kMaxRequestPacket = 4 * 1024;

}  // namespace launcher

#endif  // LAUNCHER_WIRE_SHIM_PROTOCOL_H_
