// Tests the registry as a process, through its real socket.

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "bus/call/client.h"
#include "bus/event/subscriber.h"
#include "bus/process/registration.h"
#include "bus/schema/common_methods.h"
#include "bus/schema/registry_methods.h"
#include "bus/thread/node.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/event_loop.h"
#include "runtime/file/file.h"
#include "runtime/file/locations.h"
#include "runtime/file/unique_fd.h"
#include "runtime/mutex.h"
#include "runtime/process/process_identity.h"
#include "runtime/process/stop_process.h"
#include "runtime/process/subprocess.h"
#include "runtime/thread.h"

namespace registry {
namespace {

using rpc::Registry;
using ::testing::HasSubstr;

constexpr absl::Duration kLong = absl::Seconds(20);

class RegistryProcessTest : public ::testing::Test {
 protected:
  RegistryProcessTest() {
    char name[] = "/tmp/reg-XXXXXX";
    directory_ = mkdtemp(name);
    locations_ = {.runtime_directory = directory_ + "/yard",
                  .state_directory = directory_ + "/state",
                  .registry_address = "ipc://" + directory_ + "/yard/registry"};
    node_ = std::move(*bus::Node::Create({.name = "test", .locations = locations_}));
    client_ = std::make_unique<bus::Client>(node_.get());
  }
  ~RegistryProcessTest() override {
    if (process_ != nullptr) Kill();
    client_.reset();
    node_.reset();
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
  }

  std::unique_ptr<runtime::Subprocess> Launch(std::vector<std::string> flags) {
    const std::string program = runtime::FindBinary("registry/registry").value_or("");
    flags.insert(flags.begin(), program);
    errors_ = runtime::UniqueFd(
        open((directory_ + "/err").c_str(), O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0600));
    auto process = runtime::Subprocess::Start(
        {.argv = std::move(flags),
         .program = program,
         .environment = {"XDG_RUNTIME_DIR=" + directory_, "YARD_STATE=" + directory_ + "/state",
                         "PATH=/usr/bin:/bin"},
         .working_directory = directory_,
         .fds = {{errors_.get(), 2}}});
    EXPECT_EQ(process.status(), absl::OkStatus());
    return std::make_unique<runtime::Subprocess>(std::move(*process));
  }
  // Starts the registry and waits until it answers.
  void Start(std::vector<std::string> flags = {}) {
    process_ = Launch(std::move(flags));
    const auto reply =
        client_->Call<Registry::List>({}, {.timeout = kLong, .wait_for_service = true});
    ASSERT_EQ(reply.status(), absl::OkStatus()) << Errors();
  }
  void Kill() {
    (void)process_->Signal(SIGKILL);
    EXPECT_EQ(process_->Wait(kLong).status(), absl::OkStatus());
    process_.reset();
  }
  std::string Errors() { return runtime::ReadFile(directory_ + "/err", 1 << 20).value_or(""); }
  std::string ReadyFile() { return locations_.runtime_directory + "/registry.ready"; }

  msg::RegisterReplyT Register(const std::string& name, pid_t pid = 0) {
    msg::RegisterRequestT request;
    request.lease = std::make_unique<msg::LeaseT>();
    request.lease->name = name;
    request.lease->instance = "0";
    request.lease->nonce = 7;
    request.lease->endpoints = {"ipc:///nowhere"};
    if (pid != 0) {
      const auto identity = runtime::IdentityOf(pid);
      EXPECT_EQ(identity.status(), absl::OkStatus());
      request.lease->process = std::make_unique<msg::ProcessIdentityT>();
      request.lease->process->pid_namespace = identity->pid_namespace;
      request.lease->process->boot_id = identity->boot_id;
      request.lease->process->pid = identity->pid;
      request.lease->process->start_ticks = identity->start_ticks;
    }
    auto reply = client_->Call<Registry::Register>(request);
    EXPECT_EQ(reply.status(), absl::OkStatus());
    return reply.ok() ? std::move(*reply) : msg::RegisterReplyT();
  }
  std::size_t Count(const std::string& prefix) {
    msg::ListRequestT request;
    request.prefix = prefix;
    const auto reply = client_->Call<Registry::List>(request);
    EXPECT_EQ(reply.status(), absl::OkStatus());
    return reply.ok() ? reply->leases.size() : 0;
  }

