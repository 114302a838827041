#include "runtime/text/sha256.h"

#include <string>
#include <string_view>

#include "gtest/gtest.h"

namespace runtime {
namespace {

TEST(Sha256Test, HasTheDigestsOfTheStandard) {
  EXPECT_EQ(Sha256Hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(Sha256Hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(Sha256Hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(Sha256Hex(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256Test, PiecesMakeNoDifference) {
  for (const std::size_t size : {1u, 55u, 56u, 63u, 64u, 65u, 119u, 120u, 128u, 1000u}) {
    const std::string text(size, 'x');
    Sha256 sum;
    for (std::size_t i = 0; i < size; i += 7) sum.Add(std::string_view(text).substr(i, 7));
    EXPECT_EQ(sum.Finish(), Sha256Hex(text)) << size;
  }
}

TEST(Sha256Test, OnlySixtyFourLowDigitsAreADigest) {
  EXPECT_TRUE(IsSha256(Sha256Hex("")));
  EXPECT_FALSE(IsSha256(Sha256Hex("") + "0"));
  EXPECT_FALSE(IsSha256("../" + Sha256Hex("").substr(3)));
  EXPECT_FALSE(IsSha256(std::string(64, 'A')));
}

}  // namespace
}  // namespace runtime
