// Tests damaged messages: each must be refused, or be readable without harm. The mutants are the
// same in each run; the environment variable MUTANTS sets their number.

#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "bus/call/read_all.h"
#include "bus/thread/socket.h"
#include "bus/wire/receive.h"
#include "bus/wire/sample_messages.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace bus {
namespace {

using Bytes = std::vector<std::uint8_t>;

class Mutator {
 public:
  explicit Mutator(std::vector<SampleMessage> samples) : samples_(std::move(samples)) {}

  Bytes Next() {
    Bytes bytes = Sample();
    switch (random_() % 8) {
      case 0:
        bytes.resize(Below(bytes.size() + 1));
        break;
      case 1:
        Splice(bytes);
        break;
      case 2:
        Splice(bytes);
        Damage(bytes);
        break;
      case 3:
        Damage(bytes);
        bytes.resize(Below(bytes.size() + 1));
        break;
      default:
        Damage(bytes);
    }
    return bytes;
  }
  // Returns an offset of 0 to 7 from an address that is a multiple of 8.
  std::size_t Misalignment() { return random_() % 2 == 0 ? 0 : Below(8); }

 private:
  const Bytes& Sample() { return samples_[Below(samples_.size())].bytes; }
  std::size_t Below(std::size_t limit) { return random_() % limit; }

  void Damage(Bytes& bytes) {
    for (unsigned n = 1 + random_() % 4; n > 0 && !bytes.empty(); --n) {
      std::uint8_t& byte = bytes[Below(bytes.size())];
      switch (random_() % 4) {
        case 0:
          byte = static_cast<std::uint8_t>(byte + 1 + random_() % 8);  // Shifts an offset.
          break;
        case 1:
          byte = random_() % 2 == 0 ? 0 : 0xff;
          break;
        default:
          byte = static_cast<std::uint8_t>(random_());
      }
    }
  }
  // Joins the beginning of one message to the end of another.
  void Splice(Bytes& bytes) {
    const Bytes& other = Sample();
    bytes.resize(Below(bytes.size() + 1));
    bytes.insert(bytes.end(), other.begin() + static_cast<std::ptrdiff_t>(Below(other.size())),
                 other.end());
  }

  const std::vector<SampleMessage> samples_;
  std::mt19937 random_{1};
};

// Copies the bytes to an allocation that ends with them, so that a sanitizer detects an overrun.
bool ReadAt(std::size_t misalignment, const Bytes& bytes) {
  const auto place = std::make_unique<std::uint8_t[]>(misalignment + bytes.size());
  std::uint8_t* const begin = place.get() + misalignment;
  if (!bytes.empty()) std::memcpy(begin, bytes.data(), bytes.size());
  return ReadAll({begin, bytes.size()}, kMaxMessageBytes);
}

TEST(ReceiveMutantsTest, EverySampleIsAMessageWhereverItLies) {
  const auto samples = SampleMessages();
  EXPECT_GT(samples.size(), 60u);
  for (const SampleMessage& sample : samples) {
    for (std::size_t misalignment = 0; misalignment < 8; ++misalignment) {
      EXPECT_TRUE(ReadAt(misalignment, sample.bytes)) << sample.name;
    }
  }
}

TEST(ReceiveMutantsTest, AreRefusedOrReadWithoutHarm) {
  const char* const wanted = std::getenv("MUTANTS");
  ASSERT_NE(wanted, nullptr);
  const int count = std::atoi(wanted);
  ASSERT_GT(count, 0);
  Mutator mutator(SampleMessages());
  int taken = 0;
  for (int i = 0; i < count; ++i) {
    const Bytes bytes = mutator.Next();
    taken += ReadAt(mutator.Misalignment(), bytes) ? 1 : 0;
  }
  std::printf("%d mutants: %d refused, %d read\n", count, count - taken, taken);
  // Both outcomes must be common.
  EXPECT_GT(taken, count / 10);
  EXPECT_GT(count - taken, count / 10);
}

TEST(ReceiveMutantsTest, NoTableHoldsItselfAndAllAreWithinTheDepth) {
  // (So no accepted message reaches the depth limit.)
  EXPECT_GT(DeepestNesting(), 2);
  EXPECT_LT(DeepestNesting(), static_cast<int>(kMaxDepth));
}

}  // namespace
}  // namespace bus