  std::string directory_;
  runtime::Locations locations_;
  std::unique_ptr<bus::Node> node_;
  std::unique_ptr<bus::Client> client_;
  std::unique_ptr<runtime::Subprocess> process_;
  runtime::UniqueFd errors_;
};

TEST_F(RegistryProcessTest, RegistersLooksUpAndForgets) {
  Start();
  const auto lease = Register("worker");
  EXPECT_NE(lease.lease_id, 0u);
  EXPECT_EQ(lease.ttl_ms, 6000u);
  EXPECT_THAT(lease.hub->publish_endpoint, HasSubstr("hub-pub"));
  msg::LookupRequestT lookup;
  lookup.name = "worker";
  const auto found = client_->Call<Registry::Lookup>(lookup);
  ASSERT_EQ(found.status(), absl::OkStatus());
  ASSERT_EQ(found->leases.size(), 1u);
  EXPECT_EQ(found->leases[0]->endpoints[0], "ipc:///nowhere");
  msg::RenewRequestT renew;
  renew.lease_id = lease.lease_id;
  EXPECT_EQ(client_->Call<Registry::Renew>(renew).status(), absl::OkStatus());
  msg::RevokeRequestT revoke;
  revoke.lease_id = lease.lease_id;
  EXPECT_EQ(client_->Call<Registry::Revoke>(revoke).status(), absl::OkStatus());
  EXPECT_EQ(Count("worker/"), 0u);
}

TEST_F(RegistryProcessTest, IsInItsOwnTableAndSaysReady) {
  Start();
  const absl::Time deadline = absl::Now() + kLong;
  while (access(ReadyFile().c_str(), F_OK) != 0 && absl::Now() < deadline) {
    (void)Count("");
  }
  EXPECT_EQ(runtime::ReadFile(ReadyFile(), 100).value_or(""), absl::StrCat(process_->pid(), "\n"));
  EXPECT_EQ(Count("registry/"), 1u);
  EXPECT_THAT(Errors(), HasSubstr("registry ready in "));
  EXPECT_THAT(Errors(), HasSubstr(absl::StrCat("(pid ", process_->pid(), ", ipc://")));
}

TEST_F(RegistryProcessTest, AKilledProcessIsSeenAtOnce) {
  Start();
  auto victim = runtime::Subprocess::Start({.argv = {"/bin/sleep", "1000"},
                                            .program = "/bin/sleep",
                                            .environment = {},
                                            .working_directory = "/"});
  ASSERT_EQ(victim.status(), absl::OkStatus());
  Register("victim", victim->pid());
  ASSERT_EQ(Count("victim/"), 1u);
  msg::WatchRequestT request;
  request.prefix = "victim/";
  absl::Time killed;
  std::string reason;
  const auto end = client_->Stream<Registry::Watch>(request, [&](const msg::WatchReplyT& part) {
    if (part.snapshot) {
      EXPECT_EQ(part.events.size(), 1u);
      killed = absl::Now();
      EXPECT_EQ(victim->Signal(SIGKILL), absl::OkStatus());
      return true;
    }
    reason = part.events[0]->reason;
    return false;
  });
  EXPECT_EQ(reason, "process ended") << end.status();
  EXPECT_LT(absl::Now() - killed, absl::Seconds(1));
  EXPECT_EQ(Count("victim/"), 0u);
  (void)victim->Wait(kLong);
}

TEST_F(RegistryProcessTest, AWatchGoesOnFromARevision) {
  Start();
  const auto first = Register("one");
  Register("two");
  msg::ListRequestT all;
  const auto list = client_->Call<Registry::List>(all);
  ASSERT_EQ(list.status(), absl::OkStatus());
  msg::WatchRequestT request;
  request.from_revision = first.revision;
  request.epoch = list->epoch;
  request.prefix = "two/";
  std::vector<std::string> names;
  (void)client_->Stream<Registry::Watch>(request, [&](const msg::WatchReplyT& part) {
    EXPECT_FALSE(part.snapshot);
    for (const auto& event : part.events) names.push_back(event->lease->name);
    return false;
  });
  EXPECT_THAT(names, testing::ElementsAre("two"));
}

TEST_F(RegistryProcessTest, ChangesArePublishedForEverybody) {
  Start();
  runtime::Mutex mutex;
  runtime::CondVar changed;
  std::vector<std::string> topics;
  bus::Subscriber subscriber(node_.get(),
                             {.prefixes = {"$sys/reg/worker/"},
                              .on_event = [&](std::string_view topic, const msg::Envelope& event) {
                                runtime::MutexLock lock(mutex);
                                EXPECT_NE(event.body_as_LeaseEvent(), nullptr);
                                topics.emplace_back(topic);
                                changed.SignalAll();
                              }});
  ASSERT_EQ(subscriber.WaitUntilConnected(kLong), absl::OkStatus());
  Register("worker");
  const absl::Time deadline = absl::Now() + kLong;
  runtime::MutexLock lock(mutex);
  while (topics.empty() && absl::Now() < deadline) {
    changed.WaitWithTimeout(mutex, deadline - absl::Now());
  }
  EXPECT_THAT(topics, testing::ElementsAre("$sys/reg/worker/0/"));
}

TEST_F(RegistryProcessTest, PublishesForUsersUnderTheirOwnRootOnly) {
  Start();
  bus::Subscriber subscriber(node_.get(), {.prefixes = {"e/"}, .on_event = [](auto, auto&) {}});
  ASSERT_EQ(subscriber.WaitUntilConnected(kLong), absl::OkStatus());
  msg::PublishRequestT request;
  request.topic = "e/hello/";
  request.payload = {'x'};
  for (std::uint64_t i = 1; i <= 3; ++i) {
    const auto reply = client_->Call<Registry::Publish>(request);
    ASSERT_EQ(reply.status(), absl::OkStatus());
    EXPECT_EQ(reply->seq, i);
    EXPECT_EQ(reply->subscribers, 1u);
  }
  for (const std::string topic : {"t/x/", "$sys/reg/", "$hello/", "m/x/"}) {
    request.topic = topic;
    EXPECT_EQ(client_->Call<Registry::Publish>(request).status().code(),
              absl::StatusCode::kPermissionDenied)
        << topic;
  }
  request.topic = "e/no slash";
  EXPECT_EQ(client_->Call<Registry::Publish>(request).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(RegistryProcessTest, EverybodyRegistersAgainAfterAKill) {
  Start();
  auto loop = runtime::EventLoop::Create();
  runtime::Mutex mutex;
  runtime::CondVar changed;
  int times = 0;
  msg::LeaseT lease;
  lease.name = "worker";
  lease.instance = "0";
  lease.nonce = 3;
  std::unique_ptr<bus::Registration> registration;
  loop->Post([&] {
    registration = std::make_unique<bus::Registration>(
        loop.get(), client_.get(),
        bus::Registration::Options{.lease = lease, .on_registered = [&](bool) {
                                     runtime::MutexLock lock(mutex);
                                     ++times;
                                     changed.SignalAll();
                                   }});
  });
  runtime::Thread thread("loop", [&] { loop->Run(); });
  const auto wait_for = [&](int count) {
    const absl::Time deadline = absl::Now() + kLong;
    runtime::MutexLock lock(mutex);
    while (times < count && absl::Now() < deadline) {
      changed.WaitWithTimeout(mutex, deadline - absl::Now());
    }
    return times >= count;
  };
  ASSERT_TRUE(wait_for(1));
  Kill();
  Start();
  const absl::Time back = absl::Now();
  EXPECT_TRUE(wait_for(2));
  EXPECT_LT(absl::Now() - back, absl::Seconds(2));
  EXPECT_EQ(Count("worker/"), 1u);
  loop->Post([&] { registration.reset(); });
  loop->Stop();
  thread.Join();
}

TEST_F(RegistryProcessTest, NoLeaseIsLostWhileTheRegistryIsStopped) {
  Start();
  msg::RegisterRequestT request;
  request.lease = std::make_unique<msg::LeaseT>();
  request.lease->name = "worker";
  request.lease->instance = "0";
  request.lease->ttl_ms = 2500;
  const auto lease = client_->Call<Registry::Register>(request);
  ASSERT_EQ(lease.status(), absl::OkStatus());
  ASSERT_EQ(runtime::StopProcess(*process_), absl::OkStatus());
  EXPECT_EQ(client_->Call<Registry::List>({}, {.timeout = absl::Seconds(4)}).status().code(),
            absl::StatusCode::kDeadlineExceeded);
  ASSERT_EQ(process_->Signal(SIGCONT), absl::OkStatus());
  EXPECT_EQ(Count("worker/"), 1u);
}

TEST_F(RegistryProcessTest, ASecondRegistryExitsSixAndNamesTheFirst) {
  Start();
  const auto second = Launch({});
  const auto status = second->Wait(kLong);
  ASSERT_EQ(status.status(), absl::OkStatus());
  EXPECT_EQ(status->code, 6);
  EXPECT_THAT(Errors(), HasSubstr(absl::StrCat(process_->pid())));
  EXPECT_EQ(Count("registry/"), 1u) << "the first one was disturbed";
}

TEST_F(RegistryProcessTest, ANetworkAddressIsRefusedWithTheReason) {
  const auto refused = Launch({"--listen=tcp://127.0.0.1:26060"});
  const auto status = refused->Wait(kLong);
  ASSERT_EQ(status.status(), absl::OkStatus());
  EXPECT_EQ(status->code, 2);
  EXPECT_THAT(Errors(), HasSubstr("tcp"));
}

TEST_F(RegistryProcessTest, ADirectoryThatOthersMayEnterIsRefused) {
  ASSERT_EQ(mkdir(locations_.runtime_directory.c_str(), 0755), 0);
  ASSERT_EQ(chmod(locations_.runtime_directory.c_str(), 0755), 0);
  const auto status = Launch({})->Wait(kLong);
  ASSERT_EQ(status.status(), absl::OkStatus());
  EXPECT_EQ(status->code, 1);
  EXPECT_THAT(Errors(), HasSubstr(locations_.runtime_directory));
}

TEST_F(RegistryProcessTest, ASymbolicLinkAsDirectoryIsRefused) {
  ASSERT_EQ(mkdir((directory_ + "/real").c_str(), 0700), 0);
  ASSERT_EQ(symlink((directory_ + "/real").c_str(), locations_.runtime_directory.c_str()), 0);
  const auto status = Launch({})->Wait(kLong);
  ASSERT_EQ(status.status(), absl::OkStatus());
  EXPECT_EQ(status->code, 1);
}

TEST_F(RegistryProcessTest, StopsOnASignalAndCleansUp) {
  Start();
  ASSERT_EQ(process_->Signal(SIGTERM), absl::OkStatus());
  const auto status = process_->Wait(kLong);
  ASSERT_EQ(status.status(), absl::OkStatus());
  EXPECT_TRUE(status->ok()) << status->ToString() << Errors();
  EXPECT_NE(access(ReadyFile().c_str(), F_OK), 0);
  process_.reset();
}

TEST_F(RegistryProcessTest, ShutdownIsAnsweredAndThenDone) {
  Start();
  EXPECT_EQ(client_->Call<rpc::Common::Shutdown>({}, {.service = "registry"}).status(),
            absl::OkStatus());
  const auto status = process_->Wait(kLong);
  ASSERT_EQ(status.status(), absl::OkStatus());
  EXPECT_TRUE(status->ok()) << status->ToString();
  process_.reset();
}

TEST_F(RegistryProcessTest, StatsShowThreadsCountersAndLatencies) {
  Start();
  (void)Count("");
  const auto stats = client_->Call<rpc::Common::Stats>({}, {.service = "registry"});
  ASSERT_EQ(stats.status(), absl::OkStatus());
  EXPECT_EQ(stats->service, "registry");
  EXPECT_EQ(stats->pid, process_->pid());
  EXPECT_FALSE(stats->threads.empty());
  EXPECT_FALSE(stats->counters.empty());
  EXPECT_FALSE(stats->histograms.empty());
  EXPECT_EQ(stats->pools.size(), 1u);
}

TEST_F(RegistryProcessTest, StrangeBytesOnTheSocketHurtNobody) {
  Start();
  const std::string path = locations_.runtime_directory + "/registry";
  const std::vector<std::string> strange = {
      "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", std::string(5000, '\xff'),
      std::string("\xff\0\0\0\0\0\0\0\1\x7f", 10) + std::string(54, '\0'), ""};
  for (const std::string& bytes : strange) {
    for (int i = 0; i < 20; ++i) {
      const runtime::UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
      sockaddr_un address{};
      address.sun_family = AF_UNIX;
      std::strcpy(address.sun_path, path.c_str());
      ASSERT_EQ(connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
      (void)send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    }
    EXPECT_EQ(Count("registry/"), 1u);
  }
}

}  // namespace
}  // namespace registry
