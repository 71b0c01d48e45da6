"""The commands about what people answer on their own device or on paper: `form` and `collect`."""

from __future__ import annotations

import argparse
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

from ldpfrontier.base.atomic import write_text
from ldpfrontier.verify import visible
from ldpsurvey.answer.collecting import collect_reports
from ldpsurvey.answer.either import AnyChannel, read_either
from ldpsurvey.answer.listening import PATH, listen, report_application, split_address
from ldpsurvey.answer.page import answer_page
from ldpsurvey.answer.store import ReportStore
from ldpsurvey.answer.texts import read_texts
from ldpsurvey.base.layout import remark, reports_text, wrapped
from ldpsurvey.channel.privatizing import remark_on_files
from ldpsurvey.command.option_table import given
from ldpsurvey.data.outputs import check_outputs

#: Letters of a page of which is said that it is long to load.
HEAVY = 3_000_000


def form(options: argparse.Namespace) -> int:
    """Write the page on which people answer."""
    check_outputs([options.out], [options.channel, *given(options.texts)])
    channel = read_either(options.channel)
    texts = read_texts(channel, options.texts, title=options.title, language=options.language)
    page = answer_page(channel, texts, post=options.post, wave=options.wave, kiosk=options.kiosk)
    write_text(page, options.out)
    if (options.post or "").startswith("http:") and not _is_local(options.post):
        remark(f"{options.post} is no https: whoever is on the way can read who sends which report.")
    if len(page) > HEAVY:
        remark(f"the page has {len(page) / 1e6:.1f} MB, which phones load slowly: the channel is large.")
    allowance = channel.certificate.allowance
    if allowance is not None and (options.kiosk or allowance.reports is None):
        counted = "of this channel alone, on its device" if not options.kiosk else "of nobody"
        remark(f"the page counts the reports {counted}: see to it that nobody gives more than are allowed.")
    if channel.public_counts is not None:
        print(wrapped("The page contains the channel file, and so the counts of the table of the design."))
    print(visible(f"File written: {options.out}."))
    where = f"sends them to {options.post}" if options.post else "sends nothing: people give codes or files"
    print(wrapped(f"It draws reports on the device of whoever opens it, and {visible(where)}."))
    return 0


def _is_local(address: str) -> bool:
    return urlsplit(address).hostname in ("127.0.0.1", "localhost")


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
