#include "launcher/gpu/gpu_meter.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/time/time.h"
#include "glog/logging.h"
#include "launcher/gpu/testing/fake_nvml.h"
#include "runtime/fake_clock.h"
#include "runtime/file/file.h"

namespace launcher {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

// Collects the log lines about GPUs.
class LogLines : public google::LogSink {
 public:
  LogLines() { google::AddLogSink(this); }
  ~LogLines() override { google::RemoveLogSink(this); }
  void send(google::LogSeverity, const char*, const char*, int, const struct ::tm*,
            const char* message, std::size_t size) override {
    std::string line(message, size);
    if (absl::StrContains(line, "GPU")) lines.push_back(std::move(line));
  }
  std::vector<std::string> lines;
};

class GpuMeterTest : public ::testing::Test {
 protected:
  GpuMeterTest() {
    void* const handle = dlopen(kLibrary, RTLD_NOW);
    EXPECT_NE(handle, nullptr) << dlerror();
    fake_ = reinterpret_cast<FakeNvmlState* (*)()>(dlsym(handle, "FakeNvml"))();
    fake_->init_result = fake_->count_result = fake_->inits = fake_->shutdowns = 0;
    fake_->lost = fake_->says_little = -1;
    fake_->gpus = 2;
    fake_->busy_pid = fake_->more_pids = 0;
  }
  // The patience does not end, since the fake clock stands still.
  GpuMeter::Options Options() { return {.library = kLibrary, .clock = &clock_}; }

