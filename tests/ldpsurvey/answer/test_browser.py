"""The page in a browser: what it draws, stores, shows and sends, and what it does where something lacks."""

import json
import math
import re
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import chi2

from ldpfrontier import optimal_questionnaire
from ldpsurvey import (
    CountTable,
    ReportStore,
    answer_page,
    collect_reports,
    count_reports,
    estimate_distribution,
    read_texts,
    report_application,
    report_code,
)
from ldpsurvey.answer.texts import LANGUAGES
from ldpsurvey.design.least_level import design_for_reports
from ldpsurvey.questionnaire.questionnaire_channel import sampled
from support.browser import BLOCKED, MISSING, WITHOUT_SCRIPTS, axe_script, chromium, requests, serving
from support.owndata import channel_of, flat, small_table
from support.questionnaires import report_chances

pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"not installed: {MISSING}")

#: Answers by the places of their buttons, and a click on the one button of the form.
FILL = """
const places = arguments[0];
document.querySelectorAll("fieldset").forEach((part, j) => {
  if (!part.disabled) part.querySelectorAll("input")[places[j]].click();
});
document.querySelector("form > button").click();
"""
STORED = """
indexedDB.open("ldp-frontier").onsuccess = ({ target }) => {
  const all = target.result.transaction("reports").objectStore("reports").getAll();
  all.onsuccess = () => {
    target.result.close();
    arguments[0](all.result);
  };
};
"""
TABLE = channel_of(small_table(), "association", 1.0, "acquaintance")
ODD = ("<b onclick='x'>ill</b>", "</script><script>document.title='taken'</script>", 'שלום \U0001f600 & "x"')


@pytest.fixture(scope="module")
def browser():
    with chromium() as driver:
        driver.set_script_timeout(60)
        yield driver


@pytest.fixture
def page(tmp_path):
    """Return a function that writes a page and returns its address."""

    def write(channel, name="page", texts=None, **options):
        (tmp_path / f"{name}.html").write_text(answer_page(channel, texts, **options), encoding="utf-8")
        return (tmp_path / f"{name}.html").as_uri()

    return write


@pytest.fixture
def fresh(browser):
    """Return the browser without what pages have stored; pages of files share one storage."""
    browser.get("file:///")
    browser.execute_async_script(
        "const asked = indexedDB.deleteDatabase('ldp-frontier'); asked.onsuccess = arguments[0];"
    )
    requests(browser)
    return browser


def shown(driver, name):
    """Return the text of a part of the page; empty if it is hidden."""
    return driver.find_element("id", name).text


def until(driver, condition):
    from selenium.webdriver.support.ui import WebDriverWait

    return WebDriverWait(driver, 10, 0.02).until(lambda _: condition())


def given(driver, places):
    """Answer, and return what the page says is given away."""
    until(driver, lambda: driver.find_element("id", "form").is_displayed())
    driver.execute_script(FILL, places)
    return json.loads(until(driver, lambda: shown(driver, "exactly")))


def questionnaire():
    return sampled(
        optimal_questionnaire((2, 3, 2), 1.0, 2), tuple("abc"), (("t", "u"), tuple("tuv"), ("t", "u"))
    )


# Reports ---------------------------------------------------------------------------------------------------

DRAW = """
const [record, n] = arguments, found = {};
for (let i = 0; i < n; i++) { const y = globalThis.drawn(record); found[y] = (found[y] ?? 0) + 1; }
return found;
"""
#: What lets a test call the function that the page draws with, as the page calls it.
OPENED = """
globalThis.drawn = (record) => draw(record, draw.draw?.());
</script>"""


