"""Which command was asked for, and how does it end?

Exit status: 0 done, 1 the answer is no, 2 bad usage or input. Errors are one line on standard error.
"""

import os
import sys

import typer
from typer.exceptions import TyperException

from muniment import (
    bench,
    demo,
    doctor,
    evaluate,
    explain,
    ingest,
    initialize,
    packet,
    prove,
    reindex,
    replay,
    revoke,
    search,
    serve,
    sources,
    tokens,
    verify,
)
from muniment.failures import explain_failure
from server.logs import set_up_logs

app = typer.Typer(
    name="muniment",
    help="Evidence packets from a hybrid index: eligible, exact, measured.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command("init")(initialize.run)
app.command("ingest")(ingest.run)
app.command("reindex")(reindex.run)
app.command("search")(search.run)
app.command("sources")(sources.run)
app.command("revoke")(revoke.run)
app.command("packet")(packet.run)
app.command("explain")(explain.run)
app.command("replay")(replay.run)
app.command("verify")(verify.run)
app.command("prove")(prove.run)
app.command("eval")(evaluate.run)
app.command("token")(tokens.run)
app.command("serve")(serve.run)
app.command("demo")(demo.run)
app.command("bench")(bench.run)
app.command("doctor")(doctor.run)


def main() -> None:
    """Run the command line. MUNIMENT_DEBUG=1 shows tracebacks."""
    os.environ.setdefault("HF_HUB_OFFLINE", "1")  # models come from disk; nothing is fetched behind the operator's back
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    set_up_logs("warning")
    try:
        status = app(sys.argv[1:] or ["--help"], standalone_mode=False)
    except (KeyboardInterrupt, typer.Abort):
        print("interrupted", file=sys.stderr)
        raise SystemExit(130) from None
    except BrokenPipeError:
        sys.stderr.close()
        raise SystemExit(0) from None
    except TyperException as error:  # a wrong or missing argument: one line, where typer would print four
        print(
            f"muniment: {' '.join(error.format_message().split()).rstrip('.')}; --help shows what there is",
            file=sys.stderr,
        )
        raise SystemExit(2) from None
    except Exception as error:
        if os.environ.get("MUNIMENT_DEBUG"):
            raise
        line, status = explain_failure(error)
        print(line, file=sys.stderr)
        raise SystemExit(status) from None
    raise SystemExit(status if isinstance(status, int) else 0)


if __name__ == "__main__":
    main()
