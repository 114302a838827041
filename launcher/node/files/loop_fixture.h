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

// A test with a loop on a thread of its own, and a folder of its own, which is removed at the end.
// A test destroys its objects that live on the loop there: with OnLoop(), in its destructor.
class LoopFixture : public testing::Test {
 protected:
  LoopFixture();
  ~LoopFixture() override;

  // Runs `body` on the loop's thread, and waits for it.
  void OnLoop(const std::function<void()>& body);
  // Waits until `holds` is true, which is called with mutex_ held: after each signal of changed_,
  // and every few milliseconds, for a file.
  void Await(const std::function<bool()>& holds);

  // Writes a file, and makes the directories above it.
  static void Put(const std::string& path, const std::string& content);
  // The content of a file; "missing" if it cannot be read.
  static std::string Get(const std::string& path);

  const std::string folder_;
  runtime::Mutex mutex_;
  runtime::CondVar changed_;
  const std::unique_ptr<runtime::EventLoop> loop_ = runtime::EventLoop::Create();

 private:
  runtime::Thread thread_{"loop", [this] { loop_->Run(); }};  // Last: it uses the others.
};

}  // namespace launcher

#endif  // LAUNCHER_NODE_FILES_LOOP_FIXTURE_H_