@pytest.mark.parametrize("which", ["table", "questionnaire"])
def test_a_hundred_thousand_draws_fit_the_channel(fresh, tmp_path, which):
    channel = TABLE if which == "table" else questionnaire()
    text = re.sub(r"<meta http-equiv=.*\n", "", answer_page(channel))
    before, _, after = text.rpartition("</script>")
    (tmp_path / "page.html").write_text(f"{before}{OPENED}{after}", encoding="utf-8")
    fresh.get((tmp_path / "page.html").as_uri())
    until(fresh, lambda: fresh.execute_script("return Boolean(globalThis.drawn)"))
    if which == "table":
        cases = zip(
            map(dict, (zip(TABLE.asked, x, strict=True) for x in TABLE.asked_labels)),
            TABLE.channel.matrix,
            strict=True,
        )
        cases = [(record, dict(zip(TABLE.outputs, row.tolist(), strict=True))) for record, row in cases]
    else:
        stated = {name: float(p[1, 2, 0]) for name, p in report_chances(channel.text()).items()}
        cases = [({"a": "u", "b": "v", "c": "t"}, stated)]
    for record, stated in cases:
        n = 100_000 // len(cases)
        drawn = fresh.execute_script(DRAW, record, n)
        assert set(drawn) <= set(stated)
        # Reports that are hardly ever drawn count together.
        often = [name for name, p in stated.items() if n * p >= 5.0]
        counts, expected = (np.array([some.get(name, 0) for name in often]) for some in (drawn, stated))
        rare = n * (1.0 - expected.sum())
        assert n - counts.sum() <= rare + 10.0 * math.sqrt(rare + 1.0)
        expected = counts.sum() * expected / expected.sum()
        statistic = float(((counts - expected) ** 2 / expected).sum())
        assert chi2.sf(statistic, len(often) - 1) > 1e-9


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_report_is_shown_with_its_code_before_anything_is_sent(fresh, page, language):
    texts = read_texts(TABLE, language=language)
    fresh.get(page(TABLE, texts=texts, post="https://survey.example/report"))
    found = given(fresh, (1, 0, 0))
    assert found == {"channel": TABLE.id, "report": found["report"]}
    assert fresh.switch_to.active_element.get_attribute("id") == "own"
    assert len(fresh.find_elements("css selector", "#told li")) == 3
    assert requests(fresh) == []
    assert not fresh.find_elements("css selector", "input:checked")


@pytest.mark.parametrize("way", ["read_out", "copy", "download", "send", "print"])
def test_what_tells_the_answers_is_gone_when_the_report_is_given_away(fresh, page, way):
    """Numbers of those who answer alike, beside the report, would tell whoever sees the screen or a print."""
    fresh.get(page(TABLE, post="http://127.0.0.1:9/report"))
    report = given(fresh, (1, 0, 0))["report"]
    own = shown(fresh, "told")
    assert shown(fresh, "eyes")
    assert shown(fresh, "code") == ""
    if way == "print":
        fresh.print_page()
    else:
        fresh.find_element("id", way).click()
    assert until(fresh, lambda: shown(fresh, "code")) == report_code(TABLE, report)
    assert shown(fresh, "eyes") == ""
    after = shown(fresh, "told")
    assert after != own
    fresh.refresh()
    until(fresh, lambda: shown(fresh, "exactly"))
    assert shown(fresh, "told") == after


def test_a_questionnaire_asks_what_the_lot_asks_and_shows_its_list(fresh, page):
    channel = questionnaire()

    def displayed():
        until(fresh, lambda: fresh.find_element("id", "form").is_displayed())
        return [part.is_displayed() for part in fresh.find_elements("css selector", "fieldset")]

    fresh.get(page(channel))
    asked = displayed()
    assert any(asked)
    fresh.refresh()
    assert displayed() == asked
    report = given(fresh, (1, 2, 0))["report"]
    assert report in report_chances(channel.text())
    assert sorted(int(number) for number in re.findall(r"q(\d)=", report)) == [
        j + 1 for j in range(3) if asked[j]
    ]
    fresh.find_element("id", "read_out").click()
    assert shown(fresh, "code") == report_code(channel, report)
    lot = channel.mechanism.lots[int(report[1 : report.index("/")]) - 1]
    assert len(fresh.find_elements("css selector", ".list li")) == lot.members.sum()