  static constexpr char kLibrary[] = "launcher/gpu/testing/libnvidia-ml.so.1";
  runtime::FakeClock clock_;
  FakeNvmlState* fake_ = nullptr;
  LogLines log_;
};

TEST_F(GpuMeterTest, HasTheFiguresOfAllGpus) {
  fake_->busy_pid = 77;
  fake_->more_pids = 200;
  GpuMeter meter(Options());
  const auto reply = meter.Measure(true);
  EXPECT_EQ(reply.why_none, "");
  ASSERT_THAT(reply.figures.gpus, SizeIs(2));
  const msg::GpuUsageT& gpu = reply.figures.gpus[1];
  EXPECT_EQ(gpu.index, 1u);
  EXPECT_EQ(gpu.uuid, "GPU-10000000-0000");
  EXPECT_EQ(gpu.name, "Fake GPU");
  EXPECT_EQ(gpu.utilisation, 20);
  EXPECT_EQ(gpu.memory_bytes, 2'000'000'000u);
  EXPECT_EQ(gpu.memory_total_bytes, 16'000'000'000u);
  EXPECT_EQ(gpu.temperature, 51);
  EXPECT_EQ(gpu.power, 101.5);
  ASSERT_THAT(reply.figures.processes, SizeIs(201));
  EXPECT_EQ(reply.figures.processes.back().pid, 77);
  EXPECT_EQ(reply.figures.processes.back().gpu, 1u);
  EXPECT_THAT(meter.Measure(false).figures.processes, IsEmpty());
  EXPECT_EQ(fake_->inits, 1);
  EXPECT_THAT(log_.lines, IsEmpty());
}

TEST_F(GpuMeterTest, WhatAGpuDoesNotSayIsNotANumber) {
  fake_->says_little = 0;
  GpuMeter meter(Options());
  const auto reply = meter.Measure(false);
  ASSERT_THAT(reply.figures.gpus, SizeIs(2));
  const msg::GpuUsageT& gpu = reply.figures.gpus[0];
  EXPECT_TRUE(std::isnan(gpu.utilisation) && std::isnan(gpu.temperature) && std::isnan(gpu.power));
  EXPECT_EQ(gpu.memory_bytes, 1'000'000'000u);
  EXPECT_THAT(log_.lines, IsEmpty());
}

TEST_F(GpuMeterTest, AGpuThatFallsOffTheBusCostsItsOwnFigures) {
  GpuMeter meter(Options());
  meter.Measure(false);
  fake_->lost = 0;
  for (int i = 0; i < 3; ++i) {
    const auto reply = meter.Measure(false);
    ASSERT_THAT(reply.figures.gpus, SizeIs(2));
    EXPECT_TRUE(std::isnan(reply.figures.gpus[0].utilisation));
    EXPECT_EQ(reply.figures.gpus[0].memory_total_bytes, 0u);
    EXPECT_EQ(reply.figures.gpus[1].utilisation, 20);
    EXPECT_EQ(reply.why_none, "");
  }
  EXPECT_THAT(log_.lines, ElementsAre("no figures of GPU 0: GPU is lost"));
  fake_->lost = -1;
  EXPECT_EQ(meter.Measure(false).figures.gpus[0].utilisation, 10);
}

TEST_F(GpuMeterTest, WithoutTheLibraryThereIsOneLineInTheLog) {
  auto options = Options();
  options.library = "libno-such-driver.so.1";
  GpuMeter meter(options);
  for (int i = 0; i < 5; ++i) {
    const auto reply = meter.Measure(true);
    EXPECT_THAT(reply.why_none, HasSubstr("libno-such-driver.so.1: cannot open"));
    EXPECT_THAT(reply.figures.gpus, IsEmpty());
    clock_.Advance(absl::Seconds(61));
  }
  EXPECT_THAT(log_.lines,
              ElementsAre(AllOf(StartsWith("no figures of GPUs: "), HasSubstr("cannot open"))));
}

TEST_F(GpuMeterTest, ALibraryOfThatNameThatIsAnotherIsNone) {
  auto options = Options();
  options.library = "libc.so.6";
  GpuMeter meter(options);
  EXPECT_THAT(meter.Measure(true).why_none, HasSubstr("libc.so.6 has no nvmlInit_v2"));
}

TEST_F(GpuMeterTest, ADriverThatFailsIsLoadedAgainAfterAWhile) {
  fake_->init_result = 9;
  GpuMeter meter(Options());
  EXPECT_EQ(meter.Measure(false).why_none, "Driver Not Loaded");
  fake_->init_result = 0;
  clock_.Advance(absl::Seconds(59));
  EXPECT_EQ(meter.Measure(false).why_none, "Driver Not Loaded");
  clock_.Advance(absl::Seconds(1));
  EXPECT_EQ(meter.Measure(false).why_none, "");
  EXPECT_EQ(fake_->inits, 2);
  // The driver is replaced by a newer version while it is in use.
  fake_->count_result = 18;
  EXPECT_EQ(meter.Measure(false).why_none, "Unknown Error");
  EXPECT_EQ(fake_->shutdowns, 1);
  fake_->count_result = 0;
  clock_.Advance(absl::Seconds(60));
  EXPECT_THAT(meter.Measure(false).figures.gpus, SizeIs(2));
  EXPECT_THAT(log_.lines, ElementsAre("no figures of GPUs: the driver says: Driver Not Loaded",
                                      "there are figures of GPUs again",
                                      "no figures of GPUs: the driver says: Unknown Error",
                                      "there are figures of GPUs again"));
}

TEST_F(GpuMeterTest, ADriverThatHangsKeepsNobodyWaiting) {
  GpuMeter meter(Options());
  meter.Measure(false);
  fake_->hangs = true;
  // The first caller waits until its patience ends.
  GpuMeter::Reply first;
  std::thread asks([&] { first = meter.Measure(false); });
  ASSERT_TRUE(clock_.AwaitWaiters(1));
  clock_.Advance(absl::Milliseconds(200));
  asks.join();
  // The previous figures are still recent enough.
  EXPECT_THAT(first.figures.gpus, SizeIs(2));
  // (The clock stands still, so a wait would not end.)
  clock_.Advance(absl::Seconds(12));
  const auto late = meter.Measure(false);
  EXPECT_THAT(late.figures.gpus, IsEmpty());
  EXPECT_EQ(late.why_none, "the driver has not answered for 12.2s");
  fake_->hangs = false;
  fake_->hangs.notify_all();
}

}  // namespace
}  // namespace launcher
