#include "bus/as_other_user.h"

#include <fcntl.h>
#include <unistd.h>

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "runtime/file/locations.h"
#include "runtime/file/unique_fd.h"
#include "runtime/process/subprocess.h"

namespace bus {

std::string AsOtherUser(const std::string& doing, const std::string& path) {
  int ends[2];
  EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const runtime::UniqueFd in(ends[0]);
  runtime::UniqueFd out(ends[1]);
  const std::string program = runtime::FindBinary("bus/other_user").value_or("");
  auto other = runtime::Subprocess::Start({.argv = {program, doing, path},
                                           .program = program,
                                           .environment = {"PATH=/usr/bin:/bin"},
                                           .working_directory = "/",
                                           .fds = {{out.get(), 1}}});
  EXPECT_EQ(other.status(), absl::OkStatus());
  if (!other.ok()) return "";
  out = {};
  const auto ended = other->Wait(absl::Seconds(40));
  char text[200] = {};
  const ssize_t size = read(in.get(), text, sizeof(text) - 1);
  EXPECT_TRUE(ended.ok() && ended->ok()) << text;
  return std::string(text, size > 0 ? static_cast<std::size_t>(size) : 0);
}

}  // namespace bus
