"""The pictures of docs/guides/console.md: `python docs/.hooks/console_pictures.py` draws them anew from `tacit serve --demo`.

Each shows a page twice: on a wide screen in one color scheme, and on a phone in the other. It needs Chromium, as the tests do.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlencode

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))

from services import chromium_browser, chromium_server  # noqa: E402

GUIDES = ROOT / "docs" / "guides"
SCALE = 0.62  # of the pictures, to the width of a page of the documentation
WIDE, PHONE = 1180, 390  # pixels of the two windows
ASKED = (
    ("SELECT ward, COUNT(*) AS visits, AVG(cost) AS mean_cost\nFROM visits\nGROUP BY ward", "0.3"),
    ("SELECT sex, COUNT(*) AS n FROM patients\nGROUP BY sex", "0.1"),
    ("SELECT AVG(age) AS mean FROM patients", "0.05"),
    ("SELECT diagnosis, COUNT(*) AS n\nFROM patients\nGROUP BY diagnosis", "0.2"),
)
OTHER = {"light": "dark", "dark": "light"}


@dataclass(frozen=True, slots=True)
class Picture:
    """A page of somebody, in the color scheme of the wide screen, with the height of the picture."""

    name: str
    who: str
    path: str
    colors: str
    height: int


PICTURES = (
    Picture("answer", "ana", "/answers/1", "light", 1238),
    Picture("budget", "ana", "/budget", "dark", 578),
    Picture("owner", "carol", "/owner", "light", 950),
    Picture("auditor", "otto", "/auditor", "dark", 671),
)


@contextmanager
def demo(folder: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """The address of a demonstration, and the token of each account by its name."""
    words = [sys.executable, "-m", "tacit", "serve", "--demo", "--open", "--port", "0", "--engines", "1"]
    own = os.environ | {"BROWSER": "true", "XDG_STATE_HOME": str(folder)}
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=own, cwd=folder) as server:  # noqa: S603
        try:
            tokens = {}
            for line in server.stdout or ():
                if account := re.fullmatch(r"(analyst|curator|auditor) +(\S+) +(\S+)\n", line):
                    tokens[account[2]] = account[3]
                if url := re.search(r"code for (http://127\.0\.0\.1:\d+)/ is", line):
                    yield url[1], tokens
                    return
            raise SystemExit("the demonstration did not start")
        finally:
            server.terminate()


def window(browser: Any, width: int, height: int, colors: str) -> Any:
    """A page of a new visitor."""
    return browser.new_context(viewport={"width": width, "height": height}, color_scheme=colors, accept_downloads=True).new_page()


def log_in(page: Any, url: str, token: str) -> None:
    """A visitor who has typed a token."""
    page.goto(f"{url}/")
    page.fill("#token", token)
    page.click("button.main")
    page.wait_for_selector("nav")


def ask(page: Any, url: str) -> None:
    """Ask all questions, and offer the answer of the first."""
    for sql, epsilon in ASKED:
        page.goto(f"{url}/?{urlencode({'sql': sql})}")
        page.fill("#epsilon", epsilon)
        page.click(f"#spend:has-text('Spend ε {epsilon}'):not([disabled])")
        page.wait_for_selector("#answer")
    page.goto(f"{url}/answers/1")
    page.click("details:has(#offer-title) summary")
    page.fill("#offer-title", "Visits and their cost, by ward")
    page.click("button[value=offer]")
    page.wait_for_selector("button[value=withdraw]")


def published(page: Any, url: str, folder: Path) -> Path:
    """The published page with the offered answer."""
    page.goto(f"{url}/publish")
    page.check("input[name=entry]")
    page.fill("#page-title", "Visits in our hospital")
    with page.expect_download() as download:
        page.click("button.main")
    file = folder / "published.html"
    download.value.save_as(file)
    return file


def together(browser: Any, shots: tuple[bytes, bytes], height: int) -> bytes:
    """One picture of the wide screen and the phone, side by side on a plain ground."""
    images = "".join(
        f'<img width="{round(width * SCALE)}" src="data:image/png;base64,{b64encode(shot).decode()}">'
        for width, shot in zip((WIDE, PHONE), shots, strict=True)
    )
    style = "body { margin: 10px; display: flex; gap: 10px; background: #8b9a96 } img { border-radius: 8px; display: block }"
    page = window(browser, 30 + round(WIDE * SCALE) + round(PHONE * SCALE), height, "light")
    page.set_content(f"<style>{style}</style>{images}")
    return bytes(page.screenshot())


def draw(browser: Any, address: str, token: str, picture: Picture) -> None:
    """Write a picture; without a token the address is a page for everybody."""
    shots = []
    for width, colors in ((WIDE, picture.colors), (PHONE, OTHER[picture.colors])):
        page = window(browser, width, round((picture.height - 20) / SCALE), colors)
        if token:
            log_in(page, address, token)
        page.goto(f"{address}{picture.path}")
        page.wait_for_load_state("networkidle")
        shots.append(bytes(page.screenshot()))
    (GUIDES / f"console-{picture.name}-{picture.colors}.png").write_bytes(together(browser, (shots[0], shots[1]), picture.height))


def main() -> None:
    """Draws all pictures."""
    with TemporaryDirectory(prefix="tacit-pictures-") as name, chromium_server() as at, chromium_browser(at) as browser:
        folder = Path(name)
        with demo(folder) as (url, tokens):
            analyst, owner = (window(browser, WIDE, 900, "light") for _ in range(2))
            log_in(analyst, url, tokens["ana"])
            ask(analyst, url)
            log_in(owner, url, tokens["carol"])
            file = published(owner, url, folder)
            for picture in PICTURES:
                draw(browser, url, tokens[picture.who], picture)
            draw(browser, file.as_uri(), "", Picture("published", "", "", "light", 950))


if __name__ == "__main__":
    main()
