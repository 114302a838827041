// base.h and GoogleTest, for the tests of the same folders.
#include "bazel/pch/base.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
