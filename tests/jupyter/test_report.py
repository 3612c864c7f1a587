"""report.html as people see it: in a browser, in both colour schemes, wide and narrow, without any request."""
import json
import shutil

import pytest
from playwright.sync_api import sync_playwright

FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]

# Every piece of text that is painted: what it says, its colour, and what it stands on, colours as red, green, blue, 0..255.
PAINTED = """() => {
  const canvas = document.createElement("canvas"), context = canvas.getContext("2d", { willReadFrequently: true });
  canvas.width = canvas.height = 1;
  const over = (colour, under, opacity = 1) => {
    context.globalAlpha = 1; context.fillStyle = `rgb(${under})`; context.fillRect(0, 0, 1, 1);
    context.globalAlpha = opacity; context.fillStyle = colour; context.fillRect(0, 0, 1, 1);
    return [...context.getImageData(0, 0, 1, 1).data].slice(0, 3);
  };
  const ground = element => element ? over(getComputedStyle(element).backgroundColor, ground(element.parentElement)) : [255, 255, 255];
  const found = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement, text = walker.currentNode.textContent.trim();
    if (!text || !element.checkVisibility({ visibilityProperty: true, opacityProperty: true })) continue;
    const style = getComputedStyle(element), inSvg = !!element.closest("svg"), under = ground(element);
    let opacity = inSvg ? +style.fillOpacity : 1;
    for (let up = element; up; up = up.parentElement) opacity *= +getComputedStyle(up).opacity;
    found.push({ text, ink: over(inSvg ? style.fill : style.color, under, opacity), ground: under, inSvg });
  }
  return found;
}"""


@pytest.fixture(scope="module")
def browser():
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    assert path, "the tests of the report need Chromium; tests/run installs it where it may"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


class Opened:
    """The report in a new profile of the browser, and what the browser asked for and complained about meanwhile."""

    def __init__(self, browser, file, scheme, width):
        self.context = browser.new_context(color_scheme=scheme, viewport={"width": width, "height": 900})
        self.page = self.context.new_page()
        self.requests, self.complaints = [], []
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.goto(file.as_uri(), wait_until="networkidle")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.context.close()


def contrast(one, two):
    """WCAG 2, relative luminance and contrast ratio."""

    def luminance(colour):
        linear = [c / 255 / 12.92 if c / 255 <= 0.04045 else ((c / 255 + 0.055) / 1.055) ** 2.4 for c in colour]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    light, dark = sorted((luminance(one), luminance(two)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_report_is_readable_in_either_scheme_and_asks_for_nothing(browser, bag, scheme):
    file = bag / "data" / "report.html"
    lines = (bag / "data/quickstart.fascicolo/entries.jsonl").read_text().splitlines()
    verdicts = [r["body"]["verdict"] for r in map(json.loads, lines) if r["kind"] == "verdict"]
    with Opened(browser, file, scheme, 1100) as opened:
        page = opened.page
        assert opened.requests == [file.as_uri()] and opened.complaints == []
        text = page.inner_text("body")
        assert "debian-sections" in text and "under the declared conditions" in text
        answer = page.locator(".answer").inner_text()
        for name in ("batch-1.parquet", "avx-off.parquet", "bf16.parquet", "one-bad-row.parquet"):
            assert name in answer, "the answer says which candidates it counts"
        shown = page.locator("#verdicts").inner_text().lower()
        for word in set(verdicts):
            assert shown.count(word) >= verdicts.count(word), word
        page.locator("details").evaluate_all("all => all.forEach(one => one.open = true)")
        painted = page.evaluate(PAINTED)
        assert len(painted) > 100 and any(p["inSvg"] for p in painted)
        weak = [(round(contrast(p["ink"], p["ground"]), 2), p) for p in painted if contrast(p["ink"], p["ground"]) < 4.5]
        assert not weak, weak[:5]
        ground = page.evaluate(PAINTED)[0]["ground"]
        assert (sum(ground) > 600) == (scheme == "light"), ground
        assert opened.requests == [file.as_uri()] and opened.complaints == []


def test_nothing_of_the_report_is_cut_off_on_a_telephone(browser, bag):
    with Opened(browser, bag / "data" / "report.html", "light", 390) as opened:
        opened.page.locator("details").evaluate_all("all => all.forEach(one => one.open = true)")
        width = opened.page.evaluate("document.documentElement.scrollWidth")
        assert width <= 390, f"the page is {width} px wide"


def test_the_report_is_whole_on_paper(browser, bag):
    """Printed, what is folded on the screen is there, dark on white whatever the scheme."""
    with Opened(browser, bag / "data" / "report.html", "dark", 800) as opened:
        opened.page.emulate_media(media="print")
        painted = opened.page.evaluate(PAINTED)
        assert painted and all(contrast(p["ink"], p["ground"]) >= 4.5 for p in painted)
        assert opened.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
