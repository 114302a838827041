"""The project's build rules: one header a target, warnings are errors, private by default."""

load("//bazel:fbs.bzl", "flatbuffers_schema")

COPTS = ["-std=c++20", "-Wall", "-Wextra", "-Werror"]

# The sources of a test run once and are most of what is compiled: what they test is optimised, they
# are not. That saves a third of their time, and half of it under the address sanitizer. A test that
# computes much itself says `copts = ["-O2"]`.
_TEST_COPTS = ["-O0"]

# What the thread sanitizer has to know goes into every program built under it.
_TSAN_DEPS = select({
    "//bazel:tsan": ["//bazel:tsan_suppressions"],
    "//conditions:default": [],
})

def yard_library(name, hdrs = [], srcs = [], deps = [], copts = [], **kwargs):
    """A cc_library with at most one public header."""
    if len(hdrs) > 1:
        fail("%s: one header a target, found %s" % (name, hdrs))
    native.cc_library(
        name = name,
        hdrs = hdrs,
        srcs = srcs,
        deps = deps,
        copts = COPTS + copts,
        linkstatic = True,
        **kwargs
    )

def yard_binary(name, srcs = [], deps = [], copts = [], linkopts = [], static = False, **kwargs):
    """A cc_binary; `static` links everything in (not under a sanitizer, which cannot)."""
    native.cc_binary(
        name = name,
        srcs = srcs,
        deps = deps + _TSAN_DEPS,
        copts = COPTS + copts,
        linkopts = linkopts + (select({
            "//bazel:sanitized": [],
            "//conditions:default": ["-static"],
        }) if static else []),
        linkstatic = True,
        **kwargs
    )

def yard_test(name, srcs = [], deps = [], copts = [], size = "small", **kwargs):
    """A GoogleTest; brings its own main with gmock."""
    native.cc_test(
        name = name,
        srcs = srcs,
        deps = deps + ["//third_party:gtest_main"] + _TSAN_DEPS,
        copts = COPTS + _TEST_COPTS + copts,
        linkstatic = True,
        size = size,
        **kwargs
    )

def yard_benchmark(name, srcs = [], deps = [], copts = [], **kwargs):
    """A Google Benchmark binary, and a smoke test that runs each of its cases once."""
    native.cc_binary(
        name = name,
        srcs = srcs,
        deps = deps + ["//third_party:benchmark_main"] + _TSAN_DEPS,
        copts = COPTS + copts,
        linkstatic = True,
        testonly = True,
        **kwargs
    )
    native.sh_test(
        name = name + "_smoke_test",
        srcs = ["//bazel:benchmark_smoke.sh"],
        args = ["$(location :%s)" % name],
        data = [":" + name],
        size = "small",
    )

def yard_fuzz_test(name, srcs = [], deps = [], corpus = [], seconds = 5, copts = [], tags = [], **kwargs):
    """A libFuzzer target (--config=fuzz); in any other build it replays its corpus as a test.

    Args:
      name: of the test; it gets the tag "fuzz".
      srcs: one of them defines LLVMFuzzerTestOneInput.
      deps: as usual.
      corpus: files to start from (labels).
      seconds: how long --config=fuzz looks for something new.
      copts: as usual.
      tags: as usual.
      **kwargs: as for a cc_test.
    """
    native.cc_test(
        name = name,
        srcs = srcs + select({
            "//bazel:fuzz": [],
            "//conditions:default": ["//bazel:fuzz_replay_main.cc"],
        }),
        deps = deps + _TSAN_DEPS,
        copts = COPTS + copts + select({
            "//bazel:fuzz": ["-fsanitize=fuzzer"],
            "//conditions:default": [],
        }),
        linkopts = select({
            "//bazel:fuzz": ["-fsanitize=fuzzer"],
            "//conditions:default": [],
        }),
        data = corpus,
        args = select({
            "//bazel:fuzz": ["-max_total_time=%d" % seconds, "-timeout=5"] +
                            (["-seed_inputs=" + ",".join(["$(location %s)" % c for c in corpus])] if corpus else []),
            "//conditions:default": ["$(location %s)" % c for c in corpus],
        }),
        linkstatic = True,
        size = "small",
        tags = tags + ["fuzz"],
        **kwargs
    )

def yard_py_test(name, srcs, deps = [], size = "small", **kwargs):
    """A unittest; its main() is that of bazel.python.xml_runner, so that each case is counted."""
    native.py_test(
        name = name,
        srcs = srcs,
        deps = deps + ["//bazel/python:xml_runner"],
        size = size,
        **kwargs
    )

def yard_schema(name, src, deps = [], visibility = None):
    """A FlatBuffers schema: `name` is the C++ library, `name`_bfbs the binary schema.

    Args:
      name: the library's name.
      src: the .fbs file; it includes others by their path from the root.
      deps: the yard_schema targets of the schemas it includes.
      visibility: as usual.
    """
    flatbuffers_schema(
        name = name + "_fbs",
        src = src,
        deps = [d + "_fbs" for d in deps],
        visibility = visibility,
    )
    native.filegroup(
        name = name + "_bfbs",
        srcs = [":" + name + "_fbs"],
        output_group = "bfbs",
        visibility = visibility,
    )
    native.filegroup(
        name = name + "_schemas",
        srcs = [":" + name + "_fbs"],
        output_group = "schemas",
        visibility = visibility,
    )
    native.filegroup(
        name = name + "_source",
        srcs = [":" + name + "_fbs"],
        output_group = "source",
    )
    native.cc_library(
        name = name,
        srcs = [":" + name + "_source"],
        hdrs = [":" + name + "_fbs"],
        copts = COPTS,
        linkstatic = True,
        deps = deps + ["//third_party:flatbuffers"],
        visibility = visibility,
    )

def yard_methods(name, src, visibility = None):
    """The C++ descriptors of the methods in a schema's rpc_service blocks: STEM_methods.h.

    Args:
      name: the library's name.
      src: the .fbs file.
      visibility: as usual.
    """
    header = src[:-len(".fbs")] + "_methods.h"
    native.genrule(
        name = name + "_header",
        srcs = [src],
        outs = [header],
        cmd = "/usr/bin/python3 $(location //bazel:methods.py) $(location %s) $@" % src,
        tools = ["//bazel:methods.py"],
    )
    native.cc_library(
        name = name,
        hdrs = [header],
        deps = [
            "//bus:method",
            "//bus/schema:envelope",
            "//third_party:absl_time",
        ],
        visibility = visibility,
    )

def yard_reply_vectors(name, srcs, visibility = None):
    """rpc::VisitReplyVectors of the methods in all schemas: reply_vectors.h.

    Args:
      name: the library's name.
      srcs: the .fbs files.
      visibility: as usual.
    """
    native.genrule(
        name = name + "_header",
        srcs = srcs,
        outs = ["reply_vectors.h"],
        cmd = "/usr/bin/python3 $(location //bazel:methods.py) --vectors $@ $(SRCS)",
        tools = ["//bazel:methods.py"],
    )
    native.cc_library(
        name = name,
        hdrs = ["reply_vectors.h"],
        deps = ["//bus/schema:envelope"],
        visibility = visibility,
    )
