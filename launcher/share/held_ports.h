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

// TCP ports of this host that belong to jobs. Each is held by a socket that is bound and never
// listens, on the wildcard address of IPv6 and IPv4 together (of IPv4 alone where there is no
// IPv6), for as long as the job lives. Nobody is given such a port by chance, nobody's bind() takes
// it by accident, and nothing is between "free" and "mine" as with a port that was only looked for.
//
// The holding socket has SO_REUSEADDR and SO_REUSEPORT, so that a program that sets one of them can
// bind the port and listen on it beside us, on any address: with SO_REUSEADDR whosever program it
// is, with SO_REUSEPORT alone only one of our own user.
//
//   gRPC and so TensorFlow         both: works
//   torch's TCPStore, gloo         SO_REUSEADDR (libuv), or both: works
//   Python's http.server, asyncio  SO_REUSEADDR: works
//   LightGBM, any bare bind()      EADDRINUSE: LetGo() the port just before the program starts
//
// Re-imagines the port picker of TensorFlow's runner, which looks for a port, lets go of it, and
// remembers it in the one process that picked it.
//
// One thread; each port is a file descriptor (closed at exec).
class HeldPorts {
 public:
  struct Range {
    int first = 0, last = 0;  // Both ports are in the range.
    bool operator==(const Range&) const = default;
  };
  struct Options {
    // Where ports are taken from; empty: those of FreeRanges() on this machine.
    std::vector<Range> ranges;
    // The search begins so many ports behind the first one, modulo their number, and always goes on
    // where it was: a port that was released is not used again for long.
    std::uint64_t start = 0;
  };
  explicit HeldPorts(Options options);

  // `count` ports for a job, given by its id, that nobody has bound and no connection uses, all or
  // none, and not one of them ever a second time before its Release(). ResourceExhausted if there
  // are not so many, naming the ranges, or no more file descriptors.
  absl::StatusOr<std::vector<int>> Take(const std::string& job, int count);

  // Holds a port that is the job's by what was stored of it, or that was let go. Its tasks may be
  // listening on it (with SO_REUSEPORT). FailedPrecondition, naming it, if the port is another
  // job's. With any other result the port is now this job's: Take() gives it to nobody.
  // AlreadyExists, if it cannot be bound, says who uses it, as far as that is known: "python3 (pid
  // 77)", which may be the job's own task, if its socket has SO_REUSEADDR only. May be called
  // again.
  absl::Status TakeUp(const std::string& job, int port);

  // No longer holds the port, which stays the job's: Take() gives it to nobody. Nothing happens if
  // it is not the job's.
  void LetGo(const std::string& job, int port);
  // The port is free. Nothing happens if it is not the job's.
  void Release(const std::string& job, int port);

  bool IsHeld(int port) const;
  // Held or let go.
  std::size_t size() const { return ports_.size(); }

  // The ports from 10000 on (TensorFlow's runner takes none below) that the kernel does not give to
  // outgoing connections, from the text of /proc/sys/net/ipv4/ip_local_port_range. If that leaves
  // fewer than 1000, all from 10000 on.
  static std::vector<Range> FreeRanges(std::string_view ephemeral);

 private:
  struct Port {
    std::string job;
    runtime::UniqueFd socket;  // Invalid: let go.
  };
  int At(std::uint64_t place) const;

  std::vector<Range> ranges_;
  std::uint64_t places_ = 0;  // In all ranges.
  std::uint64_t next_ = 0;
  std::map<int, Port> ports_;
};

}  // namespace launcher

#endif  // LAUNCHER_SHARE_HELD_PORTS_H_