def test_answers_that_nobody_gives_together_are_not_reported(fresh, page):
    channel = sampled(optimal_questionnaire((2, 2), 1.0, 2), ("a", "b"), (("t", "u"), ("t", "u")))
    fresh.get(page(replace(channel, impossible=((("a", ("t",)), ("b", ("u",))),))))
    until(fresh, lambda: fresh.find_element("id", "form").is_displayed())
    fresh.execute_script(FILL, (0, 1))
    assert until(fresh, lambda: shown(fresh, "wrong")) == read_texts(channel).words["impossible"]
    assert shown(fresh, "exactly") == ""
    given(fresh, (1, 1))


def test_a_survey_is_filled_in_sent_collected_and_estimated(browser, tmp_path, long):
    """200 people with --long, else fewer; a report of each leaves the page, and nothing else."""
    people, table = 200 if long else 12, flat(small_table())
    channel, rng = channel_of(table, "grr", 3.0, "anyone"), np.random.default_rng(0)
    truth = table.counts.ravel() / table.counts.sum()
    labels = [table.labels[x] for x in rng.choice(len(truth), size=people, p=truth)]
    data = json.loads(re.search(r'id="data">(.*?)</script>', answer_page(channel))[1])
    values = [question["values"] for question in data["questions"]]
    sent = []
    with (
        closing(ReportStore(tmp_path / "r.sqlite", channel.id)) as store,
        serving(lambda *given: application(*given)) as address,
    ):
        text = answer_page(channel, post=f"{address}/report", kiosk=True)
        (tmp_path / "page.html").write_text(text, encoding="utf-8")
        application = report_application(channel, store, tmp_path / "page.html")
        browser.get(address)
        requests(browser)
        for label in labels:
            sent.append(
                given(browser, [some.index(value) for some, value in zip(values, label, strict=True)])
            )
            browser.find_element("id", "send").click()
            until(browser, lambda: shown(browser, "status") == data["words"]["sent"])
            browser.find_element("id", "next").click()
            until(browser, lambda: not browser.find_elements("css selector", "#report:not([hidden])"))
        asked = requests(browser)
    posts = [one for one in asked if one["method"] == "POST"]
    assert [json.loads(one["postData"]) for one in posts] == sent
    assert {one["url"] for one in posts} == {f"{address}/report"}
    headers = [one["headers"] for one in posts]
    assert not any(some.get(name) for some in headers for name in ("Cookie", "Referer"))
    assert {one["url"] for one in asked if one not in posts} == {f"{address}/"}
    collect_reports(channel, [tmp_path / "r.sqlite"], tmp_path / "reports.csv")
    counts = count_reports(channel, tmp_path / "reports.csv")
    assert counts.tolist() == [[one["report"] for one in sent].count(report) for report in channel.outputs]
    if long:
        for row in estimate_distribution(channel, counts).frequencies:
            if row.quantity.attributes == table.attributes:
                share = truth[table.labels.index(row.quantity.value)]
                assert abs(row.unbiased - share) < 5.0 * np.sqrt(0.25 / people)


# One report of a person ------------------------------------------------------------------------------------


def test_a_report_stays_the_same_when_the_page_is_loaded_again_or_in_two_tabs(fresh, page):
    address = page(TABLE)
    fresh.get(address)
    first = fresh.current_window_handle
    fresh.switch_to.new_window("tab")
    fresh.get(address)
    found = given(fresh, (1, 1, 0))
    own = shown(fresh, "told")
    second = fresh.current_window_handle
    fresh.switch_to.window(first)
    until(fresh, lambda: shown(fresh, "exactly"))
    assert json.loads(shown(fresh, "exactly")) == found
    fresh.execute_script("document.getElementById('form').requestSubmit()")
    # What was answered is known to nobody any more.
    for go in (fresh.refresh, lambda: fresh.get("about:blank"), fresh.back):
        go()
        if fresh.current_url != "about:blank":
            assert json.loads(until(fresh, lambda: shown(fresh, "exactly"))) == found
            assert shown(fresh, "told") != own
    assert fresh.execute_async_script(STORED) == [{"report": found["report"], "sent": False}]
    fresh.switch_to.window(second)
    fresh.close()
    fresh.switch_to.window(first)


