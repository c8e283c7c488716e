"""Take screenshots of every page at three sizes, two of them in both themes, into screenshots/: `make screenshots`."""

from pages.shell.navigation import PAGES
from tests.support.appserver import ROOT, chromium, serve

FOLDER = ROOT / "screenshots"
VIEWS = (
    ("1440", 1440, 900, "light"),
    ("1440-dark", 1440, 900, "dark"),
    ("1280x720", 1280, 720, "light"),
    ("390", 390, 844, "light"),
    ("390-dark", 390, 844, "dark"),
)
SETTLE_MS = 2500  # charts fade in and Home's player starts


def main() -> None:
    """Open each page at each size and save the visible part and the whole page."""
    FOLDER.mkdir(exist_ok=True)
    with serve() as address, chromium() as browser:
        for view, width, height, scheme in VIEWS:
            for page in PAGES:
                size = {"width": width, "height": height}
                seen = browser.new_page(viewport=size, color_scheme=scheme)
                seen.goto(f"{address}/{page.url}")
                seen.wait_for_selector("[data-testid=stApp][data-test-script-state=notRunning]")
                seen.wait_for_selector("h1")
                seen.wait_for_timeout(SETTLE_MS)
                name = page.url or "home"
                seen.screenshot(path=FOLDER / f"{name}-{view}.png")
                # Streamlit scrolls inside the page: a tall window shows all of it.
                tall = seen.locator("[data-testid=stMain]").evaluate("main => main.scrollHeight")
                seen.set_viewport_size({"width": width, "height": max(height, tall)})
                seen.wait_for_timeout(SETTLE_MS)
                seen.screenshot(path=FOLDER / f"{name}-{view}-whole.png")
                seen.close()
                print(f"screenshots/{name}-{view}.png")


if __name__ == "__main__":
    main()
