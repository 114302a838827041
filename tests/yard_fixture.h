#ifndef TESTS_YARD_FIXTURE_H_
#define TESTS_YARD_FIXTURE_H_

#include <sys/types.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "nlohmann/json.hpp"
#include "runtime/process/subprocess.h"

namespace tests {

// The result of a command.
struct CommandResult {
  int exit_code = -1;  // 128 + signal when a signal ended it.
  std::string out;
  std::string err;
  absl::Duration took;
};

// A command that was started and not waited for; killed when destroyed.
class Command {
 public:
  Command(runtime::Subprocess process, std::string out_path, std::string err_path);
  ~Command();
  Command(Command&&) = default;

  pid_t pid() const { return process_.pid(); }
  runtime::Subprocess& process() { return process_; }
  // Waits at most `timeout`; a command that takes longer is killed and is a failure of the test.
  CommandResult Wait(absl::Duration timeout);
  // The output that it has written so far.
  std::string Out() const;
  std::string Err() const;

 private:
  runtime::Subprocess process_;
  std::string out_path_;
  std::string err_path_;
  absl::Time started_ = absl::Now();
};

// A yard of its own in a fresh directory: state, sockets and runs. Nothing of the person who
// runs the test is touched. The destructor takes everything down.
class Yard {
 public:
  Yard();
  ~Yard();
  Yard(const Yard&) = delete;
  Yard& operator=(const Yard&) = delete;

  const std::string& directory() const { return directory_; }
  std::string logdir() const { return directory_ + "/runs"; }
  std::string state() const { return directory_ + "/state"; }
  std::string runtime_directory() const { return directory_ + "/run/yard"; }

  // For what is started from now on.
  void SetEnvironment(const std::string& name, const std::string& value) {
    environment_[name] = value;
  }

  // Runs `yard ARGS...` in the yard's directory.
  CommandResult Run(std::vector<std::string> args, absl::Duration timeout = absl::Seconds(60));
  Command Start(std::vector<std::string> args);
  // Starts one of the project's binaries ("registry/registry").
  Command StartBinary(const std::string& label_path, std::vector<std::string> args);
  // Starts any program, in the environment of the yard.
  Command StartProgram(const std::string& program, std::vector<std::string> args);
  // Path of one of the project's binaries.
  static std::string Binary(const std::string& label_path);
  // "--data=PATH" for the digits programs: beside the binary it is only where that was built by
  // itself.
  static std::string DigitsData();

  // `yard status --json` by service name; empty if it could not answer.
  std::map<std::string, nlohmann::json> Status();
  // The pid of a running service, from the process that holds its lock; 0 if nobody holds it.
  pid_t PidOf(const std::string& service);
  // Kills (signal 9) that service and waits until it is gone and its lock free. False if it did not
  // run.
  bool Kill(const std::string& service);

  // Asks again until `condition` is true or `timeout` has passed.
  static bool Eventually(const std::function<bool()>& condition,
                         absl::Duration timeout = absl::Seconds(30));

 private:
  std::vector<std::string> Environment() const;

  std::string directory_;
  std::map<std::string, std::string> environment_;
  int commands_ = 0;
};

// Every process of this user whose environment holds `text`.
std::vector<pid_t> ProcessesWithEnvironment(const std::string& text);

}  // namespace tests

#endif  // TESTS_YARD_FIXTURE_H_
