#ifndef REGISTRY_TEST_REGISTRY_H_
#define REGISTRY_TEST_REGISTRY_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "bus/call/client.h"
#include "bus/schema/registry_methods.h"
#include "bus/thread/node.h"
#include "runtime/file/locations.h"
#include "runtime/process/subprocess.h"

namespace registry {

// A registry process in a private directory with a short path, members that register with it
// (member_main.cc), and a client. The destructor ends all of them.
class TestRegistry {
 public:
  static constexpr absl::Duration kLong = absl::Seconds(30);

  TestRegistry();
  ~TestRegistry();
  TestRegistry(const TestRegistry&) = delete;
  TestRegistry& operator=(const TestRegistry&) = delete;

  // Starts the registry and waits until it answers; if it does not, fails the test and returns
  // false.
  bool Start();
  void Kill();  // Sends SIGKILL and waits.
  runtime::Subprocess& process() { return *process_; }
  // Starts a program without waiting for it.
  std::unique_ptr<runtime::Subprocess> Launch(const std::string& program,
                                              const std::vector<std::string>& arguments);
  void StartMember(const std::string& name);
  runtime::Subprocess& member(const std::string& name) { return *members_.at(name); }
  std::string Errors() const;  // Standard error of all processes.

  const std::string& directory() const { return directory_; }
  const runtime::Locations& locations() const { return locations_; }
  bus::Node& node() { return *node_; }
  bus::Client& client() { return *client_; }
  // Makes a node that the registry takes for another process.
  std::unique_ptr<bus::Node> MakeNode() const;

  msg::ListReplyT List(const std::string& prefix = "");
  // Polls until `prefix` has `count` leases, for at most `time`. Returns the time it took.
  absl::Duration AwaitCount(const std::string& prefix, std::size_t count,
                            absl::Duration time = kLong);

 private:
  std::string directory_;
  runtime::Locations locations_;
  std::unique_ptr<bus::Node> node_;
  std::unique_ptr<bus::Client> client_;
  std::unique_ptr<runtime::Subprocess> process_;
  std::map<std::string, std::unique_ptr<runtime::Subprocess>> members_;
};

}  // namespace registry

#endif  // REGISTRY_TEST_REGISTRY_H_
