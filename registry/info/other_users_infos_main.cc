// Acts as another user of the info directory: other_users_infos DOING TEMPORARY_DIRECTORY PID [PORT
// KEY], run as root, becomes uid 65534 and then
//   write   writes an info file for PID and prints "OK" or the error;
//   list    prints "PID by UID" for each info file, or the error;
//   forge   writes like `write`, with this port and cache key, and the present time;
//   remove  removes the file of PID and prints "OK" or the error.
// Exits with 1 if it cannot become that user.

#include <grp.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string_view>

#include "absl/status/status.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "registry/info/info_directory.h"
#include "registry/info/instance_info.h"

namespace {

constexpr uid_t kNobody = 65534;

bool BecomeNobody() {
  return setgroups(0, nullptr) == 0 && setresgid(kNobody, kNobody, kNobody) == 0 &&
         setresuid(kNobody, kNobody, kNobody) == 0;
}

void List(const registry::InfoDirectory& directory) {
  const auto files = directory.GetAll();
  if (!files.ok()) {
    std::cout << files.status();
    return;
  }
  for (const registry::InfoFile& file : *files) {
    std::cout << file.info.pid << " by " << file.uid << "\n";
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4 && argc != 6) return 2;
  if (!BecomeNobody()) {
    std::perror("becoming another user");
    return 1;
  }
  const std::string_view doing = argv[1];
  const registry::InfoDirectory directory(argv[2]);
  registry::InstanceInfo info;
  info.pid = std::atoi(argv[3]);
  if (argc == 6) {
    info.port = std::atoi(argv[4]);
    info.cache_key = argv[5];
    info.start_time = absl::ToUnixSeconds(absl::Now());
  }
  if (doing == "write" || doing == "forge") std::cout << directory.Write(info, "");
  if (doing == "list") List(directory);
  if (doing == "remove") std::cout << directory.Remove(info.pid);
  return 0;
}
