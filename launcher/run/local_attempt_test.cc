// Tests that an attempt on this host fulfils the contract of all attempts. (crash_test kills the
// launcher at each named point.)

#include "launcher/run/local_attempt.h"

#include <stdlib.h>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "gtest/gtest.h"
#include "launcher/fixtures/attempt_conformance.h"
#include "launcher/run/attempt.h"
#include "launcher/run/shim_spawner.h"
#include "runtime/event_loop.h"
#include "runtime/thread.h"

namespace launcher {
namespace {

TEST(LocalAttemptTest, KeepsThePromisesOfAnAttempt) {
  char name[] = "/tmp/la-XXXXXX";
  const std::string directory = mkdtemp(name);
  const auto loop = runtime::EventLoop::Create();
  ShimSpawner spawner("launcher/yard-shim");
  runtime::Thread thread("loop", [&] { loop->Run(); });
  const AttemptMaker maker{.make = [&](runtime::EventLoop* its_loop,
                                       const AttemptMaker::Asked& asked,
                                       Attempt::Callbacks callbacks) -> std::unique_ptr<Attempt> {
    LocalAttempt::Options options;
    options.loop = its_loop;
    options.spawner = &spawner;
    options.folder = asked.folder;
    options.task_socket = asked.folder + "/task";
    options.control_socket = asked.folder + "/ctl";
    options.spec = [&asked] {
      ShimSpec spec = asked.spec;
      spec.task_socket = asked.folder + "/task";
      spec.control_socket = asked.folder + "/ctl";
      return spec;
    };
    return std::make_unique<LocalAttempt>(std::move(options), std::move(callbacks));
  }};
  ExpectConformingAttempt(loop.get(), directory, maker);
  loop->Stop();
  thread.Join();
  std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace launcher
