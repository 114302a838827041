// test.h and all messages, for the tests of the folders above bus/schema.
#include "bazel/pch/test.h"
#include "bus/schema/envelope_generated.h"
#include "flatbuffers/flatbuffers.h"
