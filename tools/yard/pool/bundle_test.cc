#include "tools/yard/pool/bundle.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "launcher/node/fake_launcher.h"
#include "launcher/node/words/node_words.h"
#include "launcher/wire/shim_protocol.h"
#include "runtime/file/file.h"
#include "runtime/file/locations.h"
#include "runtime/process/subprocess.h"
#include "runtime/sanitizer.h"

namespace yard {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

absl::StatusOr<Bundle> ReadThis() {
  return ReadBundle(runtime::FindBinary("launcher/node/yard-node").value_or(""),
                    runtime::FindBinary("launcher/yard-shim").value_or(""));
}

TEST(BundleTest, HasTheNodeItsLibrariesAndTheirLoader) {
  const auto bundle = ReadThis();
  ASSERT_TRUE(bundle.ok()) << bundle.status();
  std::vector<std::string> names;
  for (const Bundle::File& file : bundle->files) {
    names.push_back(file.name);
    EXPECT_FALSE(file.content.empty()) << file.name;
  }
  EXPECT_THAT(names, testing::IsSupersetOf({"yard-node", "yard-shim", "ld.so", "lib/libc.so.6"}));
  EXPECT_EQ(bundle->digest.size(), 64u);
  EXPECT_EQ(ReadThis()->digest, bundle->digest);
}

TEST(BundleTest, ALibraryThatIsMissingIsNamed) {
  EXPECT_THAT(std::string(ReadLibraryList("\tlibglog.so.0 => not found\n").status().message()),
              HasSubstr("library libglog.so.0 of yard-node is missing"));
  const auto libraries = ReadLibraryList(
      "\tlinux-vdso.so.1 (0x00007ffd)\n\tlibc.so.6 => /lib/x86 64/libc.so.6 (0x00007f)\n"
      "\t/lib64/ld-linux-x86-64.so.2 (0x00007f)\n");
  ASSERT_TRUE(libraries.ok()) << libraries.status();
  ASSERT_EQ(libraries->size(), 1u);
  EXPECT_EQ(libraries->front().name, "libc.so.6");
  EXPECT_EQ(libraries->front().path, "/lib/x86 64/libc.so.6");
  EXPECT_FALSE(ReadLibraryList("\t$(touch x) => /lib/x (0x0)\n").ok());
}

TEST(BundleTest, DamagedProgramsAreRefused) {
  const std::string node =
      runtime::ReadFile(runtime::FindBinary("launcher/node/yard-node").value_or(""),
                        kMaxBundleBytes)
          .value_or("");
  ASSERT_THAT(LoaderOf(node).value_or(""), StartsWith("/"));
  for (const std::size_t size : {0u, 4u, 63u, 64u, 100u, 200u}) {
    EXPECT_FALSE(LoaderOf(node.substr(0, size)).ok()) << size;
  }
  EXPECT_FALSE(LoaderOf("#!/bin/sh\n" + std::string(100, ' ')).ok());
}

// A root directory that contains only the bundle, /proc and /dev/null.
class EmptyRoot {
 public:
  EmptyRoot() {
    char name[] = "/tmp/ybXXXXXX";
    root_ = mkdtemp(name);
    for (const char* const directory : {"/lib", "/proc", "/dev", "/tmp"}) {
      std::filesystem::create_directory(root_ + directory);
    }
    std::filesystem::permissions(root_ + "/tmp", std::filesystem::perms::owner_all);
  }
  ~EmptyRoot() { std::filesystem::remove_all(root_); }

  const std::string& path() const { return root_; }
  absl::Status Add(const Bundle& bundle) const {
    for (const Bundle::File& file : bundle.files) {
      absl::Status put =
          runtime::WriteFileAtomically(absl::StrCat(root_, "/", file.name), file.content, 0700);
      if (!put.ok()) return put;
    }
    return runtime::WriteFileAtomically(root_ + "/dev/null", "", 0600);
  }
  // Runs `words` inside it, in their own namespaces, which end with them.
  runtime::Subprocess Run(const std::vector<std::string>& words) const {
    std::vector<std::string> argv = {
        "unshare",
        "--user",
        "--map-root-user",
        "--mount",
        "--pid",
        "--fork",
        "--kill-child",
        "sh",
        "-c",
        "mount -t proc proc \"$0/proc\" && mount --bind /dev/null \"$0/dev/null\" && "
        "exec chroot \"$0\" \"$@\"",
        root_};
    argv.insert(argv.end(), words.begin(), words.end());
    auto started = runtime::Subprocess::Start(
        {.argv = argv,
         .environment = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin"},
         .fds = {{STDOUT_FILENO, STDOUT_FILENO}, {STDERR_FILENO, STDERR_FILENO}}});
    EXPECT_TRUE(started.ok()) << started.status();
    return *std::move(started);
  }

 private:
  std::string root_;
};

TEST(BundleTest, NeedsNothingOfAHostButItsKernel) {
  const auto bundle = ReadThis();
  ASSERT_TRUE(bundle.ok()) << bundle.status();
  const EmptyRoot root;
  ASSERT_TRUE(root.Add(*bundle).ok());
  launcher::FakeLauncher launcher(root.path() + "/l");
  auto node = root.Run({"/ld.so", "--library-path", "/lib", "/yard-node", "--library_path=/lib",
                        "--folder=/tmp/n", "--launcher_socket=/l", "--shim=/yard-shim"});
  const auto hello = launcher.Welcome();
  ASSERT_TRUE(hello.has_value());
  EXPECT_FALSE(hello->version.empty());
// In sanitizer builds the shim is not static, and would need the host's loader and libraries.
#if !defined(RUNTIME_ADDRESS_SANITIZER) && !defined(RUNTIME_THREAD_SANITIZER)
  const launcher::ShimSpec spec{
      .argv = {"/ld.so", "--version"},  // The only other program in there.
      .environment = {"PATH=/"},
      .working_directory = "/"};
  launcher.Send({.kind = launcher::NodeOrder::Kind::kStart, .attempt = "a", .spec = spec.Encode()});
  const auto over = launcher.Await("a", launcher::NodeNews::Kind::kOver);
  ASSERT_TRUE(over.has_value());
  EXPECT_EQ(over->state.failure, "");
  EXPECT_EQ(over->state.exit_code, 0);
  EXPECT_THAT(launcher.ReadAll("a"), StartsWith("ld.so "));
#endif
  ASSERT_TRUE(node.Signal(SIGKILL).ok());
  ASSERT_TRUE(node.Wait(absl::Minutes(1)).ok());
}

}  // namespace
}  // namespace yard
