"""The page in a real browser: tabs, sorting, links, no request and no error."""

from pathlib import Path

import pytest
from tests.reports.browser import Browser, find_chromium
from tests.reports.studies import Folder, run, spec

from guidefbo.reports.report import write_report

TITLE = 'Made up <script>document.title = "taken"</script>'
TABLE = "#table-regret-level-2"


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """Return the address of a page on disk."""
    folder = Folder(tmp_path_factory.mktemp("study") / "s", title=TITLE, name="a<b>&")
    finals = {
        ("ucb", "ackley"): [100.0, 101.0, 99.0],
        ("ucb", "levy"): [9.0, 9.5, 8.5],
        ("ucb", "sphere"): [None, None, None],
        ("ucb", "powell"): [20.0, 21.0, 19.0],
    }
    folder.add_finals(finals)
    folder.add_finals({("guide-ucb", p): [5.0, 6.0, 7.0] for _, p in finals})
    folder.add(spec("<img src=x onerror=alert(1)>"), run(3.0))
    folder.add(spec("ackley", "fts"), error="<b>boom</b>")
    out = tmp_path_factory.mktemp("report")
    write_report([folder.save()], out)
    return (out / "report.html").as_uri()


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    """Return a running browser."""
    program = find_chromium()
    if program is None:
        reason = (
            "NO BROWSER: Chromium is not installed and could not be installed (that "
            "needs apt-get and root). The page of a report is NOT tested."
        )
        pytest.skip(reason)
    with Browser(program, tmp_path_factory.mktemp("profile")) as browser:
        yield browser


@pytest.fixture
def page(browser, address):
    """Return the browser with the page freshly opened."""
    browser.send("Emulation.setEmulatedMedia", media="", features=[])
    browser.open(address)
    return browser


def shown(page):
    """Return the panels that can be seen."""
    return page.evaluate(
        "[...document.querySelectorAll('[role=tabpanel]')]"
        ".filter(p => p.offsetParent !== null).map(p => p.id)"
    )


def chosen(page):
    return page.evaluate(
        "[...document.querySelectorAll('[role=tab][aria-selected=true]')]"
        ".map(t => t.getAttribute('aria-controls'))"
    )


def column(page, place):
    return page.evaluate(
        f"[...document.querySelectorAll('{TABLE} tbody tr')]"
        f".map(r => r.cells[{place}].firstChild.textContent)"
    )


def sorting(page):
    return page.evaluate(
        f"[...document.querySelectorAll('{TABLE} thead th')]"
        ".map(h => h.getAttribute('aria-sort'))"
    )


def test_a_tab_shows_its_panel_and_hides_the_others(page):
    assert shown(page) == ["results"]
    page.click("#tab-regret")
    assert shown(page) == ["regret"]
    assert chosen(page) == ["regret"]
    assert page.evaluate("location.hash") == "#regret"
    page.click("#tab-curves")
    assert shown(page) == ["curves"]


def test_tabs_follow_the_keyboard(page):
    page.evaluate("document.querySelector('[role=tab]').focus()")
    page.press("ArrowRight")
    assert shown(page) == ["regret"]
    assert page.evaluate("document.activeElement.id") == "tab-regret"
    page.press("End")
    last = page.evaluate("[...document.querySelectorAll('[role=tab]')].at(-1).id")
    assert chosen(page) == [last.removeprefix("tab-")]
    page.press("ArrowRight")
    assert shown(page) == ["results"]
    page.press("ArrowLeft")
    page.press("Home")
    assert shown(page) == ["results"]
    only_one = "document.querySelectorAll('[role=tab][tabindex=\"0\"]').length"
    assert page.evaluate(only_one) == 1


def test_a_header_sorts_by_value_with_the_missing_last(page):
    page.click("#tab-regret")
    before = column(page, 0)
    assert before[:4] == ["ackley", "levy", "sphere", "powell"]
    page.click(f"{TABLE} thead th:nth-child(2) button")
    # 3, 9, 20 and 100: by letters 100 would come first.
    assert column(page, 0)[1:] == ["levy", "powell", "ackley", "sphere"]
    assert sorting(page)[:2] == [None, "ascending"]
    page.click(f"{TABLE} thead th:nth-child(2) button")
    assert column(page, 0)[:3] == ["ackley", "powell", "levy"]
    assert column(page, 0)[-1] == "sphere"
    assert sorting(page)[:2] == [None, "descending"]
    page.click(f"{TABLE} thead th:nth-child(1) button")
    assert column(page, 0)[1:] == ["ackley", "levy", "powell", "sphere"]
    assert sorting(page)[:2] == ["ascending", None]
    footer = page.evaluate(f"document.querySelector('{TABLE} tfoot').textContent")
    assert "median ratio" in footer


def test_links_lead_to_a_section_and_into_it(browser, address):
    browser.open(f"{address}#matched")
    assert shown(browser) == ["matched"]
    browser.evaluate("location.hash = '#ranks'")
    browser.evaluate("new Promise(done => setTimeout(done, 200))")
    assert shown(browser) == ["ranks"]
    browser.open(f"{address}#table-regret-level-2")
    assert shown(browser) == ["regret"]
    browser.open(f"{address}#nowhere")
    assert shown(browser) == ["results"]


def test_texts_of_a_study_stay_texts(page):
    assert page.evaluate("document.title") == TITLE
    assert page.evaluate("document.querySelector('h1').textContent") == TITLE
    assert page.evaluate("document.querySelectorAll('script').length") == 1
    assert (
        page.evaluate("document.querySelectorAll('td img, th img, li b').length") == 0
    )
    assert "<b>boom</b>" in page.evaluate(
        "document.querySelector('#bookkeeping ul').textContent"
    )


def test_nothing_is_asked_for_and_nothing_goes_wrong(page, address, tmp_path):
    page.click("#tab-curves")
    page.click("#tab-regret")
    page.click(f"{TABLE} thead th:nth-child(3) button")
    loaded = "[...document.images].every(i => i.complete && i.naturalWidth > 100)"
    assert page.evaluate(loaded)
    picture = tmp_path / "page.png"
    page.screenshot(picture)
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert picture.stat().st_size > 10_000
    asked = [e["request"]["url"] for e in page.named("Network.requestWillBeSent")]
    asked = [url for url in asked if not url.startswith("data:")]
    assert set(asked) == {address}
    wrong = page.named(
        "Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded"
    )
    assert wrong == []


def test_the_policy_refuses_foreign_scripts(page):
    page.evaluate(
        "(() => { const s = document.createElement('script');"
        "s.textContent = 'window.taken = 1'; document.body.append(s); })()"
    )
    assert page.evaluate("window.taken === undefined")


def test_dark_and_printed(page):
    background = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(background)
    dark = [{"name": "prefers-color-scheme", "value": "dark"}]
    page.send("Emulation.setEmulatedMedia", features=dark)
    assert page.evaluate(background) != light
    page.send("Emulation.setEmulatedMedia", media="print", features=[])
    everything = page.evaluate("document.querySelectorAll('[role=tabpanel]').length")
    assert len(shown(page)) == everything
    tabs = "getComputedStyle(document.querySelector('[role=tablist]')).display"
    assert page.evaluate(tabs) == "none"


def test_without_scripts_everything_is_shown(browser, address):
    browser.send("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.open(address)
    finally:
        browser.send("Emulation.setScriptExecutionDisabled", value=False)
    assert len(shown(browser)) > 3


def test_the_page_holds_all_it_needs(address):
    text = Path(address.removeprefix("file://")).read_text(encoding="utf-8")
    assert 'src="http' not in text
    assert "<link" not in text
    assert "@import" not in text
