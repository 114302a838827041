"""Runs flatc: a C++ header, its source file and a binary schema for each .fbs file."""

FbsInfo = provider(fields = {"sources": "depset of this schema and all it includes"})

def _flatbuffers_schema_impl(ctx):
    src = ctx.file.src
    stem = src.basename[:-len(".fbs")]
    generated = ctx.actions.declare_file("flatc/" + stem + "_generated.h")
    header = ctx.actions.declare_file(stem + "_generated.h")
    source = ctx.actions.declare_file(stem + "_generated.cc")
    bfbs = ctx.actions.declare_file(stem + ".bfbs")
    sources = depset([src], transitive = [d[FbsInfo].sources for d in ctx.attr.deps])
    flatc = "/usr/bin/flatc -I . -o \"$1\" "
    for output, command in [
        (generated, flatc + "--cpp --cpp-std c++17 --scoped-enums --keep-prefix --gen-object-api \"$2\""),
        # The names of files in it are as the root of the tree sees them, wherever that is.
        (bfbs, "root=$(realpath \"$2\") && " + flatc +
               "--binary --schema --bfbs-comments --bfbs-filenames \"${root%/$2}\" \"$2\""),
    ]:
        ctx.actions.run_shell(
            command = command,
            arguments = [output.dirname, src.path],
            inputs = sources,
            outputs = [output],
            mnemonic = "Flatc",
        )
    ctx.actions.run(
        executable = "/usr/bin/python3",
        arguments = [
            ctx.file._split.path,
            generated.path,
            header.path,
            source.path,
            ctx.label.package + "/" + header.basename,
        ],
        inputs = [generated, ctx.file._split],
        outputs = [header, source],
        mnemonic = "SplitSchema",
    )
    return [
        DefaultInfo(files = depset([header])),
        OutputGroupInfo(bfbs = depset([bfbs]), schemas = sources, source = depset([source])),
        FbsInfo(sources = sources),
    ]

flatbuffers_schema = rule(
    implementation = _flatbuffers_schema_impl,
    attrs = {
        "src": attr.label(allow_single_file = [".fbs"], mandatory = True),
        "deps": attr.label_list(providers = [FbsInfo]),
        "_split": attr.label(default = "//bazel:split_schema.py", allow_single_file = True),
    },
)
