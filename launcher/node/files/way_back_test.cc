#include "launcher/node/files/way_back.h"

#include <memory>

#include "gtest/gtest.h"
#include "runtime/event_loop.h"
#include "runtime/thread.h"

namespace launcher {
namespace {

class WayBackTest : public testing::Test {
 protected:
  const std::unique_ptr<runtime::EventLoop> loop_ = runtime::EventLoop::Create();
  const std::shared_ptr<WayBack> way_ = std::make_shared<WayBack>(loop_.get());
  bool has_come_ = false;
};

TEST_F(WayBackTest, LeadsFromAThreadToTheLoop) {
  runtime::Thread thread("test", [this] {
    EXPECT_TRUE(way_->Post([this] {
      has_come_ = loop_->InLoopThread();
      loop_->Stop();
    }));
  });
  loop_->Run();
  thread.Join();
  EXPECT_TRUE(has_come_);
}

TEST_F(WayBackTest, DropsWhatIsOnItsWayWhenItIsClosed) {
  loop_->Post([this] {
    EXPECT_TRUE(way_->Post([this] { has_come_ = true; }));
    way_->Close();
    loop_->Stop();
  });
  loop_->Run();
  EXPECT_FALSE(has_come_);
}

TEST_F(WayBackTest, SaysThatItIsClosed) {
  way_->Close();
  EXPECT_FALSE(way_->Post([] {}));
}

TEST_F(WayBackTest, AFunctionMayCloseIt) {
  loop_->Post([this] {
    EXPECT_TRUE(way_->Post([this] { way_->Close(); }));
    EXPECT_TRUE(way_->Post([this] { has_come_ = true; }));
    loop_->Post([this] { loop_->Post([this] { loop_->Stop(); }); });
  });
  loop_->Run();
  EXPECT_FALSE(has_come_);
}

}  // namespace
}  // namespace launcher
