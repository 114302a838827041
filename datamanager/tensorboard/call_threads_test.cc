#include "datamanager/tensorboard/call_threads.h"

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "datamanager/tensorboard/grpc_framing.h"
#include "datamanager/tensorboard/h2_server.h"
#include "datamanager/tensorboard/provider.h"
#include "runtime/coordinator.h"

namespace datamanager::tensorboard {
namespace {

constexpr std::chrono::seconds kLong(60);
constexpr char kService[] = "/tensorboard.data.TensorBoardDataProvider/";

// Blocks every call except GetExperiment until the test releases it.
class HeldProvider : public Provider {
 public:
  explicit HeldProvider(std::shared_future<void> let_go) : let_go_(std::move(let_go)) {}

  GrpcAnswer Answer(std::string_view path, std::string_view) override {
    if (!path.ends_with("GetExperiment")) let_go_.wait();
    GrpcAnswer answer;
    AppendFrame(path, &answer.frames);
    return answer;
  }

 private:
  const std::shared_future<void> let_go_;
};

class CallThreadsTest : public ::testing::Test {
 protected:
  std::future<GrpcAnswer> Call(const std::string& method) {
    auto answered = std::make_shared<std::promise<GrpcAnswer>>();
    on_call_(kService + method, "",
             [answered](GrpcAnswer answer) { answered->set_value(std::move(answer)); });
    return answered->get_future();
  }
  static bool IsAnswered(const std::future<GrpcAnswer>& call, std::chrono::seconds within) {
    return call.wait_for(within) == std::future_status::ready;
  }

  runtime::Coordinator coordinator_;
  std::promise<void> let_go_;
  CallThreads threads_{&coordinator_};
  const H2Server::OnCall on_call_ =
      threads_.AnswersOf(std::make_shared<HeldProvider>(let_go_.get_future().share()));
};

TEST_F(CallThreadsTest, TheOneCallWithADeadlineWaitsForNoOther) {
  std::vector<std::future<GrpcAnswer>> held;
  // More calls than threads and queue places, as while large runs are loaded.
  for (int i = 0; i < 3000; ++i) held.push_back(Call(i % 2 == 0 ? "ReadScalars" : "ListScalars"));
  // Answered immediately, on the calling thread.
  EXPECT_TRUE(IsAnswered(Call("GetExperiment"), std::chrono::seconds(0)));
  let_go_.set_value();
  int refused = 0;
  for (auto& call : held) {
    ASSERT_TRUE(IsAnswered(call, kLong));
    if (!call.get().status.ok()) ++refused;
  }
  EXPECT_GT(refused, 0);
}

TEST_F(CallThreadsTest, WhoWaitsForARunHoldsUpNoList) {
  std::vector<std::future<GrpcAnswer>> held;
  for (int i = 0; i < 100; ++i) held.push_back(Call("ReadScalars"));
  std::promise<void> ran;
  EXPECT_TRUE(threads_.Run([&] { ran.set_value(); }).ok());
  EXPECT_EQ(ran.get_future().wait_for(kLong), std::future_status::ready);
  EXPECT_FALSE(IsAnswered(held.front(), std::chrono::seconds(0)));
  let_go_.set_value();
}

}  // namespace
}  // namespace datamanager::tensorboard
