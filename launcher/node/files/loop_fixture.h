#ifndef LAUNCHER_NODE_FILES_LOOP_FIXTURE_H_
#define LAUNCHER_NODE_FILES_LOOP_FIXTURE_H_

#include <functional>
#include <memory>
#include <string>

#include "gtest/gtest.h"
#include "runtime/event_loop.h"
#include "runtime/mutex.h"
#include "runtime/thread.h"

namespace launcher {

// A test with a loop on a separate thread, and with its own folder, which is removed at the end. A
// test must destroy the objects that live on the loop on its thread: with OnLoop(), in the
// destructor of the test.
class LoopFixture : public testing::Test {
 protected:
  LoopFixture();
  ~LoopFixture() override;

  // Runs `body` on the loop's thread, and waits for it.
  void OnLoop(const std::function<void()>& body);
  // Waits until `holds` returns true. It is called with mutex_ held: after each signal of changed_,
  // and every few milliseconds, for conditions about files.
  void Await(const std::function<bool()>& holds);

  // Writes a file, and creates its parent directories.
  static void Put(const std::string& path, const std::string& content);
  // Returns the content of a file; "missing" if it cannot be read.
  static std::string Get(const std::string& path);

  const std::string folder_;
  runtime::Mutex mutex_;
  runtime::CondVar changed_;
  const std::unique_ptr<runtime::EventLoop> loop_ = runtime::EventLoop::Create();

 private:
  // The last field, since the thread uses the others.
  runtime::Thread thread_{"loop", [this] { loop_->Run(); }};
};

}  // namespace launcher

#endif  // LAUNCHER_NODE_FILES_LOOP_FIXTURE_H_
