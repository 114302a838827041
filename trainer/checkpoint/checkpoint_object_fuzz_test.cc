// Checks that an object with a valid checksum is either unpacked inside its run or refused, and
// that a refused one leaves no files. (The input is the part between an object's first bytes and
// its checksum.)

#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "eventlog/crc32c.h"
#include "trainer/checkpoint/checkpoint_directory.h"
#include "trainer/checkpoint/checkpoint_object.h"

namespace {

struct Root {
  Root() {
    char name[] = "/tmp/cf-XXXXXX";
    path = mkdtemp(name);
  }
  ~Root() { std::filesystem::remove_all(path); }
  std::string path;
};

std::string Object(std::string bytes) {
  const std::uint32_t crc = eventlog::Crc32c(bytes);
  for (int i = 0; i < 4; ++i) bytes.push_back(static_cast<char>((crc >> (8 * i)) & 0xFF));
  return bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Root root;
  const std::string run = root.path + "/run";
  const auto path = trainer::CheckpointFromObject(
      Object("YARDCKP1" + std::string(reinterpret_cast<const char*>(data), size)), run);
  if (path.ok()) {
    if (path->substr(0, run.size() + 1) != run + "/") std::abort();
    const auto directory = trainer::FindCheckpointDirectory(run);
    if (directory.ok()) std::abort();  // A file was written above the run.
    std::filesystem::remove_all(run);
  }
  if (std::filesystem::exists(run) && !std::filesystem::is_empty(run)) std::abort();
  std::filesystem::remove_all(run);
  if (!std::filesystem::is_empty(root.path)) std::abort();
  return 0;
}
