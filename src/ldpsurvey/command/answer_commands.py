"""The commands about what people answer on their own device or on paper: `form`, `card` and `collect`."""

from __future__ import annotations

import argparse
import json
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

from ldpfrontier.base.atomic import write_text
from ldpfrontier.verify import visible
from ldpsurvey.answer.card import answer_card
from ldpsurvey.answer.collecting import collect_reports
from ldpsurvey.answer.dice import dice_channel
from ldpsurvey.answer.listening import PATH, listen, report_application, split_address
from ldpsurvey.answer.page import answer_page
from ldpsurvey.answer.store import ReportStore
from ldpsurvey.answer.texts import read_texts
from ldpsurvey.base.layout import remark, reports_text, wrapped
from ldpsurvey.channel.channel_file import write_texts
from ldpsurvey.channel.privatizing import remark_on_files
from ldpsurvey.channel.promises import upwards
from ldpsurvey.channel.proof import certified
from ldpsurvey.command.option_table import given
from ldpsurvey.data.outputs import check_new, check_outputs
from ldpsurvey.questionnaire.questionnaire_channel import AnyChannel, read_any_channel

#: Letters of a page of which is said that it is long to load.
HEAVY = 3_000_000


def form(options: argparse.Namespace) -> int:
    """Write the page on which people answer."""
    check_outputs([options.out], [options.channel, *given(options.texts)])
    channel = read_any_channel(options.channel)
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


def card(options: argparse.Namespace) -> int:
    """Write a card by which people draw a report with dice, and the channel that is drawn."""
    target = Path(options.out)
    if target.suffix != ".html":
        raise ValueError(f"{target} ends in {target.suffix!r}; the file of a card must end in .html.")
    beside = [target.with_suffix(suffix) for suffix in (".json", ".certificate.json")]
    check_outputs([target, *beside], [options.channel, *given(options.texts)])
    if not options.force:
        check_new(beside)
    channel = read_any_channel(options.channel)
    drawn, price = dice_channel(channel, options.dice)
    texts = read_texts(drawn, options.texts, title=options.title, language=options.language)
    page, (document, _) = answer_card(drawn, texts, slips=options.slips), certified(drawn)
    contents = {
        ".html": page,
        ".json": drawn.text(),
        ".certificate.json": json.dumps(document, indent=1) + "\n",
    }
    written = write_texts(target, contents)
    print(wrapped(drawn.promise()))
    print(
        wrapped(
            f"That is the level of what is drawn with {options.dice} dice. For the same precision,"
            f" {upwards(price):.2f} times as many people are needed as with {channel.id}."
        )
    )
    print(visible(f"Files written: {', '.join(map(str, written))}."))
    print(wrapped(f"estimate takes the letters with --channel {visible(str(written[1]))}."))
    return 0


def collect(options: argparse.Namespace) -> int:
    """Make a file of reports of what came in, or take reports in a local network."""
    if options.listen is not None:
        return _listen(options, read_any_channel(options.channel))
    check_outputs([options.out], [options.channel])
    replaced = Path(options.out).is_file()
    done = collect_reports(
        read_any_channel(options.channel), options.sources, options.out, column=options.column,
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
                    " their way. A page over plain http draws nothing there: open it as a file on a device."
                    " A survey puts a web server with https in front."
                )

        listen(options.listen, application, started)
        print(visible(f"{options.store} has {reports_text(len(store))}."))
    return 0


COMMANDS = {"form": form, "card": card, "collect": collect}
