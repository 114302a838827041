#ifndef BUS_ACCESS_GATE_LINK_H_
#define BUS_ACCESS_GATE_LINK_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace bus {

// Connects a node to its yard through the yard's gate, where ssh is not available. Listens on two
// unix sockets in the node's folder and carries each connection that is made there over its single
// connection to the gate (bus/access/node_channels.h). When that one breaks, all carried
// connections break with it, and the link reconnects; connections that are made meanwhile wait in
// the backlog. Runs a thread of its own.
class GateLink {
 public:
  struct Options {
    // Directory of the sockets; each socket's path has at most 107 bytes.
    std::string folder;
    std::string key_file;  // From `yard gate allow NAME --node`; read again for each connection.
    // Addresses of the gate, each tcp://HOST:PORT, which are tried in turn. Empty: the address in
    // the key file.
    std::vector<std::string> addresses = {};
    absl::Duration first_pause = absl::Milliseconds(20);  // Doubles up to longest_pause.
    // A lasting connection resets the pause.
    absl::Duration longest_pause = absl::Milliseconds(500);
    absl::Duration refused_pause = absl::Seconds(5);  // After the gate refused the key.
    // Time without a connection after which a log line names all addresses and their errors; the
    // line is then repeated once a minute.
    absl::Duration told_after = absl::Seconds(5);
  };
  // Starts the link; waits for neither the gate nor the key file. InvalidArgument if an address or
  // a socket's path is malformed.
  static absl::StatusOr<std::unique_ptr<GateLink>> Start(Options options);
  // Returns OK if the file contains a node's key, InvalidArgument if it does not; other errors are
  // those of ReadAccessFile().
  static absl::Status CheckKey(const std::string& key_file);
  ~GateLink();
  GateLink(const GateLink&) = delete;
  GateLink& operator=(const GateLink&) = delete;

  // Path to which the node connects for the launcher, and its shims for the trainer.
  std::string launcher_socket() const;
  std::string trainer_socket() const;
  static std::string LauncherSocket(const std::string& folder) { return folder + "/l"; }
  static std::string TrainerSocket(const std::string& folder) { return folder + "/t"; }

 private:
  class Impl;
  explicit GateLink(std::unique_ptr<Impl> impl);

  const std::unique_ptr<Impl> impl_;
};

}  // namespace bus

#endif  // BUS_ACCESS_GATE_LINK_H_
