"""yard_pch: a header that is parsed once for all targets that are compiled with the same flags."""

load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain")
load("@bazel_tools//tools/build_defs/cc:action_names.bzl", "CPP_COMPILE_ACTION_NAME")

def _command(ctx, toolchain, features, defines, flags):
    """How clang reads a header on its standard input and writes to its standard output."""

    # Clang refuses a precompiled header that was made without a flag of its user's.
    as_users = ["-fmodules-strict-decluse"] if "layering_check" in ctx.features else []
    return [cc_common.get_tool_for_action(
        feature_configuration = features,
        action_name = CPP_COMPILE_ACTION_NAME,
    )] + cc_common.get_memory_inefficient_command_line(
        feature_configuration = features,
        action_name = CPP_COMPILE_ACTION_NAME,
        variables = cc_common.create_compile_variables(
            feature_configuration = features,
            cc_toolchain = toolchain,
            user_compile_flags = ctx.fragments.cpp.copts + ctx.fragments.cpp.cxxopts + ctx.attr.copts + as_users +
                                 ["-x", "c++-header", "-Xclang", "-fno-pch-timestamp"] + flags,
            preprocessor_defines = defines,
            source_file = "-",
            output_file = "-",  # Clang would store the directory of a file.
            use_pic = True,
        ),
    )

def _yard_pch_impl(ctx):
    toolchain = find_cpp_toolchain(ctx)
    features = cc_common.configure_features(
        ctx = ctx,
        cc_toolchain = toolchain,
        requested_features = ctx.features,
        # (They want a module's name; what includes the header is checked.)
        unsupported_features = ctx.disabled_features + ["module_maps", "layering_check"],
    )
    header = ctx.file.src
    output = ctx.actions.declare_file(ctx.label.name + ".pch")

    # Clang stores where each file is, and refuses it elsewhere; a sandbox is never at the same place twice. So
    # all files of ours become one, which comes through standard input.
    text = ctx.actions.declare_file(ctx.label.name + ".inlined.h")
    context = cc_common.merge_cc_infos(cc_infos = [d[CcInfo] for d in ctx.attr.deps]).compilation_context

    ours = depset(ctx.files.includes, transitive = [context.headers])
    ctx.actions.run(
        executable = "/usr/bin/python3",
        arguments = [ctx.file._inline.path, text.path, header.path] + [f.path for f in ours.to_list()],
        inputs = depset([header, ctx.file._inline], transitive = [ours]),
        outputs = [text],
        mnemonic = "InlineHeader",
    )

    # In a directory that is the same everywhere: clang stores it, too.
    run = "exec <%s >%s; cd / && \"$@\""

    # Clang refuses a precompiled header when a header in it has changed. The system's headers are no inputs, but the
    # digests of their contents are.
    digests = ctx.actions.declare_file(ctx.label.name + ".digests")
    ctx.actions.run_shell(
        command = run % (text.path, digests.path) +
                  " | tr -s ' \\\\' '\\n\\n' | grep '^/' | LC_ALL=C sort -u | xargs /usr/bin/sha256sum",
        arguments = _command(ctx, toolchain, features, context.defines, ["-M"]),
        inputs = [text] + ctx.files._packages,
        outputs = [digests],
        mnemonic = "HeaderDigests",
    )
    ctx.actions.run_shell(
        command = run % (text.path, output.path),
        arguments = _command(ctx, toolchain, features, context.defines, []),
        inputs = [text, digests],
        outputs = [output],
        mnemonic = "CppPrecompile",
        progress_message = "Precompiling " + header.short_path,
    )
    return [
        DefaultInfo(files = depset([output])),
        CcInfo(compilation_context = cc_common.create_compilation_context(headers = depset([output]))),
    ]

yard_pch = rule(
    implementation = _yard_pch_impl,
    doc = "NAME.pch, made of `src` by clang. A user has the rule in its deps, and -include-pch among its copts.",
    attrs = {
        "src": attr.label(allow_single_file = [".h"], mandatory = True),
        "includes": attr.label_list(allow_files = [".h"], doc = "Headers that src includes and no dep has."),
        "copts": attr.string_list(doc = "Those of its users, which are refused otherwise."),
        "_packages": attr.label(
            default = "@debian//:status",
            allow_single_file = True,
            doc = "When these change, a header of the system can have changed.",
        ),
        "_inline": attr.label(default = "//bazel:inline_header.py", allow_single_file = True),
        "deps": attr.label_list(providers = [CcInfo]),
        "_cc_toolchain": attr.label(default = "@bazel_tools//tools/cpp:current_cc_toolchain"),
    },
    fragments = ["cpp"],
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
)
