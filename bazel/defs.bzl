"""The project's build rules: one header a target, warnings are errors, private by default."""

load("//bazel:fbs.bzl", "flatbuffers_schema")
load("//bazel:pch.bzl", "yard_pch")

_WARNINGS = ["-std=c++20", "-Wall", "-Wextra", "-Werror"]

# libstdc++ 12 hides coroutines from clang 14, and Asio would do without.
_CLANG = ["-Wthread-safety", "-Wthread-safety-beta"] + [
    "-D__cpp_impl_coroutine=201902L",
    "-DASIO_HAS_CO_AWAIT=1",
    "-DASIO_HAS_STD_COROUTINE=1",
    "-fpch-instantiate-templates",
]

COPTS = _WARNINGS + select({
    "//bazel:gcc": [],
    "//conditions:default": _CLANG,
})

# The sources of a test run once and are most of what is compiled: what they test is optimised, they
# are not. That saves a third of their time, and half of it under the address sanitizer. A test that
# computes much itself says `copts = ["-O2"]`.
_TEST_COPTS = ["-O0"]

# Every program that is built with the thread sanitizer links its list of suppressions.
_TSAN_DEPS = select({
    "//bazel:tsan": ["//bazel:tsan_suppressions"],
    "//conditions:default": [],
})

def yard_precompiled(name, test = False, **kwargs):
    """A header that clang parses once, for the targets of the folders in _PCH; with `test`, for their tests."""
    yard_pch(
        name = name,
        copts = _WARNINGS + _CLANG + (_TEST_COPTS if test else []),
        **kwargs
    )

# The precompiled header of each folder, with all in it that have none of their own; its tests use the one with _test after the name. The folders that show
# how a user's program is built (sdk, examples) have none.
_PCH = {
    "bench": "//bus/schema:pch",
    "bus": "//bus/schema:pch",
    "datamanager": "//bus/schema:pch",
    "eventlog": "//bazel/pch:base",
    "gate": "//bus/schema:pch",
    "launcher": "//bus/schema:pch",
    "launcher/node/files": "//bazel/pch:base",
    "launcher/node/words": "//bazel/pch:base",
    "launcher/process": "//bazel/pch:base",
    "launcher/shim": "//bazel/pch:base",
    "launcher/wire": "//bazel/pch:base",
    "registry": "//bus/schema:pch",
    "runtime": "//bazel/pch:base",
    "tests": "//bus/schema:pch",
    "tools": "//bus/schema:pch",
    "trainer": "//bus/schema:pch",
    "tuning": "//bazel/pch:base",
    "web": "//bus/schema:pch",
}

def _precompiled(copts, test = False):
    """(copts, deps) by which a target uses the precompiled header of its folder.

    Clang refuses a header that was compiled with other options, so a target with copts of its own has none.
    """
    package = native.package_name()
    label = _PCH.get(package, _PCH.get(package.split("/")[0]))
    if not label or native.package_name() == "bus/schema" or copts:
        return [], []
    if test:
        label += "_test"
    path = "$(BINDIR)/%s.pch" % label[2:].replace(":", "/")
    return select({
        "//bazel:gcc": [],
        # (Bazel compiles anew what the compiler's list of read files says, where clang leaves this one out.)
        "//conditions:default": ["-include-pch", path, "-Xclang", "-fdepfile-entry=" + path],
    }), select({
        "//bazel:gcc": [],
        "//conditions:default": [label],
    })

def yard_library(name, hdrs = [], srcs = [], deps = [], copts = [], **kwargs):
    """A cc_library with at most one public header."""
    if len(hdrs) > 1:
        fail("%s: one header a target, found %s" % (name, hdrs))
    pch_copts, pch_deps = _precompiled(copts)
    native.cc_library(
        name = name,
        hdrs = hdrs,
        srcs = srcs,
        deps = pch_deps + deps,
        copts = COPTS + pch_copts + copts,
        linkstatic = True,
        **kwargs
    )

def yard_binary(name, srcs = [], deps = [], copts = [], linkopts = [], static = False, **kwargs):
    """A cc_binary; `static` links everything in (not under a sanitizer, which cannot)."""
    pch_copts, pch_deps = _precompiled(copts)
    native.cc_binary(
        name = name,
        srcs = srcs,
        deps = pch_deps + deps + _TSAN_DEPS,
        copts = COPTS + pch_copts + copts,
        linkopts = linkopts + (select({
            "//bazel:sanitized": [],
            "//conditions:default": ["-static"],
        }) if static else []),
        linkstatic = True,
        **kwargs
    )

def yard_test(name, srcs = [], deps = [], copts = [], size = "small", **kwargs):
    """A GoogleTest; brings its own main with gmock."""
    pch_copts, pch_deps = _precompiled(copts, test = True)
    native.cc_test(
        name = name,
        srcs = srcs,
        deps = pch_deps + deps + ["//third_party:gtest_main"] + _TSAN_DEPS,
        copts = COPTS + pch_copts + _TEST_COPTS + copts,
        linkstatic = True,
        size = size,
        **kwargs
    )

def yard_benchmark(name, srcs = [], deps = [], copts = [], **kwargs):
    """A Google Benchmark binary, and a smoke test that runs each of its cases once."""
    pch_copts, pch_deps = _precompiled(copts)
    native.cc_binary(
        name = name,
        srcs = srcs,
        deps = pch_deps + deps + ["//third_party:benchmark_main"] + _TSAN_DEPS,
        copts = COPTS + pch_copts + copts,
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
    pch_copts, pch_deps = _precompiled(copts)
    native.cc_test(
        name = name,
        srcs = srcs + select({
            "//bazel:fuzz": [],
            "//conditions:default": ["//bazel:fuzz_replay_main.cc"],
        }),
        deps = pch_deps + deps + _TSAN_DEPS,
        copts = COPTS + pch_copts + copts,
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
            "//bus/schema:method",
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

def yard_all_methods(name, srcs, visibility = None):
    """rpc::AllMethods, the table of the methods in all schemas: all_methods.h.

    Args:
      name: the library's name.
      srcs: the .fbs files; each has a yard_methods target, NAME_methods.
      visibility: as usual.
    """
    native.genrule(
        name = name + "_header",
        srcs = srcs,
        outs = ["all_methods.h"],
        cmd = "/usr/bin/python3 $(location //bazel:methods.py) --all $@ $(SRCS)",
        tools = ["//bazel:methods.py"],
    )
    native.cc_library(
        name = name,
        hdrs = ["all_methods.h"],
        deps = [src[:-len(".fbs")] + "_methods" for src in srcs],
        visibility = visibility,
    )
