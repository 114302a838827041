#ifndef LAUNCHER_SHARE_HELD_PORTS_H_
#define LAUNCHER_SHARE_HELD_PORTS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/file/unique_fd.h"

namespace launcher {

// TCP ports of this host that are reserved for jobs. Each is held, for as long as the job lives, by
// a socket that is bound and never listens, on the wildcard address of IPv6 and IPv4 together (of
// IPv4 alone where there is no IPv6). The kernel gives such a port to no other program, no bind()
// takes it by accident, and there is no race between finding a free port and using it.
//
// The holding socket has SO_REUSEADDR and SO_REUSEPORT, so that a program that sets one of them can
// bind the port and listen on it at the same time, on any address: with SO_REUSEADDR a program of
// any user, with SO_REUSEPORT alone only a program of our own user.
//
//   gRPC and so TensorFlow         both: works
//   torch's TCPStore, gloo         SO_REUSEADDR (libuv), or both: works
//   Python's http.server, asyncio  SO_REUSEADDR: works
//   LightGBM, any bare bind()      EADDRINUSE: LetGo() the port just before the program starts
//
// Re-imagines the port picker of TensorFlow's runner, which finds a port, releases it, and
// remembers it only in the process that picked it.
//
// Not thread-safe. Each port takes one file descriptor (closed at exec).
class HeldPorts {
 public:
  struct Range {
    int first = 0, last = 0;  // Both are included.
    bool operator==(const Range&) const = default;
  };
  struct Options {
    // The ports to take from; empty for FreeRanges() of this machine.
    std::vector<Range> ranges;
    // The search starts this many ports after the first one, modulo the number of ports, and always
    // continues where it stopped, so that a released port is not reused for a long time.
    std::uint64_t start = 0;
  };
  explicit HeldPorts(Options options);

  // Takes `count` ports for a job (its id), all or none: ports that no process has bound, that no
  // connection uses, and that were not taken before without a Release(). ResourceExhausted, with
  // the ranges, if there are not enough free ports, or if there are no more file descriptors.
  absl::StatusOr<std::vector<int>> Take(const std::string& job, int count);

  // Holds a port that the store assigns to the job, or that LetGo() has released. The job's tasks
  // may be listening on it (with SO_REUSEPORT). FailedPrecondition, with the other job, if the port
  // belongs to another job. After any other result the port belongs to this job, and Take() does
  // not return it. AlreadyExists if the port cannot be bound, with its user as far as known:
  // "python3 (pid 77)". That may be the job's own task, if its socket has SO_REUSEADDR only.
  // Idempotent.
  absl::Status TakeUp(const std::string& job, int port);

  // Closes the holding socket of the port, which still belongs to the job: Take() does not return
  // it. Does nothing if the port is not the job's.
  void LetGo(const std::string& job, int port);
  // Frees the port. Does nothing if the port is not the job's.
  void Release(const std::string& job, int port);

  // True while a socket of this object holds the port.
  bool IsHeld(int port) const;
  // Number of ports that belong to jobs, held or let go.
  std::size_t size() const { return ports_.size(); }

  // Returns the ports from 10000 on (TensorFlow's runner takes none below) that the kernel does not
  // use for outgoing connections. `ephemeral` is the text of
  // /proc/sys/net/ipv4/ip_local_port_range. If that leaves fewer than 1000 ports, returns all from
  // 10000 on.
  static std::vector<Range> FreeRanges(std::string_view ephemeral);

 private:
  struct Port {
    std::string job;
    runtime::UniqueFd socket;  // Invalid after LetGo().
  };
  int At(std::uint64_t place) const;

  std::vector<Range> ranges_;
  std::uint64_t places_ = 0;  // Number of ports in all ranges.
  std::uint64_t next_ = 0;
  std::map<int, Port> ports_;
};

}  // namespace launcher

#endif  // LAUNCHER_SHARE_HELD_PORTS_H_