def test_of_several_pages_that_are_answered_at_once_one_draws(fresh, page):
    address, tabs = page(TABLE), [fresh.current_window_handle]
    for _ in range(3):
        fresh.switch_to.new_window("tab")
        tabs.append(fresh.current_window_handle)
    for place, tab in enumerate(tabs):
        fresh.switch_to.window(tab)
        fresh.get(address)
        until(fresh, lambda: fresh.find_element("id", "form").is_displayed())
        fresh.execute_script(FILL.rpartition("document")[0], (place % 2, 1, 0))
    at = fresh.execute_script("return Date.now()") + 1000
    for tab in tabs:
        fresh.switch_to.window(tab)
        fresh.execute_script("setTimeout(() => form.requestSubmit(), arguments[0] - Date.now())", at)
    found, drawn = set(), []
    for tab in tabs:
        fresh.switch_to.window(tab)
        found.add(until(fresh, lambda: shown(fresh, "exactly")))
        # Where it was drawn, the page says what it reveals of the answers.
        drawn.append(len(fresh.find_elements("css selector", "#told li")) > 1)
        if tab != tabs[0]:
            fresh.close()
    fresh.switch_to.window(tabs[0])
    assert len(found) == sum(drawn) == 1


def test_only_so_many_waves_are_drawn_as_the_channel_allows(fresh, page):
    made = design_for_reports(small_table(), 1.0, 2, "information", mechanisms=["grr"])
    private = made.private(made.candidates[0])
    for wave in ("1", "2"):
        fresh.get(page(private, wave, wave=wave))
        given(fresh, (0, 0, 0))
    fresh.get(page(private, "3", wave="3"))
    until(fresh, lambda: shown(fresh, "problem"))
    assert not fresh.find_element("id", "form").is_displayed()
    fresh.get(page(private, "1", wave="1"))
    until(fresh, lambda: shown(fresh, "exactly"))


def test_a_page_for_many_people_forgets_each_of_them(fresh, page):
    fresh.get(page(TABLE, kiosk=True))
    given(fresh, (1, 1, 0))
    fresh.find_element("id", "next").click()
    until(fresh, lambda: fresh.find_element("id", "form").is_displayed())
    assert fresh.execute_script("return [localStorage.length, document.querySelector(':checked')]") == [
        0,
        None,
    ]
    assert shown(fresh, "exactly") == ""


# Where something is missing --------------------------------------------------------------------------------


def test_without_a_network_a_report_is_drawn_and_sent_later(fresh, page, tmp_path):
    with (
        closing(ReportStore(tmp_path / "r.sqlite", TABLE.id)) as store,
        serving(report_application(TABLE, store)) as address,
    ):
        at = page(TABLE, post=f"{address}/report")
        offline = {"offline": True, "latency": 0, "downloadThroughput": 0, "uploadThroughput": 0}
        fresh.execute_cdp_cmd("Network.enable", {})
        fresh.execute_cdp_cmd("Network.emulateNetworkConditions", offline)
        fresh.get(at)
        found = given(fresh, (0, 1, 0))
        fresh.find_element("id", "send").click()
        until(fresh, lambda: shown(fresh, "status"))
        assert len(store) == 0
        online = {**offline, "offline": False, "downloadThroughput": -1, "uploadThroughput": -1}
        fresh.execute_cdp_cmd("Network.emulateNetworkConditions", online)
        requests(fresh)
        fresh.find_element("id", "send").click()
        until(fresh, lambda: shown(fresh, "status") == read_texts(TABLE).words["sent"])
        assert len(store) == 1
        # From a file, a browser asks whether it may send, without the report.
        posts = [one for one in requests(fresh) if one["method"] == "POST"]
        assert [json.loads(one["postData"]) for one in posts] == [found]
        fresh.refresh()
        until(fresh, lambda: shown(fresh, "status"))
        assert shown(fresh, "ways") == shown(fresh, "code") == ""


