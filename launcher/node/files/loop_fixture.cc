#include "launcher/node/files/loop_fixture.h"

#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "launcher/fixtures/shim_fixture.h"
#include "runtime/file/file.h"

namespace launcher {
namespace {

std::string NewFolder() {
  char name[] = "/tmp/lfXXXXXX";
  return mkdtemp(name);
}

}  // namespace

LoopFixture::LoopFixture() : folder_(NewFolder()) {}

LoopFixture::~LoopFixture() {
  loop_->Stop();
  thread_.Join();
  // (A thread of the tested object may be removing files.)
  std::error_code error;
  do {
    std::filesystem::remove_all(folder_, error);
  } while (std::filesystem::exists(folder_));
}

void LoopFixture::OnLoop(const std::function<void()>& body) {
  bool done = false;
  loop_->Post([&] {
    body();
    runtime::MutexLock lock(mutex_);
    done = true;
    changed_.SignalAll();
  });
  Await([&] { return done; });
}

void LoopFixture::Await(const std::function<bool()>& holds) {
  const absl::Time deadline = absl::Now() + kDeadline;
  runtime::MutexLock lock(mutex_);
  while (!holds()) {
    ASSERT_LT(absl::Now(), deadline) << "it does not happen";
    changed_.WaitWithTimeout(mutex_, std::min(absl::Milliseconds(5), deadline - absl::Now()));
  }
}

void LoopFixture::Put(const std::string& path, const std::string& content) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path, std::ios::binary) << content;
}

std::string LoopFixture::Get(const std::string& path) {
  return runtime::ReadFile(path, 64 << 20).value_or("missing");
}

}  // namespace launcher
