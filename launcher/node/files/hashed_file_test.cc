#include "launcher/node/files/hashed_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <string>

#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "runtime/file/unique_fd.h"
#include "runtime/text/sha256.h"

namespace launcher {
namespace {

class HashedFileTest : public testing::Test {
 protected:
  HashedFileTest() : fd_(memfd_create("file", MFD_CLOEXEC)) {
    EXPECT_EQ(write(fd_.get(), content_.data(), content_.size()),
              static_cast<ssize_t>(content_.size()));
  }

  const std::string content_ = std::string(300'000, 'a') + "end";  // Longer than one piece.
  runtime::UniqueFd fd_;
  std::atomic<bool> gives_up_ = false;
};

TEST_F(HashedFileTest, IsOfTheWholeFileWhereverItsOffsetStands) {
  const auto hashed = HashFile(fd_.get(), gives_up_);
  ASSERT_TRUE(hashed.ok()) << hashed.status();
  EXPECT_EQ(hashed->size, content_.size());
  EXPECT_EQ(hashed->sha256, runtime::Sha256Hex(content_));
  EXPECT_EQ(lseek(fd_.get(), 0, SEEK_CUR), static_cast<off_t>(content_.size()));
}

TEST_F(HashedFileTest, IsOfTheFirstBytesUpToALimit) {
  const auto hashed = HashFile(fd_.get(), gives_up_, 270'000);
  ASSERT_TRUE(hashed.ok()) << hashed.status();
  EXPECT_EQ(hashed->size, 270'000u);
  EXPECT_EQ(hashed->sha256, runtime::Sha256Hex(content_.substr(0, 270'000)));
  const auto all = HashFile(fd_.get(), gives_up_, 1'000'000);
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_EQ(all->size, content_.size());
}

TEST_F(HashedFileTest, IsGivenUp) {
  gives_up_ = true;
  EXPECT_TRUE(absl::IsCancelled(HashFile(fd_.get(), gives_up_).status()));
}

TEST_F(HashedFileTest, SaysThatItCannotBeRead) {
  const runtime::UniqueFd directory(open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const auto hashed = HashFile(directory.get(), gives_up_);
  EXPECT_TRUE(absl::IsUnavailable(hashed.status())) << hashed.status();
}

}  // namespace
}  // namespace launcher
