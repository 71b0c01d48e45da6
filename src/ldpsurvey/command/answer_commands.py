"""The command about what people answer on their own device or on paper: `collect`."""

from __future__ import annotations

import argparse
from contextlib import closing
from pathlib import Path

from ldpfrontier.verify import visible
from ldpsurvey.answer.collecting import collect_reports
from ldpsurvey.answer.either import AnyChannel, read_either
from ldpsurvey.answer.listening import PATH, listen, report_application, split_address
from ldpsurvey.answer.store import ReportStore
from ldpsurvey.base.layout import remark, reports_text, wrapped
from ldpsurvey.channel.privatizing import remark_on_files
from ldpsurvey.command.option_table import given
from ldpsurvey.data.outputs import check_outputs


def collect(options: argparse.Namespace) -> int:
    """Make a file of reports of what came in, or take reports in a local network."""
    if options.listen is not None:
        return _listen(options, read_either(options.channel))
    check_outputs([options.out], [options.channel])
    replaced = Path(options.out).is_file()
    done = collect_reports(
        read_either(options.channel), options.sources, options.out, column=options.column,
        codes=options.codes, person=options.id, keep=options.keep, spreadsheet=options.spreadsheet,
        force=options.force,
    )  # fmt: skip
    for line in done.text().splitlines():
        # A refusal must not be missed where the rest is quiet.
        remark(line) if line.startswith("Refused") else print(wrapped(line))
    print(visible(f"File written: {options.out}{' (replaced)' if replaced else ''}."))
    remark_on_files(options.out, [], options.keep, False)
    return 0


def _listen(options: argparse.Namespace, channel: AnyChannel) -> int:
    """Take reports until it is interrupted."""
    check_outputs([options.store], [options.channel, *given(options.page)])
    host, _ = split_address(options.listen)
    with closing(ReportStore(options.store, channel.id)) as store:
        application = report_application(channel, store, options.page)

        def started(address: str) -> None:
            shown = "the page" if options.page else "no page; reports are sent"
            print(f"{address} has {shown}{'' if options.page else f' to {PATH}'}.")
            print(visible(f"{options.store} has {reports_text(len(store))}. Ctrl-C ends this."), flush=True)
            if host not in ("127.0.0.1", "localhost", "::1"):
                remark(
                    f"whoever is in the network of {host} can send reports, and can read those of others on"
                    " their way. A survey puts a web server with https in front."
                )

        listen(options.listen, application, started)
        print(visible(f"{options.store} has {reports_text(len(store))}."))
    return 0