def test_without_scripts_storage_or_https_a_sentence_says_so(page, tmp_path):
    words = read_texts(TABLE).words
    with chromium(WITHOUT_SCRIPTS) as driver:
        driver.get(page(TABLE))
        assert words["noscript"] in driver.find_element("tag name", "body").text
        assert not driver.find_element("id", "form").is_displayed()
    with chromium(BLOCKED, "--host-resolver-rules=MAP survey.test 127.0.0.1") as driver:
        driver.get(page(TABLE))
        found = given(driver, (0, 1, 0))
        assert shown(driver, "problem") == words["blocked"]
        assert found["report"] in TABLE.outputs
        # Over http, and not from this computer, a page may have been changed on its way.
        application = report_application(TABLE, None, tmp_path / "page.html")
        with serving(application) as address:
            driver.get(address.replace("127.0.0.1", "survey.test"))
            assert until(driver, lambda: shown(driver, "problem")) == words["insecure"]
            assert not driver.find_element("id", "form").is_displayed()


def test_a_page_with_another_channel_than_its_own_draws_nothing(fresh, tmp_path):
    changed = re.sub(r'(id="channel">)....', r"\1AAAA", answer_page(TABLE))
    (tmp_path / "page.html").write_text(changed, encoding="utf-8")
    fresh.get((tmp_path / "page.html").as_uri())
    assert "SHA-256" in until(fresh, lambda: shown(fresh, "problem"))
    assert not fresh.find_element("id", "form").is_displayed()


# How it is read --------------------------------------------------------------------------------------------


def test_strange_names_are_shown_as_they_are(fresh, page):
    labels = ((ODD[1],), ("no",)), ((ODD[2],), ("b",))
    channel = channel_of(CountTable((ODD[0],), ("age",), *labels, np.ones((2, 2), int) * 50), "srr")
    fresh.get(page(channel))
    until(fresh, lambda: fresh.find_element("id", "form").is_displayed())
    text = fresh.find_element("id", "form").text
    assert all(name in text for name in ODD)
    given(fresh, (0, 0))
    assert ODD[0] in shown(fresh, "told")
    assert fresh.title == read_texts(channel).title


def test_the_keyboard_is_enough(fresh, page):
    from selenium.webdriver.common.keys import Keys

    fresh.get(page(TABLE))
    until(fresh, lambda: fresh.find_element("id", "form").is_displayed())
    for _ in range(20):
        fresh.switch_to.active_element.send_keys(Keys.TAB)
        here = fresh.switch_to.active_element
        if here.get_attribute("type") == "radio":
            here.send_keys(Keys.SPACE)
        if here.tag_name == "button":
            break
    here.send_keys(Keys.ENTER)
    assert json.loads(until(fresh, lambda: shown(fresh, "exactly")))["report"] in TABLE.outputs


@pytest.mark.skipif(axe_script() is None, reason="axe is not installed")
@pytest.mark.parametrize("language", LANGUAGES)
def test_axe_finds_no_barrier(fresh, page, language):
    """Before a report is drawn, while only whoever answered should see it, and when it is given away."""
    fresh.get(page(TABLE, texts=read_texts(TABLE, language=language), post="https://survey.example/report"))
    steps = [
        lambda: None,
        lambda: given(fresh, (0, 1, 0)),
        lambda: fresh.find_element("id", "read_out").click(),
    ]
    for step in steps:
        step()
        for scheme in ("dark", "light"):
            feature = {"name": "prefers-color-scheme", "value": scheme}
            fresh.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
            fresh.execute_script(axe_script())
            found = fresh.execute_async_script("axe.run().then(arguments[0])")
            assert [(one["id"], [node["html"] for node in one["nodes"]]) for one in found["violations"]] == []


@pytest.mark.parametrize("width", [320, 1280])
def test_nothing_is_wider_than_the_screen(fresh, page, width):
    fresh.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": 700, "deviceScaleFactor": 1, "mobile": width < 500},
    )
    fresh.get(page(questionnaire()))
    given(fresh, (0, 1, 0))
    assert fresh.execute_script("return document.documentElement.scrollWidth") <= width
    fresh.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
