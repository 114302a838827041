#include "registry/test_registry.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>

#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "runtime/file/file.h"
#include "runtime/file/unique_fd.h"

namespace registry {

using rpc::Registry;

TestRegistry::TestRegistry() {
  char name[] = "/tmp/lease-XXXXXX";
  directory_ = mkdtemp(name);
  locations_ = {.runtime_directory = directory_ + "/yard",
                .state_directory = directory_ + "/state",
                .registry_address = "ipc://" + directory_ + "/yard/registry"};
  node_ = MakeNode();
  client_ = std::make_unique<bus::Client>(node_.get());
}

TestRegistry::~TestRegistry() {
  client_.reset();
  node_.reset();
  for (const auto& [name, member] : members_) {
    (void)member->Signal(SIGKILL);
    (void)member->Wait(kLong);
  }
  if (process_ != nullptr) Kill();
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
}

std::unique_ptr<bus::Node> TestRegistry::MakeNode() const {
  auto node = bus::Node::Create({.name = "test", .locations = locations_});
  EXPECT_EQ(node.status(), absl::OkStatus());
  return std::move(*node);
}

std::unique_ptr<runtime::Subprocess> TestRegistry::Launch(
    const std::string& program, const std::vector<std::string>& arguments) {
  const std::string path = runtime::FindBinary(program).value_or("");
  const runtime::UniqueFd errors(
      open((directory_ + "/err").c_str(), O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600));
  std::vector<std::string> argv = {path};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  auto process = runtime::Subprocess::Start(
      {.argv = std::move(argv),
       .program = path,
       .environment = {"XDG_RUNTIME_DIR=" + directory_, "YARD_STATE=" + directory_ + "/state",
                       "PATH=/usr/bin:/bin"},
       .working_directory = directory_,
       .fds = {{errors.get(), 2}}});
  EXPECT_EQ(process.status(), absl::OkStatus());
  return std::make_unique<runtime::Subprocess>(std::move(*process));
}

bool TestRegistry::Start() {
  process_ = Launch("registry/registry", {});
  const auto reply =
      client_->Call<Registry::List>({}, {.timeout = kLong, .wait_for_service = true});
  EXPECT_EQ(reply.status(), absl::OkStatus()) << Errors();
  return reply.ok();
}

void TestRegistry::Kill() {
  (void)process_->Signal(SIGKILL);
  EXPECT_EQ(process_->Wait(kLong).status(), absl::OkStatus());
  process_.reset();
}

void TestRegistry::StartMember(const std::string& name) {
  members_[name] = Launch("registry/member", {name});
}

std::string TestRegistry::Errors() const {
  return runtime::ReadFile(directory_ + "/err", 1 << 20).value_or("");
}

msg::ListReplyT TestRegistry::List(const std::string& prefix) {
  msg::ListRequestT request;
  request.prefix = prefix;
  auto reply = client_->Call<Registry::List>(request);
  EXPECT_EQ(reply.status(), absl::OkStatus());
  return reply.ok() ? std::move(*reply) : msg::ListReplyT();
}

absl::Duration TestRegistry::AwaitCount(const std::string& prefix, std::size_t count,
                                        absl::Duration time) {
  const absl::Time start = absl::Now();
  std::size_t there = 0;
  do {
    there = List(prefix).leases.size();
  } while (there != count && absl::Now() < start + time);
  EXPECT_EQ(there, count) << prefix << "\n" << Errors();
  return absl::Now() - start;
}

}  // namespace registry
